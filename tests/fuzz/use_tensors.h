// What must hold of the tensors of a GGUF file that was accepted.
//
//   UseTensors(*file, {file->size()});                 // of a split model: the size of each part
//
// CHECKs that each is as large as its shape says and shares no byte with another, and reads all its bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "tessera/model/gguf.h"

namespace tessera {

// Reads every byte, so that a sanitizer sees those that are not the file's.
template <typename Bytes>
void Touch(const Bytes& bytes) {
  uint8_t sum = 0;
  for (auto byte : bytes) sum ^= static_cast<uint8_t>(byte);
  [[maybe_unused]] volatile uint8_t kept = sum;
}

inline void UseTensors(const GgufFile& file, absl::Span<const int64_t> part_sizes) {
  std::vector<std::tuple<int, int64_t, int64_t>> ranges;  // Part, begin, end.
  for (const GgufTensor& tensor : file.tensors()) {
    CHECK_EQ(file.FindTensor(tensor.name), &tensor);
    Touch(tensor.name);
    int64_t rows = 1;
    for (size_t i = 1; i < tensor.shape.size(); ++i) rows *= tensor.shape[i];
    CHECK_EQ(*BytesOfRows(tensor.format->format, rows, tensor.shape[0]), tensor.size);
    CHECK(tensor.offset >= 0 && tensor.size <= part_sizes.at(tensor.part) - tensor.offset) << tensor.name;
    std::vector<std::byte> bytes(tensor.size);
    const absl::Status read = file.Read(tensor, 0, absl::MakeSpan(bytes));
    CHECK(read.ok()) << read;
    Touch(bytes);
    ranges.emplace_back(tensor.part, tensor.offset, tensor.offset + tensor.size);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    const auto& [before_part, before_begin, before_end] = ranges[i - 1];
    const auto& [part, begin, end] = ranges[i];
    CHECK(part != before_part || before_end <= begin) << "tensors overlap";
  }
}

}  // namespace tessera
