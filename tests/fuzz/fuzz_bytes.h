// Splits a fuzz input into numbers and texts, in order. After its end all numbers are 0 and all texts empty.
//
//   FuzzBytes bytes(input);
//   const int tokens = bytes.Below(20);
//   const std::string token = bytes.Text(/*most=*/8), text = bytes.Rest();
//
// Thread-compatible.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/types/span.h"

namespace tessera {

class FuzzBytes {
 public:
  explicit FuzzBytes(absl::Span<const std::byte> bytes) : bytes_(bytes) {}

  bool empty() const { return bytes_.empty(); }

  // Returns 0 to bound - 1. REQUIRES: 1 <= bound <= 256.
  int Below(int bound) {
    const std::string byte = Take(1);
    return byte.empty() ? 0 : static_cast<uint8_t>(byte[0]) % bound;
  }
  std::string Text(int most) { return Take(Below(most + 1)); }
  std::string Rest() { return Take(bytes_.size()); }

 private:
  std::string Take(size_t size) {
    size = std::min(size, bytes_.size());
    std::string taken(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_.remove_prefix(size);
    return taken;
  }

  absl::Span<const std::byte> bytes_;
};

}  // namespace tessera
