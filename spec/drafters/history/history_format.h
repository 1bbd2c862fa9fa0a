// The file of a history store: a header and tokens, under one checksum.
//
//   const std::string bytes = EncodeHistory(vocabulary, {{7, 8, kSeparator, 9, kSeparator}});    // two texts
//   ASSIGN_OR_RETURN(std::vector<TokenId> tokens, DecodeHistory(bytes, path, vocabulary));
//
// All numbers are little-endian:
//   0   8 bytes   "tsrhist" and a zero
//   8   uint32    version, 2; 1 had a number of 64 bits for the vocabulary
//   12  uint32    CRC-32C of all that follows
//   16  byte[32]  SHA-256 of the vocabulary
//   48  uint32    size of the vocabulary
//   52  uint32    tokens
//   56  int32[]   the tokens, kSeparator after each text
// Goals: small to read and to check; nothing is trusted before the checksum is right. Not a goal: changing a file in place. A store is at
// most some hundred thousand tokens, and writing all of them anew takes a few milliseconds. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/sha256.h"
#include "tessera/base/token.h"

namespace tessera {

// Stands between two texts. No vocabulary has this token.
inline constexpr TokenId kSeparator = -1;

// Identifies a vocabulary: the meaning of each token number.
struct VocabularyId {
  Sha256Sum sum = {};     // Hash of all pieces, in order.
  int size = 0;
  friend bool operator==(const VocabularyId&, const VocabularyId&) = default;
};

// Writes a file's bytes. REQUIRES: the tokens are of the vocabulary, or separators; the last is a separator; no separator is the first
// token or follows another separator.
std::string EncodeHistory(const VocabularyId& vocabulary, absl::Span<const TokenId> tokens);

// Checks program and version. InvalidArgument (path, field, found, expected) if another program or version wrote the bytes.
absl::Status CheckHistoryVersion(absl::string_view bytes, const std::string& path);

// Reads the tokens of a file, which are as EncodeHistory requires. InvalidArgument: another program, version or vocabulary wrote the file.
// DataLoss: the file was damaged since. Both name file, field, found and expected value.
absl::StatusOr<std::vector<TokenId>> DecodeHistory(absl::string_view bytes, const std::string& path, const VocabularyId& vocabulary);

}  // namespace tessera
