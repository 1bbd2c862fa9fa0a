#include "tessera/runtime/session/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

using Logits = std::vector<float>;

Logits Copy(absl::Span<const float> logits) { return {logits.begin(), logits.end()}; }

TEST(Session, HeaderExample) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto run = [&]() -> absl::StatusOr<size_t> {
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine->NewSession());
    RETURN_IF_ERROR(session->Append(engine->tokenizer().Encode("Once upon a time", {.add_bos = true})));
    absl::Span<const float> next = session->logits();
    ASSIGN_OR_RETURN(std::unique_ptr<Session> other, session->Fork(3));
    EXPECT_EQ(other->tokens(), session->tokens().first(3));
    return next.size();
  };
  EXPECT_EQ(Must(run()), static_cast<size_t>(kTinyVocabulary));
}

TEST(Session, TruncatedAndAppendedIsAsNew) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 2}, .cache = {.context = 128}});
  const auto edited = Must(engine->NewSession()), fresh = Must(engine->NewSession());
  const std::vector<TokenId> tokens = RandomTokens(30, 1), others = RandomTokens(20, 2);
  Must(edited->Append(absl::MakeConstSpan(tokens).first(17)));
  Must(edited->Append(others));
  edited->Truncate(17);
  EXPECT_TRUE(edited->logits().empty());
  EXPECT_EQ(edited->length(), 17);
  Must(edited->Append(absl::MakeConstSpan(tokens).subspan(17)));
  Must(fresh->Append(tokens));
  EXPECT_EQ(edited->tokens(), absl::MakeConstSpan(tokens));
  EXPECT_EQ(edited->logits(), fresh->logits());
  EXPECT_EQ(fresh->logits().size(), static_cast<size_t>(kTinyVocabulary));
}

TEST(Session, TruncatingNothingKeepsTheLogits) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto session = Must(engine->NewSession());
  EXPECT_TRUE(session->logits().empty());
  Must(session->Append({5, 6}));
  const Logits logits = Copy(session->logits());
  session->Truncate(2);
  EXPECT_EQ(session->logits(), absl::MakeConstSpan(logits));
  Must(session->Append({}));
  EXPECT_EQ(session->logits(), absl::MakeConstSpan(logits));
}

