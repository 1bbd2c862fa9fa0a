// SHA-256 (FIPS 180-4), by which files know models and adapters: nobody can make two that have one sum.
//
//   Sha256 hash;
//   hash.Add("abc");                                       // or bytes, or a number
//   const Sha256Sum sum = hash.Take();
//   sum.Hex();                                             // "ba7816bf8f01cfea...", as sha256sum says it
//
// Inputs that are to stay apart are given with their lengths: Add("ab") and Add("c") are Add("abc"). Sha256: thread-compatible; the rest:
// thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct Sha256Sum {
  std::array<uint8_t, 32> bytes = {};

  std::string Hex() const;                              // 64 lower-case digits.
  static std::optional<Sha256Sum> Parse(absl::string_view hex);   // None for any other text than those.
  bool empty() const { return *this == Sha256Sum{}; }   // All zeros, which stand for no sum.
  friend bool operator==(const Sha256Sum&, const Sha256Sum&) = default;
  friend auto operator<=>(const Sha256Sum&, const Sha256Sum&) = default;
};

class Sha256 {
 public:
  void Add(absl::Span<const std::byte> bytes);
  void Add(absl::string_view text) { Add({reinterpret_cast<const std::byte*>(text.data()), text.size()}); }
  void Add(const Sha256Sum& sum) { Add(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(sum.bytes.data()), sum.bytes.size())); }
  void AddNumber(uint64_t number);                // As eight little-endian bytes.
  void AddSized(absl::string_view text);          // Its length, as a number, and then the text.
  // Returns the sum of all that was added. REQUIRES: the last call.
  Sha256Sum Take();

 private:
  static constexpr size_t kBlock = 64;

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t size_ = 0;                             // Bytes that were added.
  std::array<std::byte, kBlock> rest_ = {};       // The last size_ % kBlock of them.
};

Sha256Sum Sha256Of(absl::Span<const std::byte> bytes);
Sha256Sum Sha256Of(absl::string_view text);
// The errors of RandomAccessFile (base/file.h), CheckUnchanged's included.
absl::StatusOr<Sha256Sum> Sha256OfFile(const std::string& path);

// The ways to add blocks of 64 bytes that this CPU has, slowest first; Sha256 takes the last. For tests and benchmarks.
struct Sha256Path {
  const char* name;
  void (*add_blocks)(std::array<uint32_t, 8>& state, const std::byte* blocks, size_t count);
};
absl::Span<const Sha256Path> SupportedSha256Paths();

}  // namespace tessera
