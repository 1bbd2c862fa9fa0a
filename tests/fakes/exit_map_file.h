// Files of maps before a model's norm (model/exit_map.h), for tests.
//
//   WriteExitMap(path, /*width=*/64, [](int row, int column) { return row == column ? 1.0f : 0.0f; }, {{"layer", "2"}});
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tessera/model/files/safetensors_writer.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {

inline void WriteExitMap(const std::string& path, int width, const std::function<float(int row, int column)>& number,
                         const SafetensorsWriter::Metadata& texts = {}, const std::string& name = "predictor.map") {
  std::vector<float> numbers;
  for (int row = 0; row < width; ++row) {
    for (int column = 0; column < width; ++column) numbers.push_back(number(row, column));
  }
  SafetensorsWriter writer = Must(SafetensorsWriter::Create(path, {{name, SafetensorsType::kF32, {width, width}}}, texts));
  Must(writer.Append(0, {reinterpret_cast<const std::byte*>(numbers.data()), numbers.size() * sizeof(float)}));
  Must(writer.Commit());
}

}  // namespace tessera