TEST(Session, ACancelledAppendLeavesTheSequenceUnchanged) {
  std::atomic<bool> cancel = false;
  const auto engine = TinyEngine({}, {.compute = {.threads = 2, .row_capacity = 8}, .cancel = &cancel});
  const auto session = Must(engine->NewSession()), other = Must(engine->NewSession());
  const std::vector<TokenId> tokens = RandomTokens(30, 4);
  Must(session->Append(tokens));
  cancel = true;
  EXPECT_EQ(session->Append(RandomTokens(20, 5)).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(session->tokens(), absl::MakeConstSpan(tokens));
  cancel = false;
  Must(session->Append(RandomTokens(3, 6)));
  Must(other->Append(tokens));
  Must(other->Append(RandomTokens(3, 6)));
  EXPECT_EQ(session->logits(), other->logits());
}

// From within a pass, not only before the first: the visitor is called between two parts of one call.
TEST(Session, CancelEndsAnAppendThatIsUnderWay) {
  std::atomic<bool> cancel = false;
  const auto engine = TinyEngine({}, {.compute = {.threads = 2, .row_capacity = 8}, .cancel = &cancel});
  const auto session = Must(engine->NewSession());
  int seen = 0;
  const absl::Status status = session->AppendEach(RandomTokens(30, 4), [&](int index, absl::Span<const float>) {
    seen = index;
    cancel = true;
    return absl::OkStatus();
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(seen, 7) << "the last of the first pass's rows";
  EXPECT_EQ(session->length(), 0);
}

// However a prompt is cut: by the caller, and by the row capacity.
TEST(Session, CutsChangeNoBit) {
  const std::vector<TokenId> tokens = RandomTokens(50, 3);
  std::vector<Logits> found;
  for (const int row_capacity : {1, 7, 50, 512}) {
    const auto engine = TinyEngine({}, {.compute = {.threads = 2, .row_capacity = row_capacity}});
    const auto whole = Must(engine->NewSession()), parts = Must(engine->NewSession());
    Must(whole->Append(tokens));
    for (size_t begin = 0; begin < tokens.size(); begin += 9) Must(parts->Append(absl::MakeConstSpan(tokens).subspan(begin, 9)));
    found.push_back(Copy(whole->logits()));
    found.push_back(Copy(parts->logits()));
  }
  for (const Logits& logits : found) EXPECT_EQ(logits, found[0]);
}

// Passes of more rows than a layer takes at once, and of fewer.
TEST(Session, RowsThatALayerTakesTogetherChangeNoBit) {
  const std::vector<TokenId> tokens = RandomTokens(600, 4);
  std::vector<Logits> found;
  for (const int row_capacity : {100, kRowsTogether, 600}) {
    const auto engine = TinyEngine({.context = 640}, {.compute = {.threads = 2, .row_capacity = row_capacity}});
    const auto session = Must(engine->NewSession());
    Must(session->Append(tokens));
    found.push_back(Copy(session->logits()));
  }
  EXPECT_EQ(found[1], found[0]);
  EXPECT_EQ(found[2], found[0]);
}

// Workers that would have no whole key/value head each share the heads of a long row, by positions and columns.
TEST(Session, HeadsThatWorkersShareChangeNoBit) {
  const TinyModel models[] = {{.heads = 16, .kv_heads = 2, .head_size = 24, .context = 512},
                              {.architecture = "gemma3", .heads = 4, .kv_heads = 1, .head_size = 32, .context = 512, .window = 150}};
  for (const TinyModel& model : models) {
    std::vector<Logits> found;
    for (const int threads : {1, 2, 3, 5}) {
      const auto engine = TinyEngine(model, {.compute = {.threads = threads}});
      const auto session = Must(engine->NewSession());
      Must(session->Append(RandomTokens(300, 5)));
      for (const TokenId token : RandomTokens(20, 6)) Must(session->Append({&token, 1}));
      found.push_back(Copy(session->logits()));
      session->Truncate(0);
      Must(session->Append(RandomTokens(300, 5)));
      Must(session->Append(RandomTokens(20, 6)));
      found.push_back(Copy(session->logits()));
    }
    for (const Logits& logits : found) EXPECT_EQ(logits, found[0]) << model.architecture;
  }
}

TEST(Session, AppendEachGivesTheLogitsOfAppendAfterEachToken) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 2, .row_capacity = 40},
                                      .cache = {.context = 256}});  // 70 tokens: two passes, of two groups of logits each.
  const auto each = Must(engine->NewSession()), single = Must(engine->NewSession());
  const std::vector<TokenId> tokens = RandomTokens(70, 4);
  std::vector<Logits> found;
  Must(each->AppendEach(tokens, [&](int index, absl::Span<const float> logits) {
    EXPECT_EQ(index, static_cast<int>(found.size()));
    found.push_back(Copy(logits));
    return absl::OkStatus();
  }));
  EXPECT_EQ(each->length(), 70);
  ASSERT_EQ(found.size(), 70u);
  for (size_t i = 0; i < tokens.size(); ++i) {
    Must(single->Append({&tokens[i], 1}));
    EXPECT_EQ(single->logits(), absl::MakeConstSpan(found[i])) << i;
  }
  EXPECT_EQ(each->logits(), single->logits());
}

TEST(Session, AppendSomeGivesTheLogitsThatAreAskedForAndNoOthers) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 2, .row_capacity = 40}, .cache = {.context = 256}});
  const auto each = Must(engine->NewSession()), some = Must(engine->NewSession());
  const std::vector<TokenId> tokens = RandomTokens(70, 4);
  std::vector<Logits> expected;
  Must(each->AppendEach(tokens, [&](int, absl::Span<const float> logits) {
    expected.push_back(Copy(logits));
    return absl::OkStatus();
  }));
  for (const std::vector<int>& asked : {std::vector<int>{}, {0, 39, 40}, {3, 41, 68}, {69}}) {
    some->Truncate(0);
    std::vector<int> given;
    Must(some->AppendSome(tokens, asked, [&](int index, absl::Span<const float> logits) {
      given.push_back(index);
      EXPECT_EQ(logits, absl::MakeConstSpan(expected[static_cast<size_t>(index)])) << index;
      return absl::OkStatus();
    }));
    EXPECT_EQ(given, asked);
    EXPECT_EQ(some->logits(), each->logits());
  }
}

