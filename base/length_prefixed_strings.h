// Consecutive strings, each a 64-bit length and the string's bytes, as in lists of model files.
//
//   std::string bytes;
//   for (const char* text : {"a", "bc"}) AppendLengthPrefixed(text, bytes);
//   for (absl::string_view text : LengthPrefixedStrings(bytes, /*count=*/2)) Use(text);
//
// A view, walked from the front, so that a list of a quarter of a million strings is read without a copy. The bytes must outlive the view.
// Lengths are little-endian, at any alignment. Thread-safe (constant data).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

class LengthPrefixedStrings {
 public:
  class Iterator {
   public:
    explicit Iterator(const char* at) : at_(at) {}
    absl::string_view operator*() const { return {at_ + sizeof(uint64_t), length()}; }
    Iterator& operator++() { at_ += sizeof(uint64_t) + length(); return *this; }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    uint64_t length() const {
      uint64_t length;
      std::memcpy(&length, at_, sizeof length);
      return length;
    }
    const char* at_;
  };

  LengthPrefixedStrings() = default;
  // REQUIRES: `bytes` are `count` length-prefixed strings; bytes from outside must have been checked.
  LengthPrefixedStrings(absl::string_view bytes, uint64_t count) : bytes_(bytes), count_(count) {}

  uint64_t size() const { return count_; }
  absl::string_view bytes() const { return bytes_; }  // All strings, lengths included.
  Iterator begin() const { return Iterator(bytes_.data()); }
  Iterator end() const { return Iterator(bytes_.data() + bytes_.size()); }

  // Returns the offset in bytes() of the length of string `index`. Walks there. REQUIRES: 0 <= index <= size().
  int64_t OffsetOf(int64_t index) const {
    int64_t offset = 0;
    for (Iterator text = begin(); index > 0; ++text, --index) offset += static_cast<int64_t>(sizeof(uint64_t) + (*text).size());
    return offset;
  }

 private:
  absl::string_view bytes_;
  uint64_t count_ = 0;
};

// Appends one string to `bytes`.
inline void AppendLengthPrefixed(absl::string_view text, std::string& bytes) {
  static_assert(std::endian::native == std::endian::little);
  const uint64_t length = text.size();
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes.append(text.data(), text.size());
}

}  // namespace tessera
