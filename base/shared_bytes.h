// Constant bytes together with their owner: a vector, or a part of a mapped file. Copies share bytes and owner.
//
//   SharedBytes bytes(std::move(read));                                   // a std::vector<std::byte>
//   SharedBytes mapped({address, size}, keeper);                          // a std::shared_ptr to what unmaps them
//   Parse(bytes.span());
//
// Thread-compatible; thread-safe to read.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

class SharedBytes {
 public:
  SharedBytes() = default;
  explicit SharedBytes(std::vector<std::byte> bytes) {
    const auto kept = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    span_ = *kept;
    keeper_ = kept;
  }
  SharedBytes(absl::Span<const std::byte> bytes, std::shared_ptr<const void> keeper) : span_(bytes), keeper_(std::move(keeper)) {}

  absl::Span<const std::byte> span() const { return span_; }

 private:
  absl::Span<const std::byte> span_;
  std::shared_ptr<const void> keeper_;
};

}  // namespace tessera
