#include "tessera/storage/internal/superblock.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kSmallestFile = 2 * kTsrPage;  // Superblock and footer.

template <typename Found, typename Expected>
absl::Status WrongField(const std::string& path, const char* field, size_t offset, const Found& found, const Expected& expected) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": superblock ", field, " at byte ", offset, ": found ", found, ", expected ", expected));
}

absl::Status CheckVersion(const Superblock& superblock, const std::string& path) {
  if (std::memcmp(superblock.magic, kTsrMagic, sizeof kTsrMagic) != 0) {
    const auto quoted = [](const char* magic) { return absl::StrCat("\"", absl::CHexEscape({magic, sizeof kTsrMagic}), "\""); };
    return WrongField(path, "magic", 0, quoted(superblock.magic), quoted(kTsrMagic));
  }
  if (superblock.byte_order != kTsrByteOrder) {
    return WrongField(path, "byte_order", offsetof(Superblock, byte_order), absl::StrFormat("0x%08x", superblock.byte_order),
                      absl::StrFormat("0x%08x (little-endian)", kTsrByteOrder));
  }
  if (superblock.major == kTsrMajor) return absl::OkStatus();
  return WrongField(path, "major", offsetof(Superblock, major), superblock.major,
                    absl::StrCat(kTsrMajor, superblock.major > kTsrMajor ? ": the file is of a later version" : ""));
}

}  // namespace

uint32_t SuperblockCrc(const Superblock& superblock) { return Crc32c(BytesOf(superblock).first(offsetof(Superblock, crc))); }

absl::Status CheckSuperblock(const Superblock& superblock, int64_t file_bytes, const std::string& path) {
  RETURN_IF_ERROR(CheckVersion(superblock, path));
  if (SuperblockCrc(superblock) != superblock.crc) {
    return absl::DataLossError(absl::StrFormat("%s: superblock crc at byte %d: found 0x%08x, expected 0x%08x", path,
                                               offsetof(Superblock, crc), superblock.crc, SuperblockCrc(superblock)));
  }
  if (const uint64_t unknown = superblock.must_understand & ~kTsrKnownFeatures; unknown != 0) {
    return WrongField(path, "must_understand", offsetof(Superblock, must_understand),
                      absl::StrCat("feature bit ", std::countr_zero(unknown)), "no feature that this version does not know");
  }
  if (superblock.file_bytes != file_bytes) {
    return absl::DataLossError(absl::StrCat(path, ": size: found ", file_bytes, " bytes, expected ", superblock.file_bytes,
                                            ", as the superblock says"));
  }
  if (file_bytes < kSmallestFile || file_bytes % kTsrPage != 0) {
    return WrongField(path, "file_bytes", offsetof(Superblock, file_bytes), file_bytes,
                      absl::StrCat("a multiple of ", kTsrPage, " from ", kSmallestFile, " on"));
  }
  const int64_t most = std::min(kLargestTsrManifest, (file_bytes / kTsrPage - 2) / 2 * kTsrPage);  // Two of them fit.
  if (superblock.manifest_bytes < 0 || superblock.manifest_bytes > most) {
    return WrongField(path, "manifest_bytes", offsetof(Superblock, manifest_bytes), superblock.manifest_bytes,
                      absl::StrCat("0 to ", most));
  }
  return absl::OkStatus();
}

uint32_t BlockCrc(const TsrUuid& uuid, uint64_t index, absl::Span<const std::byte> bytes, int64_t zeros) {
  static constexpr std::byte kZeros[kTsrPage] = {};
  std::byte little_endian[sizeof index];
  std::memcpy(little_endian, &index, sizeof index);
  uint32_t crc = Crc32c(bytes, Crc32c(little_endian, Crc32c(uuid)));
  for (; zeros > 0; zeros -= kTsrPage) crc = Crc32c({kZeros, static_cast<size_t>(std::min(zeros, kTsrPage))}, crc);
  return crc;
}

}  // namespace tessera
