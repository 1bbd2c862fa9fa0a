#include "tessera/runtime/scheduler/decode_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

// A model whose greedy text is lower-case letters, one per token.
std::unique_ptr<Engine> Letters(const EngineOptions& options) { return TinyEngine({.writes_letters = true, .seed = 9}, options); }

Sampler Greedy() { return Must(Sampler::Create({.temperature = 0})); }

std::unique_ptr<Session> Prompted(Engine& engine, int tokens = 12) {
  std::unique_ptr<Session> session = Must(engine.NewSession());
  Must(session->Append(RandomTokens(tokens, 12)));
  return session;
}

TEST(Generate, HeaderExample) {
  const auto engine = Letters({.compute = {.threads = 2}});
  const auto session = Prompted(*engine);
  const Sampler sampler = Greedy();
  std::string printed;
  const auto Print = [&](absl::string_view text) { printed.append(text.data(), text.size()); };
  const auto run = [&]() -> absl::StatusOr<std::string> {
    GenerateOptions options = {.max_tokens = 20, .stop = {"\n\n"}, .on_text = [&](absl::string_view text) { Print(text); }};
    ASSIGN_OR_RETURN(Generation result, Generate(*session, sampler, options));
    EXPECT_EQ(result.tokens.size(), 20u);
    EXPECT_EQ(result.reason, FinishReason::kLength);
    return result.text;
  };
  EXPECT_EQ(Must(run()), printed);
  EXPECT_EQ(printed.size(), 20u);
}

// The last token chosen is not computed on: what follows can be appended as one pass.
TEST(Generate, TheSessionHoldsAllTokensButTheLast) {
  const auto engine = Letters({.compute = {.threads = 1}});
  const auto session = Prompted(*engine);
  const Generation result = Must(Generate(*session, Greedy(), {.max_tokens = 7}));
  ASSERT_EQ(result.tokens.size(), 7u);
  EXPECT_EQ(session->length(), 12 + 6);
  EXPECT_EQ(session->tokens().subspan(12), absl::MakeConstSpan(result.tokens).first(6));

  Must(session->Append({&result.tokens.back(), 1}));
  const Generation rest = Must(Generate(*session, Greedy(), {.max_tokens = 7}));
  const Generation whole = Must(Generate(*Prompted(*engine), Greedy(), {.max_tokens = 14}));
  EXPECT_EQ(result.text + rest.text, whole.text);
  EXPECT_GT(std::set<char>(whole.text.begin(), whole.text.end()).size(), 2u);  // Or nothing here would show much.
}

TEST(Generate, StopStringsAcrossTokensAreNeverShown) {
  const auto engine = Letters({.compute = {.threads = 1}});
  const std::string text = Must(Generate(*Prompted(*engine), Greedy(), {.max_tokens = 40})).text;
  const std::string stop = text.substr(9, 4);  // Four tokens.
  const size_t at = text.find(stop);
  std::string shown;
  const auto session = Prompted(*engine);
  const Generation result = Must(Generate(*session, Greedy(), {.max_tokens = 40, .stop = {"XYZ", stop},
      .on_text = [&](absl::string_view part) { shown.append(part.data(), part.size()); }}));
  EXPECT_EQ(result.reason, FinishReason::kStopString);
  EXPECT_EQ(result.text, text.substr(0, at));
  EXPECT_EQ(shown, result.text);
  EXPECT_EQ(result.tokens.size(), at + 4);
  EXPECT_EQ(session->length(), 12 + static_cast<int>(at) + 3);
}

// What may be the beginning of a stop string is held back, and shown if it was none.
TEST(Generate, TextHeldBackForAStopStringComesInTheEnd) {
  const auto engine = Letters({.compute = {.threads = 1}});
  const std::string text = Must(Generate(*Prompted(*engine), Greedy(), {.max_tokens = 10})).text;
  const Generation result = Must(Generate(*Prompted(*engine), Greedy(), {.max_tokens = 10, .stop = {text.substr(7) + "!"}}));
  EXPECT_EQ(result.text, text);
  EXPECT_EQ(result.reason, FinishReason::kLength);
}

TEST(Generate, CancelEndsTheTextBeforeTheNextToken) {
  std::atomic<bool> cancel = false;
  const auto engine = Letters({.compute = {.threads = 1}, .cancel = &cancel});
  int parts = 0;
  const auto count = [&](absl::string_view) { cancel = ++parts == 3; };
  const Generation result = Must(Generate(*Prompted(*engine), Greedy(), {.max_tokens = 40, .on_text = count}));
  EXPECT_EQ(result.reason, FinishReason::kCancelled);
  EXPECT_EQ(result.tokens.size(), 3u);
}

