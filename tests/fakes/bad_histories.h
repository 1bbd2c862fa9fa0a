// All known bad history files, each with a name and the expected error message: for tests, and as seeds of fuzzing.
//
//   for (const BadHistory& file : BadHistories()) EXPECT_EQ(StatusOf(file.bytes).message(), "PATH: " + file.message);
//
// All are GoodHistory() with one defect. Messages omit the file's path and ": ".
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/crc32c.h"
#include "tessera/spec/drafters/history/history_format.h"

namespace tessera {

inline constexpr VocabularyId kHistoryVocabulary = {.sum = {{0x12, 0x34}}, .size = 10};

inline std::string GoodHistory() { return EncodeHistory(kHistoryVocabulary, {{7, 8, kSeparator, 9, kSeparator}}); }

inline uint32_t HistoryChecksum(const std::string& bytes) {
  return Crc32c({reinterpret_cast<const std::byte*>(bytes.data()) + 16, bytes.size() - 16});
}

// Returns the bytes with a correct checksum, if there is room for one.
inline std::string SealedHistory(std::string bytes) {
  if (bytes.size() < 16) return bytes;
  const uint32_t checksum = HistoryChecksum(bytes);
  std::memcpy(bytes.data() + 12, &checksum, sizeof checksum);
  return bytes;
}

template <typename Number>
std::string HistoryWith(size_t offset, Number number) {
  std::string bytes = GoodHistory();
  std::memcpy(bytes.data() + offset, &number, sizeof number);
  return SealedHistory(bytes);
}

struct BadHistory {
  std::string name;
  std::string bytes;
  absl::StatusCode code;   // kInvalidArgument: another's file. kDataLoss: damaged.
  std::string message;
};

inline std::vector<BadHistory> BadHistories() {
  constexpr auto kOther = absl::StatusCode::kInvalidArgument, kDamaged = absl::StatusCode::kDataLoss;
  const std::string good = GoodHistory(), zeros(60, '0');
  std::string changed = good;
  changed[60] = static_cast<char>(changed[60] ^ 1);
  return {
      {"empty", "", kDamaged, "size: found 0 bytes, expected 56 or more"},
      {"cut-in-header", good.substr(0, 20), kDamaged, "size: found 20 bytes, expected 56 or more"},
      {"cut-in-tokens", good.substr(0, 70), kDamaged, "size: found 70 bytes, expected 76"},
      {"longer", good + "x", kDamaged, "size: found 77 bytes, expected 76"},
      {"more-tokens-than-fit", HistoryWith(52, uint32_t{0xFFFFFFFF}), kDamaged, "size: found 76 bytes, expected 17179869236"},
      {"another-program", "#!/bin/sh\necho hello\n" + good, kOther, "magic: found other bytes, expected those of a history"},
      {"newer", HistoryWith(8, uint32_t{3}), kOther, "version: found 3, expected 2"},
      {"older", HistoryWith(8, uint32_t{1}), kOther,
       "version: found 1, which knows a vocabulary by 64 bits that can be forged, expected 2"},
      {"none", HistoryWith(8, uint32_t{0}), kOther, "version: found 0, expected 2"},
      {"changed", changed, kDamaged,
       absl::StrCat("checksum: found ", absl::Hex(HistoryChecksum(changed)), ", expected ", absl::Hex(HistoryChecksum(good)))},
      {"another-vocabulary", HistoryWith(16, uint8_t{0x43}), kOther,
       absl::StrCat("vocabulary: found 4334", zeros, " of 10 tokens, expected 1234", zeros, " of 10")},
      {"another-vocabulary-in-its-last-byte", HistoryWith(47, uint8_t{1}), kOther,
       absl::StrCat("vocabulary: found 1234", zeros.substr(1), "1 of 10 tokens, expected 1234", zeros, " of 10")},
      {"larger-vocabulary", HistoryWith(48, uint32_t{11}), kOther,
       absl::StrCat("vocabulary: found 1234", zeros, " of 11 tokens, expected 1234", zeros, " of 10")},
      {"token-too-large", HistoryWith(60, int32_t{10}), kDamaged, "token 1: found 10, expected one of 0 to 9, or -1"},
      {"token-negative", HistoryWith(60, int32_t{-2}), kDamaged, "token 1: found -2, expected one of 0 to 9, or -1"},
      {"empty-text", HistoryWith(68, int32_t{-1}), kDamaged, "token 3: found an empty text, expected one of 0 to 9"},
      {"text-without-end", HistoryWith(72, int32_t{3}), kDamaged, "token 4: found 3 as the last, expected -1"},
  };
}

}  // namespace tessera
