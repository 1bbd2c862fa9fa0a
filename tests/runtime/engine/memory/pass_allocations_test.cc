// What a token of plain decoding allocates: a pass must not begin to allocate more without anybody noticing.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/runtime/allocations.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

// What it takes today, most of it for looking up the embedding. A change may lower it.
constexpr int64_t kMostAllocations = 7;

TEST(PassAllocations, ATokenOfPlainDecodingAllocatesLittle) {
  if (kSanitized) GTEST_SKIP() << "allocations are not counted";
  const auto engine = TinyEngine({.layers = 4}, {.compute = {.threads = 2}});
  const auto session = Must(engine->NewSession());
  Must(session->Append({1, 2, 3, 4, 5}));
  std::vector<int64_t> of_tokens;
  for (int i = 0; i < 41; ++i) {
    const int64_t before = Allocations();
    Must(session->Append({7}));
    of_tokens.push_back(Allocations() - before);
  }
  std::sort(of_tokens.begin(), of_tokens.end());
  EXPECT_LE(of_tokens[20], kMostAllocations) << "the median: now and then a list of tokens grows";
  EXPECT_LE(of_tokens[38], kMostAllocations + 1);
  EXPECT_GT(of_tokens[0], 0) << "something is wrong with the counting";
}

}  // namespace
}  // namespace tessera