TEST(Generate, AFullContextEndsTheText) {
  const auto engine = Letters({.compute = {.threads = 1}, .cache = {.context = 21}});
  const auto session = Prompted(*engine, 19);
  const Generation result = Must(Generate(*session, Greedy(), {}));
  EXPECT_EQ(result.reason, FinishReason::kContextFull);
  EXPECT_EQ(session->length(), 21);
  EXPECT_EQ(result.tokens.size(), 3u);  // Two that fit, and the one chosen after them.
}

TEST(Generate, TheSeedAndTheStreamDecideTheText) {
  const auto write = [](int threads, int row_capacity, uint64_t seed, uint64_t stream) {
    const auto engine = Letters({.compute = {.threads = threads, .row_capacity = row_capacity}});
    const Sampler sampler = Must(Sampler::Create({.temperature = 1.5f, .top_k = 20, .seed = seed}));
    return Must(Generate(*Prompted(*engine), sampler, {.max_tokens = 30, .stream = stream, .ignore_end = true})).tokens;
  };
  const std::vector<TokenId> tokens = write(1, 512, 3, 0);
  EXPECT_EQ(write(2, 5, 3, 0), tokens);
  EXPECT_NE(write(1, 512, 4, 0), tokens);
  EXPECT_NE(write(1, 512, 3, 1), tokens);
}

TEST(Generate, AnEndTokenEndsTheTextAndIsNotShown) {
  const auto engine = TinyEngine({.seed = 10}, {.compute = {.threads = 1}, .cache = {.context = 2048}});
  const Sampler wild = Must(Sampler::Create({.temperature = 8, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 1}));
  const auto session = Prompted(*engine);
  const Generation result = Must(Generate(*session, wild, {}));
  ASSERT_EQ(result.reason, FinishReason::kEndToken);  // One of 265 tokens each time: 2,000 draws do not miss it.
  EXPECT_EQ(result.tokens.back(), kImEnd);
  for (size_t i = 0; i + 1 < result.tokens.size(); ++i) EXPECT_FALSE(engine->tokenizer().IsEnd(result.tokens[i])) << i;
  EXPECT_EQ(result.text.find("im_end"), std::string::npos);

  const int further = static_cast<int>(result.tokens.size()) + 5;
  const Generation longer = Must(Generate(*Prompted(*engine), wild, {.max_tokens = further, .ignore_end = true}));
  EXPECT_EQ(longer.reason, FinishReason::kLength);
  EXPECT_EQ(longer.tokens[result.tokens.size() - 1], kImEnd);
}

TEST(Generate, AStopStringThatIsASpecialTokenEndsTheTextThere) {
  const auto engine = TinyEngine({.seed = 10}, {.compute = {.threads = 1}, .cache = {.context = 2048}});
  const Sampler wild = Must(Sampler::Create({.temperature = 8, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 1}));
  const Generation all = Must(Generate(*Prompted(*engine), wild, {.max_tokens = 1500, .ignore_end = true}));
  const auto first = std::find(all.tokens.begin(), all.tokens.end(), kImStart);
  ASSERT_NE(first, all.tokens.end());
  const Generation result = Must(Generate(*Prompted(*engine), wild, {.stop = {"never", "<|im_start|>"}, .ignore_end = true}));
  EXPECT_EQ(result.reason, FinishReason::kStopString);
  EXPECT_EQ(result.tokens, std::vector<TokenId>(all.tokens.begin(), first + 1));
}

TEST(Generate, AnEmptySessionIsAnError) {
  const auto engine = Letters({.compute = {.threads = 1}});
  const absl::Status status = Generate(*Must(engine->NewSession()), Greedy(), {.max_tokens = 1}).status();
  EXPECT_EQ(status, absl::FailedPreconditionError("Generate: the session is empty, expected a prompt"));
}

TEST(FinishReason, Names) {
  const FinishReason reasons[] = {FinishReason::kEndToken, FinishReason::kStopString, FinishReason::kLength,
                                  FinishReason::kContextFull, FinishReason::kCancelled};
  std::string names;
  for (const FinishReason reason : reasons) absl::StrAppend(&names, FinishReasonName(reason), "; ");
  EXPECT_EQ(names, "end of text; stop string; length; context full; cancelled; ");
}

}  // namespace
}  // namespace tessera
