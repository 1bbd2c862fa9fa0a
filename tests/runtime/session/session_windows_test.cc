// Sessions of a model whose layers have a sliding window: whatever is given up, the bits are those of a cache that keeps everything.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

using Logits = std::vector<float>;
constexpr int kWindow = 24, kRows = 8, kRing = 48;  // 24 + 8 + 16 slots.

std::unique_ptr<Engine> WindowedEngine(EngineOptions options = {}) {
  options.compute.threads = 1;
  options.cache.context = 512;
  options.compute.row_capacity = kRows;
  auto engine = TinyEngine({.architecture = "gemma3", .layers = 6, .context = 512, .window = kWindow}, options);
  EXPECT_EQ(CoreOf(*engine).cache().groups(), options.workload.sessions > 10 ? 1 : 2);
  return engine;
}

Logits Copy(absl::Span<const float> logits) { return {logits.begin(), logits.end()}; }

// After each of the tokens, from an engine whose windows are not bounded.
std::vector<Logits> LogitsAfterEach(const std::vector<TokenId>& tokens) {
  const auto engine = WindowedEngine({.workload = {.sessions = 1000}});
  const auto session = Must(engine->NewSession());
  std::vector<Logits> logits;
  Must(session->AppendEach(tokens, [&](int, absl::Span<const float> row) {
    logits.push_back(Copy(row));
    return absl::OkStatus();
  }));
  return logits;
}

absl::Span<const TokenId> From(const std::vector<TokenId>& tokens, size_t begin, size_t count = absl::Span<const TokenId>::npos) {
  return absl::MakeConstSpan(tokens).subspan(begin, count);
}

// The first session's sequence is number 0: whether its windows are held.
bool IsHeld(Engine& engine) { return CoreOf(engine).cache().CanExtend(0); }

// At every offset around two wraps of the ring, a draft of every length is taken back.
TEST(SessionWindows, RejectedDraftsChangeNoBit) {
  const std::vector<TokenId> tokens = RandomTokens(2 * kRing + 12, 1), wrong = RandomTokens(kRows, 2);
  const std::vector<Logits> expected = LogitsAfterEach(tokens);
  for (int draft = 1; draft <= kRows; ++draft) {
    const auto engine = WindowedEngine();
    const auto session = Must(engine->NewSession());
    Must(session->Append(From(tokens, 0, kRing - 12)));
    for (int length = kRing - 12; length < static_cast<int>(tokens.size()); ++length) {
      Must(session->Append(From(wrong, 0, draft)));
      session->Truncate(length);
      ASSERT_TRUE(IsHeld(*engine)) << "a draft costs no more than itself";
      Must(session->Append(From(tokens, length, 1)));
      ASSERT_EQ(Copy(session->logits()), expected[length]) << "draft of " << draft << " at " << length;
    }
  }
}

// However far a session is cut back, and wherever in the ring.
TEST(SessionWindows, ATruncatedSessionContinuesWithTheSameBits) {
  const std::vector<TokenId> tokens = RandomTokens(200, 3);
  const std::vector<Logits> expected = LogitsAfterEach(tokens);
  int computed_again = 0;
  for (const int length : {60, 150, 200}) {
    for (int cut = 0; cut < length; cut = cut < 40 ? cut + 1 : cut + 37) {
      const auto engine = WindowedEngine();
      const auto session = Must(engine->NewSession());
      Must(session->Append(From(tokens, 0, length)));
      session->Truncate(length - cut);
      const bool held = IsHeld(*engine);
      EXPECT_TRUE(held || cut > kRows) << length << " - " << cut;
      EXPECT_TRUE(!held || cut <= kRing) << length << " - " << cut;
      computed_again += !held;
      if (cut == 0) continue;
      Must(session->Append(From(tokens, length - cut, 1)));
      ASSERT_EQ(Copy(session->logits()), expected[length - cut]) << length << " - " << cut;
    }
  }
  EXPECT_GT(computed_again, 20);
}

TEST(SessionWindows, AppendingNothingComputesLostPositions) {
  const auto engine = WindowedEngine();
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(100, 4)));
  session->Truncate(30);
  ASSERT_FALSE(IsHeld(*engine));
  Must(session->Append({}));
  EXPECT_TRUE(IsHeld(*engine));
  EXPECT_EQ(session->length(), 30);
  EXPECT_TRUE(session->logits().empty());
}

