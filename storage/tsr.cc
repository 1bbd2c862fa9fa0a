#include "tessera/storage/tsr.h"

#include <cstring>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/internal/superblock.h"

namespace tessera {

TsrUuid RandomTsrUuid() {
  std::random_device random;  // The system's, not a seed's: two files never share one.
  TsrUuid uuid;
  for (std::byte& byte : uuid) byte = static_cast<std::byte>(random());
  uuid[6] = (uuid[6] & std::byte{0x0F}) | std::byte{0x40};  // RFC 4122: version 4, random.
  uuid[8] = (uuid[8] & std::byte{0x3F}) | std::byte{0x80};
  return uuid;
}

std::string FormatTsrUuid(const TsrUuid& uuid) {
  const std::string hex = absl::BytesToHexString({reinterpret_cast<const char*>(uuid.data()), uuid.size()});
  const absl::string_view digits = hex;
  return absl::StrCat(digits.substr(0, 8), "-", digits.substr(8, 4), "-", digits.substr(12, 4), "-", digits.substr(16, 4), "-",
                      digits.substr(20));
}

absl::StatusOr<bool> IsTsrFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  return IsTsrFile(*file);
}

absl::StatusOr<bool> IsTsrFile(const RandomAccessFile& file) {
  std::byte magic[sizeof kTsrMagic];
  if (file.size() < static_cast<int64_t>(sizeof magic)) return false;
  RETURN_IF_ERROR(file.Read(0, absl::MakeSpan(magic)));
  return std::memcmp(magic, kTsrMagic, sizeof magic) == 0;
}

}  // namespace tessera