TEST(Session, AForkGoesOnAsAnyTextWithItsTokensAndSharesTheirSlots) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 2}, .cache = {.context = 128}});
  const std::vector<TokenId> tokens = RandomTokens(30, 1), others = RandomTokens(20, 2);
  const auto session = Must(engine->NewSession()), fresh = Must(engine->NewSession());
  Must(session->Append(tokens));
  const Logits logits = Copy(session->logits());
  const int free = CoreOf(*engine).cache().free_slots();
  const auto whole = Must(session->Fork(30)), part = Must(session->Fork(17));
  EXPECT_EQ(CoreOf(*engine).cache().free_slots(), free);
  EXPECT_EQ(whole->logits(), absl::MakeConstSpan(logits));
  EXPECT_TRUE(part->logits().empty()) << "of a token that the fork has, not of its last";

  Must(part->Append(others));
  Must(fresh->Append(absl::MakeConstSpan(tokens).first(17)));
  Must(fresh->Append(others));
  EXPECT_EQ(part->tokens(), fresh->tokens());
  EXPECT_EQ(part->logits(), fresh->logits());
  EXPECT_EQ(session->tokens(), absl::MakeConstSpan(tokens)) << "the first goes on as if nothing had been forked";
  EXPECT_EQ(session->logits(), absl::MakeConstSpan(logits));
  Must(session->Append({9}));
  Must(whole->Append({9}));
  EXPECT_EQ(session->logits(), whole->logits());
}

TEST(Session, AForkOutlivesItsOrigin) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  auto session = Must(engine->NewSession());
  const std::vector<TokenId> tokens = RandomTokens(12, 3);
  Must(session->Append(tokens));
  const auto fork = Must(session->Fork(12));
  session = nullptr;
  const auto fresh = Must(engine->NewSession());
  Must(fresh->Append(tokens));
  Must(fresh->Append({1}));
  Must(fork->Append({1}));
  EXPECT_EQ(fork->logits(), fresh->logits());
}

TEST(Session, AForkOfMoreThanThereIsIsRefused) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}});
  const auto session = Must(engine->NewSession());
  Must(session->Append({1, 2, 3}));
  EXPECT_EQ(session->Fork(4).status().message(), "fork: found a length of 4, expected 0 to 3");
  EXPECT_EQ(session->Fork(-1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Must(session->Fork(0))->length(), 0);
}

TEST(Session, OutlivesItsEngine) {
  auto engine = TinyEngine({}, {.compute = {.threads = 2}});
  const std::vector<TokenId> tokens = RandomTokens(12, 3);
  const auto session = Must(engine->NewSession()), expected = Must(engine->NewSession());
  Must(session->Append(tokens));
  Must(expected->Append(tokens));
  Must(expected->Append({1}));
  engine = nullptr;
  Must(session->Append({1}));
  EXPECT_EQ(session->logits(), expected->logits());
}

