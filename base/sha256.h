// SHA-256 (FIPS 180-4), the identity of models and adapters in files: no person can make two inputs with one sum.
//
//   Sha256 hash;
//   hash.Add("abc");                                       // or bytes, or a number
//   const Sha256Sum sum = hash.Take();
//   sum.Hex();                                             // "ba7816bf8f01cfea...", as sha256sum says it
//
// Inputs that must stay apart are added with lengths: Add("ab") and Add("c") equal Add("abc").
//
// Threads: Sha256 is thread-compatible; the rest is thread-safe.
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
  static std::optional<Sha256Sum> Parse(absl::string_view hex);   // Nullopt for any other text than 64 lower-case digits.
  bool empty() const { return *this == Sha256Sum{}; }   // All zeros means no sum.
  friend bool operator==(const Sha256Sum&, const Sha256Sum&) = default;
  friend auto operator<=>(const Sha256Sum&, const Sha256Sum&) = default;
};

class Sha256 {
 public:
  void Add(absl::Span<const std::byte> bytes);
  void Add(absl::string_view text) { Add({reinterpret_cast<const std::byte*>(text.data()), text.size()}); }
  void Add(const Sha256Sum& sum) { Add(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(sum.bytes.data()), sum.bytes.size())); }
  void AddNumber(uint64_t number);                // As eight little-endian bytes.
  void AddSized(absl::string_view text);          // The length as a number, then the text.
  // Returns the sum of all added bytes. REQUIRES: the last call.
  Sha256Sum Take();

 private:
  static constexpr size_t kBlock = 64;

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  uint64_t size_ = 0;                             // Number of added bytes.
  std::array<std::byte, kBlock> rest_ = {};       // The last size_ % kBlock added bytes.
};

Sha256Sum Sha256Of(absl::Span<const std::byte> bytes);
Sha256Sum Sha256Of(absl::string_view text);
// Returns the sum of a file. Errors: as RandomAccessFile (base/file.h), including CheckUnchanged.
absl::StatusOr<Sha256Sum> Sha256OfFile(const std::string& path);

// The implementations that this CPU supports for adding blocks of 64 bytes, slowest first; Sha256 uses the last. For tests and benchmarks.
struct Sha256Path {
  const char* name;
  void (*add_blocks)(std::array<uint32_t, 8>& state, const std::byte* blocks, size_t count);
};
absl::Span<const Sha256Path> SupportedSha256Paths();

}  // namespace tessera
