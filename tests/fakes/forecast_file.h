// Files of forecasts as scripts/train/ds2d.py writes them, of random numbers; invalid files after changes to their contents.
//
//   ForecastFile file = RandomForecasts(engine->config(), {.slots = 4, .forecasts = 2}, /*seed=*/1);
//   file.Of("prefix.keys").shape = {2, 4, 2, 8};
//   file.texts = {{"slots", "5"}};
//   file.WriteTo(folder.Path("ds2d.safetensors"));
//   const std::shared_ptr<const Forecasts> forecasts = MakeForecasts(file, config);
//
// Thread-compatible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "tessera/base/random.h"
#include "tessera/model/forecasts.h"
#include "tessera/tests/fakes/bad_safetensors_files.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {

struct ForecastFile {
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> numbers;
    std::string type = "F32";   // The numbers are FP32 for any type.
  };
  std::vector<Tensor> tensors = {};
  std::vector<std::pair<std::string, std::string>> texts = {};

  Tensor& Of(const std::string& name) {
    const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& tensor) { return tensor.name == name; });
    CHECK(found != tensors.end()) << name;
    return *found;
  }
  void Remove(const std::string& name) { std::erase_if(tensors, [&](const Tensor& tensor) { return tensor.name == name; }); }
  // Gives a tensor another shape, and zeros.
  void Reshape(const std::string& name, std::vector<int64_t> shape) {
    int64_t count = 1;
    for (const int64_t length : shape) count *= length;
    Of(name).numbers.assign(static_cast<size_t>(count), 0);
    Of(name).shape = std::move(shape);
  }

  std::string Bytes() const {
    SafetensorsBuilder file;
    file.metadata = absl::StrCat("{", absl::StrJoin(texts, ",", [](std::string* out, const auto& text) {
                                   absl::StrAppend(out, "\"", text.first, "\":\"", text.second, "\"");
                                 }), "}");
    file.entries.clear();
    file.data.clear();
    for (const Tensor& tensor : tensors) {
      const size_t begin = file.data.size();
      file.data.append(reinterpret_cast<const char*>(tensor.numbers.data()), tensor.numbers.size() * sizeof(float));
      file.entries.push_back({tensor.name, absl::StrCat("\"", tensor.type, "\""), absl::StrCat("[", absl::StrJoin(tensor.shape, ","), "]"),
                              absl::StrCat("[", begin, ",", file.data.size(), "]")});
    }
    return file.Build();
  }

  void WriteTo(const std::string& path) const {
    std::ofstream out(path, std::ios::binary);
    out << Bytes();
    CHECK(out.flush().good()) << path;
  }
};

// Makes keys and values as large as a layer's, and embeddings as large as tokens'.
inline ForecastFile RandomForecasts(const ModelConfig& config, const ForecastSizes& sizes, uint64_t seed, float size = 1) {
  SeededRandom random(seed);
  const auto tensor = [&](const std::string& name, const std::vector<int64_t>& shape) {
    ForecastFile::Tensor made = {name, shape, {}};
    int64_t count = 1;
    for (const int64_t length : shape) count *= length;
    for (int64_t i = 0; i < count; ++i) made.numbers.push_back(random.Uniform(-size, size));
    return made;
  };
  const std::vector<int64_t> prefix = {static_cast<int64_t>(config.layers.size()), sizes.slots, config.kv_heads, config.head_size};
  return {.tensors = {tensor("prefix.keys", prefix), tensor("prefix.values", prefix),
                      tensor("forecasts", {sizes.forecasts, config.width})},
          .texts = {{"made_by", "ds2d.py"}, {"slots", absl::StrCat(sizes.slots)}, {"forecasts", absl::StrCat(sizes.forecasts)}}};
}

inline std::shared_ptr<const Forecasts> MakeForecasts(const ForecastFile& file, const ModelConfig& config) {
  const std::string bytes = file.Bytes();
  const auto read = Must(SafetensorsFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "forecasts"));
  return Must(Forecasts::Read(*read, config));
}

}  // namespace tessera
