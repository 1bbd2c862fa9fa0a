#include "tessera/apps/show/sha256.h"

#include <sha2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/ascii.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kPartBytes = 1 << 20;

class Hash {
 public:
  Hash() { SHA256Init(&context_); }
  void Add(const void* bytes, size_t count) { SHA256Update(&context_, static_cast<const uint8_t*>(bytes), count); }
  std::string Take() {
    char digits[SHA256_DIGEST_STRING_LENGTH];
    SHA256End(&context_, digits);
    return digits;
  }

 private:
  SHA2_CTX context_;
};

}  // namespace

std::string Sha256Of(absl::string_view text) {
  Hash hash;
  hash.Add(text.data(), text.size());
  return hash.Take();
}

absl::StatusOr<std::string> Sha256OfFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, RandomAccessFile::Open(path));
  Hash hash;
  std::vector<std::byte> part;
  for (int64_t offset = 0; offset < file->size(); offset += static_cast<int64_t>(part.size())) {
    part.resize(static_cast<size_t>(std::min(kPartBytes, file->size() - offset)));
    RETURN_IF_ERROR(file->Read(offset, absl::MakeSpan(part)));
    hash.Add(part.data(), part.size());
  }
  RETURN_IF_ERROR(file->CheckUnchanged());
  return hash.Take();
}

bool IsSha256(absl::string_view text) {
  const auto is_digit = [](char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f'); };
  return text.size() == SHA256_DIGEST_STRING_LENGTH - 1 && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace tessera
