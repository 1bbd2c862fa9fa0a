#include "tessera/base/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tessera/base/random.h"

namespace tessera {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Candidates, HeaderExample) {
  const std::vector<float> chunk = {0, 3, kNan, 3, 2, kMinusInfinity};
  TopCandidates top(40);
  top.Add(/*first=*/0, chunk);
  top.Add(6, std::vector<float>{2.5f});
  std::vector<Candidate> ranked = top.Take();
  std::vector<TokenId> ids;
  for (const Candidate& candidate : ranked) ids.push_back(candidate.id);
  EXPECT_EQ(ids, (std::vector<TokenId>{1, 3, 6, 4, 0}));
}

TEST(Candidates, TheLargestIsFoundAtEveryPlace) {
  for (int size = 0; size < 70; ++size) {
    EXPECT_EQ(LargestOf(std::vector<float>(size, kNan)), kMinusInfinity);
    for (int place = 0; place < size; ++place) {
      std::vector<float> values(size, kNan);
      for (int i = 0; i < size; i += 2) values[i] = -5;
      values[place] = -1;
      EXPECT_EQ(LargestOf(values), -1) << size << ", " << place;
    }
  }
}

TEST(Candidates, ChunksDoNotMatter) {
  SeededRandom random(2);
  std::vector<float> logits(1000);
  for (float& logit : logits) logit = static_cast<float>(random.Below(50));
  std::vector<Candidate> all;
  for (size_t i = 0; i < logits.size(); ++i) all.push_back({logits[i], static_cast<TokenId>(i)});
  std::sort(all.begin(), all.end(), RanksBefore);
  for (const size_t size : {1, 7, 64, 1000}) {
    for (const size_t count : {0, 1, 8, 100}) {
      TopCandidates top(count);
      for (size_t begin = 0; begin < logits.size(); begin += size)
        top.Add(static_cast<TokenId>(begin), absl::MakeConstSpan(logits).subspan(begin, size));
      const std::vector<Candidate> ranked = top.Take();
      ASSERT_EQ(ranked.size(), count);
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(ranked[i].id, all[i].id);
    }
  }
}

}  // namespace
}  // namespace tessera
