#include "tessera/spec/history_format.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/crc32c.h"
#include "tessera/base/random.h"

namespace tessera {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file's order");

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t checksum;
  uint64_t vocabulary_hash;
  uint32_t vocabulary_size;
  uint32_t tokens;
};
static_assert(sizeof(Header) == 32);

constexpr char kMagic[8] = "tsrhist";
constexpr uint32_t kVersion = 1;
constexpr size_t kChecked = 16;   // The first byte under the checksum.

uint32_t ChecksumOf(absl::string_view bytes) { return Crc32c({reinterpret_cast<const std::byte*>(bytes.data()) + kChecked, bytes.size() - kChecked}); }

template <typename Found, typename Expected>
std::string Message(const std::string& path, absl::string_view field, const Found& found, const Expected& expected) {
  return absl::StrCat(path, ": ", field, ": found ", found, ", expected ", expected);
}

// Who wrote it, which is asked before whether it is whole: another version may lie elsewhere in the file.
absl::Status CheckOrigin(absl::string_view bytes, const std::string& path, Header& header) {
  if (bytes.size() < kChecked) {
    return absl::DataLossError(Message(path, "size", absl::StrCat(bytes.size(), " bytes"), absl::StrCat("at least ", sizeof(Header))));
  }
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    return absl::InvalidArgumentError(Message(path, "magic", "other bytes", "those of a history store"));
  }
  if (header.version != kVersion) return absl::InvalidArgumentError(Message(path, "version", header.version, kVersion));
  return absl::OkStatus();
}

absl::Status CheckWhole(absl::string_view bytes, const std::string& path, const Header& header) {
  const uint64_t size = bytes.size() < sizeof(Header) ? sizeof(Header) : sizeof(Header) + uint64_t{header.tokens} * sizeof(TokenId);
  if (bytes.size() != size) return absl::DataLossError(Message(path, "size", absl::StrCat(bytes.size(), " bytes"), size));
  if (ChecksumOf(bytes) != header.checksum) {
    return absl::DataLossError(Message(path, "checksum", absl::Hex(ChecksumOf(bytes)), absl::Hex(header.checksum)));
  }
  return absl::OkStatus();
}

absl::Status CheckTokens(absl::Span<const TokenId> tokens, const std::string& path, const VocabularyId& vocabulary) {
  TokenId before = kSeparator;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const TokenId token = tokens[i];
    if (token < kSeparator || token >= vocabulary.size) {
      return absl::DataLossError(Message(path, absl::StrCat("token ", i), token, absl::StrCat("less than ", vocabulary.size)));
    }
    if (token == kSeparator && before == kSeparator) return absl::DataLossError(Message(path, absl::StrCat("token ", i), "an empty text", "a token"));
    before = token;
  }
  if (before != kSeparator) return absl::DataLossError(Message(path, "last token", before, "the end of a text"));
  return absl::OkStatus();
}

}  // namespace

VocabularyId VocabularyOf(const Tokenizer& tokenizer) {
  VocabularyId id = {.size = tokenizer.vocabulary_size()};
  for (TokenId token = 0; token < id.size; ++token) {
    const std::string piece = tokenizer.Piece(token, /*render_special=*/true);
    id.hash = MixBits(id.hash ^ piece.size());
    for (const char byte : piece) id.hash = MixBits(id.hash ^ static_cast<uint8_t>(byte));
  }
  return id;
}

std::string EncodeHistory(const VocabularyId& vocabulary, absl::Span<const TokenId> tokens) {
  CHECK_LE(tokens.size(), size_t{UINT32_MAX});
  Header header = {.version = kVersion, .vocabulary_hash = vocabulary.hash, .vocabulary_size = static_cast<uint32_t>(vocabulary.size),
                   .tokens = static_cast<uint32_t>(tokens.size())};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::string bytes(sizeof header + tokens.size() * sizeof(TokenId), '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!tokens.empty()) std::memcpy(bytes.data() + sizeof header, tokens.data(), tokens.size() * sizeof(TokenId));
  header.checksum = ChecksumOf(bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

absl::StatusOr<std::vector<TokenId>> DecodeHistory(absl::string_view bytes, const std::string& path, const VocabularyId& vocabulary) {
  Header header = {};
  if (const absl::Status status = CheckOrigin(bytes, path, header); !status.ok()) return status;
  if (const absl::Status status = CheckWhole(bytes, path, header); !status.ok()) return status;
  if (header.vocabulary_hash != vocabulary.hash || header.vocabulary_size != static_cast<uint32_t>(vocabulary.size)) {
    return absl::InvalidArgumentError(Message(path, "vocabulary", absl::StrCat(absl::Hex(header.vocabulary_hash), " of ", header.vocabulary_size),
                                              absl::StrCat(absl::Hex(vocabulary.hash), " of ", vocabulary.size)));
  }
  std::vector<TokenId> tokens(header.tokens);
  if (!tokens.empty()) std::memcpy(tokens.data(), bytes.data() + sizeof header, tokens.size() * sizeof(TokenId));
  if (const absl::Status status = CheckTokens(tokens, path, vocabulary); !status.ok()) return status;
  return tokens;
}

}  // namespace tessera
