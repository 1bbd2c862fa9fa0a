// Files of exit predictors, as scripts/train/exit_predictor.py writes them, with the test's numbers.
//
//   WritePredictor(path, RandomPredictor(config, "vocabulary", /*layer=*/1, /*seed=*/3));
//   WritePredictor(path, IdentityPredictor(config, /*layer=*/1), /*texts=*/{{"kind", "width"}});    // others than the script's
//
// CHECKs that writing succeeds. Pure.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/half.h"
#include "tessera/base/random.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/safetensors_writer.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {

struct PredictorFile {
  std::string kind = "width";
  int layer = 1;
  int layers = 2;
  int64_t rows = 0, width = 0;
  bool halves = true;                 // F16, as in the script; else F32.
  std::vector<float> numbers = {};    // [rows, width].

  SafetensorsWriter::Metadata Texts() const {
    return {{"made_by", "exit_predictor.py"}, {"layer", std::to_string(layer)}, {"layers", std::to_string(layers)}, {"kind", kind}};
  }
  std::string Tensor() const { return kind == "width" ? "predictor.map" : "predictor.weight"; }
};

inline std::vector<std::byte> BytesOfNumbers(const PredictorFile& file) {
  std::vector<std::byte> bytes;
  for (const float number : file.numbers) {
    const uint16_t half = FloatToHalf(number);
    const auto* const begin = file.halves ? reinterpret_cast<const std::byte*>(&half) : reinterpret_cast<const std::byte*>(&number);
    bytes.insert(bytes.end(), begin, begin + (file.halves ? sizeof half : sizeof number));
  }
  return bytes;
}

inline void WritePredictor(const std::string& path, const PredictorFile& file, const SafetensorsWriter::Metadata& texts) {
  const SafetensorsType type = file.halves ? SafetensorsType::kF16 : SafetensorsType::kF32;
  SafetensorsWriter writer = Must(SafetensorsWriter::Create(path, {{file.Tensor(), type, {file.rows, file.width}}}, texts));
  Must(writer.Append(0, BytesOfNumbers(file)));
  Must(writer.Commit());
}
inline void WritePredictor(const std::string& path, const PredictorFile& file) { WritePredictor(path, file, file.Texts()); }

// Makes a predictor for a model of this shape, such that scores of tokens differ by about 1.
inline PredictorFile RandomPredictor(const ModelConfig& config, const std::string& kind, int layer, uint64_t seed) {
  PredictorFile file = {.kind = kind, .layer = layer, .layers = static_cast<int>(config.layers.size()),
                        .rows = kind == "width" ? config.width : config.vocabulary, .width = config.width};
  SeededRandom random(seed);
  const float size = std::sqrt(3.0f / static_cast<float>(config.width));
  for (int64_t i = 0; i < file.rows * file.width; ++i) file.numbers.push_back(random.Uniform(-size, size));
  return file;
}

// Makes a map that leaves states unchanged.
inline PredictorFile IdentityPredictor(const ModelConfig& config, int layer) {
  PredictorFile file = {.layer = layer, .layers = static_cast<int>(config.layers.size()), .rows = config.width, .width = config.width};
  file.numbers.assign(static_cast<size_t>(file.rows * file.width), 0);
  for (int64_t i = 0; i < file.rows; ++i) file.numbers[static_cast<size_t>(i * file.width + i)] = 1;
  return file;
}

}  // namespace tessera
