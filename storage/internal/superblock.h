// The first and the last 4 KiB of a .tsr file, with checksums of everything between, and the places of the two manifests.
//
//   RETURN_IF_ERROR(CheckSuperblock(superblock, file_bytes, path));     // as it was read from byte 0
//   if (BlockCrc(superblock.uuid, kManifestBlock, manifest) != superblock.manifest_crc) ...
//
// Thread-safe (plain data, pure functions).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/base/checked_math.h"
#include "tessera/storage/tsr.h"

namespace tessera {

// Like PNG's magic: a transfer as text changes the bytes, and the bytes are no text.
inline constexpr char kTsrMagic[8] = {'\x89', 'T', 'S', 'R', '\r', '\n', '\x1a', '\n'};
inline constexpr uint32_t kTsrByteOrder = 0x01020304;
inline constexpr uint16_t kTsrMajor = 1, kTsrMinor = 1;
inline constexpr uint64_t kTsrKnownFeatures = 0;          // In Superblock::must_understand. None so far.
inline constexpr uint64_t kManifestBlock = ~uint64_t{0};  // In the place of a block's index.
static_assert(std::endian::native == std::endian::little, "numbers lie in the file as in memory");

struct Superblock {
  char magic[8] = {};
  uint32_t byte_order;
  uint16_t major, minor;
  TsrUuid uuid;
  uint64_t must_understand = 0;  // A bit for each feature without which the file would be misread.
  int64_t file_bytes = 0;
  int64_t manifest_bytes = 0;    // Without padding.
  uint32_t manifest_crc = 0;
  std::byte reserved[4032] = {};  // Zeros; values of a later minor version may be ignored.
  uint32_t crc = 0;              // Covers all bytes before.
};
static_assert(sizeof(Superblock) == kTsrPage && std::is_trivially_copyable_v<Superblock>);

inline absl::Span<const std::byte> BytesOf(const Superblock& superblock) {
  return {reinterpret_cast<const std::byte*>(&superblock), sizeof superblock};
}
uint32_t SuperblockCrc(const Superblock& superblock);

// Checks everything that follows from a superblock alone: magic, checksum, version, features and sizes. Major and magic come before the
// checksum, which a later major version may have elsewhere.
absl::Status CheckSuperblock(const Superblock& superblock, int64_t file_bytes, const std::string& path);

inline constexpr int64_t kManifestOffset = sizeof(Superblock);
inline int64_t ManifestEnd(const Superblock& superblock) {
  return kManifestOffset + AlignUp(superblock.manifest_bytes, kTsrPage);
}
inline int64_t FooterOffset(const Superblock& superblock) { return superblock.file_bytes - kTsrPage; }
inline int64_t ManifestCopyOffset(const Superblock& superblock) {
  return FooterOffset(superblock) - AlignUp(superblock.manifest_bytes, kTsrPage);
}

// Returns the CRC-32C of the UUID, the index (64 bits), the bytes and `zeros` zeros, one after the other. So right bytes in the wrong file
// or place are as wrong as others.
uint32_t BlockCrc(const TsrUuid& uuid, uint64_t index, absl::Span<const std::byte> bytes, int64_t zeros = 0);

}  // namespace tessera