TEST(Session, EachHasACancelFlagOfItsOwn) {
  std::atomic<bool> cancel = false, other_cancel = false;
  const auto engine = TinyEngine({}, {.compute = {.threads = 1, .row_capacity = 8}});
  const auto session = Must(engine->NewSession({.cancel = &cancel})), other = Must(engine->NewSession({.cancel = &other_cancel}));
  const auto free = Must(session->Fork(0));
  const std::vector<TokenId> tokens = RandomTokens(20, 4);
  Must(session->Append(tokens));
  cancel = true;
  EXPECT_EQ(session->Append({1}).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(session->tokens(), absl::MakeConstSpan(tokens));
  Must(other->Append(tokens));
  Must(free->Append(tokens));
  EXPECT_EQ(session->Append({1}).code(), absl::StatusCode::kCancelled) << "after passes of the others, too";
  cancel = false;
  Must(session->Append({1}));
  Must(other->Append({1}));
  EXPECT_EQ(session->logits(), other->logits());
}

TEST(Session, LogitsOfAPassThatAnotherSessionsFollowedAreRefused) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1, .row_capacity = 8}});
  const auto session = Must(engine->NewSession()), other = Must(engine->NewSession());
  const absl::Status status = session->AppendEach(RandomTokens(20, 4), [&](int, absl::Span<const float>) { return other->Append({1}); });
  EXPECT_EQ(status.code(), absl::StatusCode::kOk) << "each pass's logits were there before the other's pass";
  Must(session->PassTree(TokenTree(3)));
  Must(other->Append({2}));
  std::vector<float> logits(kTinyVocabulary);
  const absl::Status late = session->TreeLogits({0}, TensorView<float>(logits.data(), 1, kTinyVocabulary));
  EXPECT_EQ(late.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(late.message(), "hidden rows: found a later pass, expected none since theirs, or Keep before it");
  session->Keep({}, {});
  EXPECT_EQ(session->length(), 20);
}

// A call that fails leaves the sequence and its logits as they were.
TEST(Session, ErrorsLeaveTheSessionUnchanged) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1, .row_capacity = 8}, .cache = {.context = 40}});
  const auto session = Must(engine->NewSession());
  const std::vector<TokenId> tokens = RandomTokens(10, 5);
  Must(session->Append(tokens));
  const Logits logits = Copy(session->logits());
  const auto expect_unchanged = [&] {
    EXPECT_EQ(session->tokens(), absl::MakeConstSpan(tokens));
    EXPECT_EQ(session->logits(), absl::MakeConstSpan(logits));
    EXPECT_EQ(CoreOf(*engine).cache().free_slots(), CoreOf(*engine).cache().slots() - 10);
  };
  const auto ignore = [](int, absl::Span<const float>) { return absl::OkStatus(); };

  const std::vector<TokenId> too_many = RandomTokens(31, 6);
  const absl::Status full = session->Append(too_many);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(full.message(), "context: found 10 tokens and 31 more, expected at most 40 together");
  EXPECT_EQ(session->AppendEach(too_many, ignore).code(), absl::StatusCode::kResourceExhausted);
  expect_unchanged();

  std::vector<TokenId> wrong = RandomTokens(20, 7);
  wrong[12] = kTinyVocabulary;  // In the second pass.
  const absl::Status outside = session->Append(wrong);
  EXPECT_EQ(outside.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(outside.message(), "token 12: found 265, expected 0 to 264");
  wrong[12] = -1;
  EXPECT_EQ(session->AppendEach(wrong, ignore).message(), "token 12: found -1, expected 0 to 264");
  expect_unchanged();

  const absl::Status refused = session->AppendEach(RandomTokens(20, 8), [](int index, absl::Span<const float>) {
    return index < 11 ? absl::OkStatus() : absl::AbortedError("enough");
  });
  EXPECT_EQ(refused, absl::AbortedError("enough"));
  expect_unchanged();
}

// The context is shared: what one session takes, another lacks until it is given back.
TEST(Session, SessionsShareTheContext) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1}, .cache = {.context = 64}});
  auto first = Must(engine->NewSession());
  const auto second = Must(engine->NewSession());
  Must(first->Append(RandomTokens(60, 9)));
  Must(second->Append({1}));
  const Logits logits = Copy(second->logits());
  EXPECT_EQ(second->Append(RandomTokens(10, 10)).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(second->length(), 1);
  EXPECT_EQ(second->logits(), absl::MakeConstSpan(logits));
  first.reset();
  Must(second->Append(RandomTokens(63, 10)));
  EXPECT_EQ(second->length(), 64);
}

TEST(Session, AWholeContextCanBeUsed) {
  for (const int context : {1, 15, 17}) {  // Not multiples of the cache's block.
    const auto engine = TinyEngine({}, {.compute = {.threads = 1}, .cache = {.context = context}});
    const auto session = Must(engine->NewSession());
    Must(session->Append(RandomTokens(context, 11)));
    EXPECT_EQ(session->length(), context);
    EXPECT_EQ(session->Append({1}).code(), absl::StatusCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace tessera
