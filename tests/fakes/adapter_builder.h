// Writes small PEFT folders for tests: valid folders and, after changes to their contents, invalid ones.
//
//   PeftBuilder builder;                                        // for the tiny llama of tests/golden: queries of both layers, one ffn_down
//   builder.config["use_dora"] = "true";                        // JSON
//   builder.WriteTo(folder.Path("adapter"));
//
// Numbers encode their place: number i of tensor t is i + 100 t, rounded to FP16. Thread-compatible.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "tessera/base/half.h"
#include "tessera/tests/fakes/bad_safetensors_files.h"

namespace tessera {

inline std::string PeftName(int layer, const std::string& module, char half) {
  return absl::StrCat("base_model.model.model.layers.", layer, ".", module, ".lora_", std::string(1, half), ".weight");
}

class PeftBuilder {
 public:
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    std::string dtype = "F16";
  };

  static constexpr char kQuery[] = "self_attn.q_proj", kDown[] = "mlp.down_proj";

  std::map<std::string, std::string> config = {
      {"peft_type", "\"LORA\""}, {"task_type", "\"CAUSAL_LM\""}, {"r", "2"}, {"lora_alpha", "6"}, {"use_rslora", "false"},
      {"bias", "\"none\""}, {"fan_in_fan_out", "false"}, {"target_modules", "[\"q_proj\",\"down_proj\"]"}, {"modules_to_save", "null"},
      {"rank_pattern", "{}"}, {"alpha_pattern", "{}"}, {"init_lora_weights", "true"}, {"lora_dropout", "0.05"}, {"use_dora", "false"}};
  std::string numbers_file = "adapter_model.safetensors";
  std::string whole_config = "";   // Replaces `config`, if not empty.
  std::vector<Tensor> tensors = {{PeftName(0, kQuery, 'A'), {2, 64}}, {PeftName(0, kQuery, 'B'), {64, 2}},
                                 {PeftName(1, kQuery, 'A'), {2, 64}}, {PeftName(1, kQuery, 'B'), {64, 2}},
                                 {PeftName(1, kDown, 'A'), {2, 96}},  {PeftName(1, kDown, 'B'), {64, 2}}};
  std::string metadata = "{\"format\":\"pt\"}";
  std::map<std::pair<int, int>, uint16_t> numbers = {};   // By tensor and place: bits that replace the usual ones.

  std::string Config() const {
    if (!whole_config.empty()) return whole_config;
    return absl::StrCat("{", absl::StrJoin(config, ",", [](std::string* out, const auto& entry) {
                          absl::StrAppend(out, "\"", entry.first, "\":", entry.second);
                        }), "}");
  }

  std::string Numbers() const {
    SafetensorsBuilder file;
    file.metadata = metadata;
    file.entries.clear();
    file.data.clear();
    for (size_t t = 0; t < tensors.size(); ++t) {
      const size_t begin = file.data.size();
      int64_t count = 1;
      for (const int64_t length : tensors[t].shape) count *= length;
      for (int i = 0; i < count; ++i) {
        const auto other = numbers.find({static_cast<int>(t), i});
        const uint16_t bits = other != numbers.end() ? other->second : FloatToHalf(static_cast<float>(i) + 100 * static_cast<float>(t));
        file.data += tensors[t].dtype == "I8" ? std::string(1, 'x') : SafetensorsBuilder::BytesOf(bits);
      }
      file.entries.push_back({tensors[t].name, absl::StrCat("\"", tensors[t].dtype, "\""),
                              absl::StrCat("[", absl::StrJoin(tensors[t].shape, ","), "]"),
                              absl::StrCat("[", begin, ",", file.data.size(), "]")});
    }
    return file.Build();
  }

  // Makes the folder. REQUIRES: the parent folder exists.
  void WriteTo(const std::string& folder) const {
    std::filesystem::create_directory(folder);
    for (const auto& [name, contents] : {std::pair<std::string, std::string>("adapter_config.json", Config()), {numbers_file, Numbers()}}) {
      std::ofstream out(folder + "/" + name, std::ios::binary);
      out << contents;
      CHECK(out.flush().good()) << folder << "/" << name;
    }
  }
};

}  // namespace tessera
