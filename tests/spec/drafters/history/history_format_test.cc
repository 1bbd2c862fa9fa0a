#include "tessera/spec/drafters/history/history_format.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/bad_histories.h"

namespace tessera {
namespace {

TEST(HistoryFormat, HeaderExample) {
  const std::string path = "x.history";
  const VocabularyId vocabulary = kHistoryVocabulary;
  const auto run = [&]() -> absl::Status {
    const std::string bytes = EncodeHistory(vocabulary, {{7, 8, kSeparator, 9, kSeparator}});
    ASSIGN_OR_RETURN(std::vector<TokenId> tokens, DecodeHistory(bytes, path, vocabulary));
    EXPECT_EQ(tokens, (std::vector<TokenId>{7, 8, kSeparator, 9, kSeparator}));
    return absl::OkStatus();
  };
  EXPECT_TRUE(run().ok());
}

TEST(HistoryFormat, IsThisToTheByte) {
  const std::string bytes = EncodeHistory(kHistoryVocabulary, {{7, kSeparator}});
  EXPECT_EQ(bytes.substr(0, 12), std::string("tsrhist\0\2\0\0\0", 12));
  EXPECT_EQ(bytes.substr(16, 32), "\x12\x34" + std::string(30, '\0'));
  EXPECT_EQ(bytes.substr(48), std::string("\x0a\0\0\0\2\0\0\0\7\0\0\0\xff\xff\xff\xff", 16));
  EXPECT_EQ(bytes, SealedHistory(bytes));
}

TEST(HistoryFormat, EveryBadFileIsRefusedWithFieldFoundAndExpected) {
  ASSERT_TRUE(DecodeHistory(GoodHistory(), "a.history", kHistoryVocabulary).ok());
  for (const BadHistory& bad : BadHistories()) {
    const absl::Status status = DecodeHistory(bad.bytes, "a.history", kHistoryVocabulary).status();
    EXPECT_EQ(status.code(), bad.code) << bad.name;
    EXPECT_EQ(status.message(), absl::StrCat("a.history: ", bad.message)) << bad.name;
  }
}

// A short file is judged by the bytes it has: if they are the beginning of ours, it was cut off; anything else is another program's.
TEST(HistoryFormat, AFewBytesOfAnotherAreNotTakenForOurs) {
  const auto code = [](const std::string& bytes) { return DecodeHistory(bytes, "x", kHistoryVocabulary).status().code(); };
  for (const std::string other : {"a", "hello", "tsrhistory", "tsrhist 1", "#!/bin/sh\n"}) {
    EXPECT_EQ(code(other), absl::StatusCode::kInvalidArgument) << other;
  }
  std::string newer = GoodHistory();
  newer[8] = 3;
  for (size_t size = 0; size < newer.size(); ++size) {
    const bool says_version = size >= 12;
    EXPECT_EQ(code(newer.substr(0, size)), says_version ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kDataLoss) << size;
    EXPECT_EQ(code(GoodHistory().substr(0, size)), absl::StatusCode::kDataLoss) << size;
  }
}

TEST(HistoryFormat, NoChangedBitAndNoCutIsBelieved) {
  const std::string good = GoodHistory();
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(DecodeHistory(bad, "x", kHistoryVocabulary).ok()) << bit;
  }
  for (size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(DecodeHistory(good.substr(0, size), "x", kHistoryVocabulary).ok()) << size;
}

}  // namespace
}  // namespace tessera
