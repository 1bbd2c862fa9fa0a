// Writes small adapter folders as mlx-lm does, and lists all known bad ones, each with the expected error message.
//
//   PeftBuilder builder = MlxFolder();                     // for the tiny llama: queries of both layers, one ffn_down, of rank 2, scale 3
//   builder.WriteTo(folder.Path("adapter"));
//   for (const BadPeft& row : BadMlxFolders()) Refuse(row.name, row.spoil, row.message);          // of MlxFolder()
//
// Numbers are PeftBuilder's, in this file's order. Messages as in bad_adapters.h. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/tests/fakes/adapter_builder.h"
#include "tessera/tests/fakes/bad_adapters.h"

namespace tessera {

// Returns mlx-lm's name for "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight".
inline std::string MlxName(const std::string& peft) {
  constexpr size_t kBase = sizeof("base_model.model.") - 1, kEnding = sizeof("A.weight") - 1;
  const std::string ending = peft[peft.size() - kEnding] == 'A' ? "a" : "b";
  return peft.substr(kBase, peft.size() - kBase - kEnding) + ending;
}

inline PeftBuilder MlxFolder() {
  PeftBuilder builder;
  builder.numbers_file = "adapters.safetensors";
  builder.config = {{"fine_tune_type", "\"lora\""}, {"num_layers", "2"}, {"model", "\"x/y\""}, {"iters", "100"},
                    {"learning_rate", "1e-5"}, {"train", "true"}, {"optimizer_config", "{\"adam\":{}}"},
                    {"lora_parameters", "{\"rank\":2,\"dropout\":0.1,\"scale\":3.0,\"keys\":[\"self_attn.q_proj\",\"mlp.down_proj\"]}"}};
  for (PeftBuilder::Tensor& tensor : builder.tensors) {
    tensor.name = MlxName(tensor.name);
    std::swap(tensor.shape[0], tensor.shape[1]);
  }
  return builder;
}

inline std::vector<BadPeft> BadMlxNames() {
  const auto called = [](const std::string& name, const std::string& tensor_name, const std::string& problem) {
    return BadPeft{name, [tensor_name](PeftBuilder& b) { b.tensors[0].name = tensor_name; },
                   absl::StrCat("adapters.safetensors: tensor ", Quoted(tensor_name), ": ", problem)};
  };
  const std::string query = "model.layers.0.self_attn.q_proj";
  return {
      called("mlx-embedding", "model.embed_tokens.lora_a", "found an adapter of the embedding, *"),
      called("mlx-head", "lm_head.lora_a", "found an adapter of the head, expected those of layers alone"),
      called("mlx-norm", query + ".m", "found a norm of DoRA, expected A and B of LoRA alone"),
      called("mlx-as-peft", query + ".lora_A.weight", "found this name, expected model.layers.N.MODULE.lora_a or .lora_b, MODULE one of *"),
  };
}

inline std::vector<BadPeft> BadMlxConfigs() {
  const auto parameters = [](const std::string& name, const std::string& json, const std::string& key, const std::string& problem) {
    return BadPeft{name, [json](PeftBuilder& b) { b.config["lora_parameters"] = json; },
                   absl::StrCat("adapter_config.json: lora_parameters", key, ": ", problem)};
  };
  const std::string query = "model.layers.0.self_attn.q_proj", nothing = "found nothing, expected a value";
  return {
      BadPeftKey("mlx-dora", "fine_tune_type", "\"dora\"", "found \"dora\", expected \"lora\""),
      BadPeftKey("mlx-full", "fine_tune_type", "\"full\"", "found \"full\", expected \"lora\""),
      BadPeftKey("mlx-older-dora", "use_dora", "true", "found true, expected nothing: DoRA also scales each output by a norm"),
      BadPeftKey("mlx-unknown", "use_new_kind", "1", "found 1, expected nothing: what it means is not known"),
      {"mlx-layers-twice", [](PeftBuilder& b) { b.config["lora_layers"] = "2"; },
       "adapter_config.json: num_layers: found lora_layers, too, expected one of them"},
      BadPeftKey("mlx-fewer-layers", "num_layers", "1", absl::StrCat("found 1, expected 2 or more: ", Quoted(query), " has an A or B")),
      {"mlx-without-layers", [](PeftBuilder& b) { b.config.erase("num_layers"); }, "adapter_config.json: num_layers: " + nothing},
      {"mlx-without-parameters", [](PeftBuilder& b) { b.config.erase("lora_parameters"); },
       "adapter_config.json: lora_parameters: " + nothing},
      parameters("mlx-without-rank", "{\"scale\":3}", ".rank", nothing),
      parameters("mlx-without-scale", "{\"rank\":2}", ".scale", nothing),
      parameters("mlx-with-alpha", "{\"rank\":2,\"scale\":3,\"alpha\":16}", ".alpha", "found 16, expected 2, the rank: older versions *"),
      parameters("mlx-no-keys", "{\"rank\":2,\"scale\":3,\"keys\":[]}", ".keys",
                 "found an array, expected names of modules, or null for all"),
      parameters("mlx-other-keys", "{\"rank\":2,\"scale\":3,\"keys\":[\"mlp.down_proj\"]}", ".keys",
                 absl::StrCat("found none that means ", Quoted(query), ", expected one: it has an A or B")),
      parameters("mlx-unknown-parameter", "{\"rank\":2,\"scale\":3,\"rs\":1}", ".rs",
                 "found 1, expected nothing: what it means is not known"),
      {"mlx-another-rank", [](PeftBuilder& b) { b.config["lora_parameters"] = "{\"rank\":4,\"scale\":3}"; },
       absl::StrCat("adapters.safetensors: tensor ", Quoted(query + ".lora_a"),
                    ": found 2 x 64, expected 4 rows, the rank in FOLDER/adapter_config.json")},
      {"mlx-scale-too-large", [](PeftBuilder& b) { b.config["lora_parameters"] = "{\"rank\":2,\"scale\":1e300}"; },
       absl::StrCat("adapters.safetensors: tensor ", Quoted(query + ".lora_a"),
                    ": found a scale of 1e+300, expected one that is finite in FP32")},
  };
}

inline std::vector<BadPeft> BadMlxFolders() {
  std::vector<BadPeft> folders = BadMlxConfigs();
  for (BadPeft& folder : BadMlxNames()) folders.push_back(std::move(folder));
  return folders;
}

}  // namespace tessera
