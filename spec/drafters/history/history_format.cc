#include "tessera/spec/drafters/history/history_format.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file's order");

struct Header {
  char magic[8] = {};
  uint32_t version;
  uint32_t checksum = 0;
  Sha256Sum vocabulary_sum;
  uint32_t vocabulary_size;
  uint32_t tokens;
};
static_assert(sizeof(Header) == 56);

constexpr char kMagic[8] = "tsrhist";
constexpr uint32_t kVersion = 2;
constexpr size_t kChecked = 16;   // The first byte under the checksum.

uint32_t ChecksumOf(absl::string_view bytes) {
  return Crc32c({reinterpret_cast<const std::byte*>(bytes.data()) + kChecked, bytes.size() - kChecked});
}

std::string Message(const std::string& path, absl::string_view field, absl::string_view found, absl::string_view expected) {
  return absl::StrCat(path, ": ", field, ": found ", found, ", expected ", expected);
}

// Checks the writer of the file before the checksum: another version may have the checksum elsewhere. If the file ends within the magic or
// the version, the bytes that are there count.
absl::Status CheckOrigin(absl::string_view bytes, const std::string& path, const Header& header) {
  if (std::memcmp(header.magic, kMagic, std::min(bytes.size(), sizeof kMagic)) != 0) {
    return absl::InvalidArgumentError(Message(path, "magic", "other bytes", "those of a history"));
  }
  if (bytes.size() >= offsetof(Header, checksum) && header.version != kVersion) {
    const absl::string_view older = header.version == 1 ? ", which knows a vocabulary by 64 bits that can be forged" : "";
    return absl::InvalidArgumentError(Message(path, "version", absl::StrCat(header.version, older), absl::StrCat(kVersion)));
  }
  return absl::OkStatus();
}

absl::Status CheckWhole(absl::string_view bytes, const std::string& path, const Header& header) {
  const uint64_t size = sizeof(Header) + uint64_t{header.tokens} * sizeof(TokenId);
  if (bytes.size() < sizeof(Header) || bytes.size() != size) {
    const std::string expected = bytes.size() < sizeof(Header) ? absl::StrCat(sizeof(Header), " or more") : absl::StrCat(size);
    return absl::DataLossError(Message(path, "size", absl::StrCat(bytes.size(), " bytes"), expected));
  }
  const uint32_t checksum = ChecksumOf(bytes);
  if (checksum == header.checksum) return absl::OkStatus();
  return absl::DataLossError(Message(path, "checksum", absl::StrCat(absl::Hex(checksum)), absl::StrCat(absl::Hex(header.checksum))));
}

absl::Status CheckVocabulary(const std::string& path, const Header& header, const VocabularyId& vocabulary) {
  if (header.vocabulary_sum == vocabulary.sum && header.vocabulary_size == static_cast<uint32_t>(vocabulary.size))
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      Message(path, "vocabulary", absl::StrCat(header.vocabulary_sum.Hex(), " of ", header.vocabulary_size, " tokens"),
              absl::StrCat(vocabulary.sum.Hex(), " of ", vocabulary.size)));
}

// Errors here are the writer's fault, since the checksum is right.
absl::Status CheckTokens(absl::Span<const TokenId> tokens, const std::string& path, const VocabularyId& vocabulary) {
  const std::string known = absl::StrCat("one of 0 to ", vocabulary.size - 1);
  const auto error = [&](size_t place, absl::string_view found, absl::string_view expected) {
    return absl::DataLossError(Message(path, absl::StrCat("token ", place), found, expected));
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool begins = i == 0 || tokens[i - 1] == kSeparator;
    if (tokens[i] == kSeparator && begins) return error(i, "an empty text", known);
    if (tokens[i] < kSeparator || tokens[i] >= vocabulary.size)
      return error(i, absl::StrCat(tokens[i]), absl::StrCat(known, ", or ", kSeparator));
  }
  if (tokens.empty() || tokens.back() == kSeparator) return absl::OkStatus();
  return error(tokens.size() - 1, absl::StrCat(tokens.back(), " as the last"), absl::StrCat(kSeparator));
}

}  // namespace

std::string EncodeHistory(const VocabularyId& vocabulary, absl::Span<const TokenId> tokens) {
  CHECK_LE(tokens.size(), size_t{UINT32_MAX});
  Header header = {.version = kVersion, .vocabulary_sum = vocabulary.sum, .vocabulary_size = static_cast<uint32_t>(vocabulary.size),
                   .tokens = static_cast<uint32_t>(tokens.size())};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::string bytes(sizeof header + tokens.size() * sizeof(TokenId), '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!tokens.empty()) std::memcpy(bytes.data() + sizeof header, tokens.data(), tokens.size() * sizeof(TokenId));
  header.checksum = ChecksumOf(bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

absl::Status CheckHistoryVersion(absl::string_view bytes, const std::string& path) {
  Header header = {};
  if (!bytes.empty()) std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  return CheckOrigin(bytes, path, header);
}

absl::StatusOr<std::vector<TokenId>> DecodeHistory(absl::string_view bytes, const std::string& path, const VocabularyId& vocabulary) {
  Header header = {};
  if (!bytes.empty()) std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  RETURN_IF_ERROR(CheckOrigin(bytes, path, header));
  RETURN_IF_ERROR(CheckWhole(bytes, path, header));
  RETURN_IF_ERROR(CheckVocabulary(path, header, vocabulary));
  std::vector<TokenId> tokens(header.tokens);
  if (!tokens.empty()) std::memcpy(tokens.data(), bytes.data() + sizeof header, tokens.size() * sizeof(TokenId));
  RETURN_IF_ERROR(CheckTokens(tokens, path, vocabulary));
  return tokens;
}

}  // namespace tessera
