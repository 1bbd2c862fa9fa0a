// Checks the tensors of a GGUF file that was accepted, and the headers.
//
//   UseTensors(*file, {file->size()});                 // for a split model the size of each part
//   UseHeaders(*file);
//
// CHECKs that each tensor has the size of its shape and shares no byte with another, and reads all its bytes. CHECKs that the headers
// alone, as a packed model keeps headers, give the same result.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

// Reads every byte, so that a sanitizer sees bytes outside the file.
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

inline void UseHeaders(const GgufFile& file) {
  std::vector<GgufFile::Header> headers;
  for (int part = 0; part < file.parts(); ++part) {
    absl::StatusOr<GgufFile::Header> header = file.HeaderOf(part);
    CHECK(header.ok()) << header.status();
    headers.push_back(*std::move(header));
  }
  const absl::StatusOr<std::unique_ptr<GgufFile>> again = GgufFile::ParseHeaders(headers, "headers");
  CHECK(again.ok()) << again.status();
  CHECK_EQ((*again)->size(), file.size());
  CHECK_GE(file.CachedBytes(), 0);
  CHECK_EQ((*again)->metadata().size(), file.metadata().size());
  CHECK_EQ((*again)->tensors().size(), file.tensors().size());
  for (size_t i = 0; i < file.tensors().size(); ++i) {
    const GgufTensor &tensor = file.tensors()[i], &same = (*again)->tensors()[i];
    CHECK(same.name == tensor.name && same.shape == tensor.shape && same.offset == tensor.offset && same.part == tensor.part);
  }
  const absl::Span<const std::byte> last = headers.back().bytes.span();
  std::vector<std::byte> longer(last.begin(), last.end());
  longer.push_back(std::byte{0});  // Headers end at the end of the table of tensors.
  headers.back().bytes = SharedBytes(std::move(longer));
  CHECK(!GgufFile::ParseHeaders(std::move(headers), "headers").ok());
}

}  // namespace tessera