TEST(SessionWindows, AForkRecomputesThePositionsLostByItsOrigin) {
  const std::vector<TokenId> tokens = RandomTokens(120, 8);
  const std::vector<Logits> expected = LogitsAfterEach(tokens);
  const auto engine = WindowedEngine({.workload = {.sessions = 2}});
  const auto session = Must(engine->NewSession());
  Must(session->Append(From(tokens, 0, 100)));
  for (const int length : {0, 30, 97, 100}) {
    const auto fork = Must(session->Fork(length));
    Must(fork->Append(From(tokens, length)));
    EXPECT_EQ(Copy(fork->logits()), expected[119]) << length;
    EXPECT_EQ(Copy(session->logits()), expected[99]);
  }
  Must(session->Append(From(tokens, 100)));
  EXPECT_EQ(Copy(session->logits()), expected[119]);
}

// Cancelled while it computes again, or after a pass of new tokens: the sequence is as it was, and the next call is right.
TEST(SessionWindows, AnAppendThatFailsLosesNoToken) {
  const std::vector<TokenId> tokens = RandomTokens(200, 5);
  const std::vector<Logits> expected = LogitsAfterEach(tokens);
  std::atomic<bool> cancel = false;
  const auto engine = WindowedEngine({.cancel = &cancel});
  const auto session = Must(engine->NewSession());
  Must(session->Append(From(tokens, 0, 150)));
  const absl::Status refused = session->AppendEach(RandomTokens(60, 6), [](int index, absl::Span<const float>) {
    return index < 50 ? absl::OkStatus() : absl::AbortedError("enough");
  });
  EXPECT_EQ(refused, absl::AbortedError("enough"));
  EXPECT_FALSE(IsHeld(*engine));
  EXPECT_EQ(Copy(session->logits()), expected[149]);
  cancel = true;
  EXPECT_EQ(session->Append(From(tokens, 150, 1)).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(session->tokens(), From(tokens, 0, 150));
  EXPECT_EQ(Copy(session->logits()), expected[149]);
  session->Truncate(120);
  cancel = false;
  Must(session->Append(From(tokens, 120)));
  EXPECT_EQ(Copy(session->logits()), expected[199]);
}

// Made for one session, the windows of two have room for single tokens, but not for passes of eight.
TEST(SessionWindows, MoreLongSessionsThanPlannedAreAnError) {
  const std::vector<TokenId> tokens = RandomTokens(200, 7);
  const std::vector<Logits> expected = LogitsAfterEach(tokens);
  for (const int sessions : {1, 2}) {
    const auto engine = WindowedEngine({.workload = {.sessions = sessions}});
    const auto first = Must(engine->NewSession()), second = Must(engine->NewSession());
    Must(first->Append(From(tokens, 0, 100)));
    const absl::Status status = second->Append(From(tokens, 0, 100));
    if (sessions == 1) {
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_EQ(status.message(), "KV cache of layers with a window of 24: wanted 8 slots, found 2 free of 48");
      EXPECT_EQ(second->length(), 0);
    } else {
      Must(status);
      Must(second->Append(From(tokens, 100)));
      EXPECT_EQ(Copy(second->logits()), expected[199]);
    }
    Must(first->Append(From(tokens, 100)));
    EXPECT_EQ(Copy(first->logits()), expected[199]);
  }
}

TEST(SessionWindows, TheCacheOfGemma3IsPlannedByItsWindows) {
  const std::string model = RealModelPath("gemma3");
  if (model.empty()) FAIL() << RealModelMissing("gemma3");
  const auto bytes = [&](int sessions) {
    const auto engine = Must(
        Engine::Open({.model_path = model, .compute = {.threads = 1}, .cache = {.context = 8192}, .workload = {.sessions = sessions}}));
    return Must(engine->planner().Plan()).cache;
  };
  EXPECT_EQ(bytes(1), (3 * 8192 + 15 * 1040) * int64_t{1024}) << "3 layers keep 8192 positions of 1 KiB, 15 keep 1040";
  EXPECT_EQ(bytes(2), (3 * 8192 + 15 * 2080) * int64_t{1024});
  EXPECT_EQ(bytes(8), 18 * 8192 * int64_t{1024}) << "no window saves anything";
}

}  // namespace
}  // namespace tessera
