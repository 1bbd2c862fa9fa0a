#include "tessera/runtime/scale/read_confidence.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

std::unique_ptr<Engine> SmallEngine(int row_capacity) {
  EngineOptions options = {.compute = {.threads = 1, .row_capacity = row_capacity}};
  options.workload = {.logit_rows = Session::kLogitRows + 1, .logits_of_each = true};
  return TinyEngine({.writes_letters = true, .seed = 3}, options);
}

TEST(ReadConfidence, HeaderExample) {
  const std::unique_ptr<Engine> engine = SmallEngine(0);
  const std::vector<TokenId> prompt = RandomTokens(9, 1), tokens = RandomTokens(5, 2);
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine->NewSession());
    ASSIGN_OR_RETURN(const TextConfidence confidence, ReadConfidence(*session, prompt, tokens));
    EXPECT_EQ(confidence.tokens(), 5);
    EXPECT_LT(confidence.mean_log_probability(), 0);
    return absl::OkStatus();
  };
  Must(run());
}

TEST(ReadConfidence, RepeatsTheModelsConfidenceDuringWriting) {
  for (const int row_capacity : {0, 4}) {
    const std::unique_ptr<Engine> engine = SmallEngine(row_capacity);
    const std::unique_ptr<Session> writes = Must(engine->NewSession()), reads = Must(engine->NewSession());
    const Sampler sampler = Must(Sampler::Create({.temperature = 1, .seed = 5}));
    for (const uint64_t seed : {1, 2, 3}) {   // The second and third prompt begin as the first.
      std::vector<TokenId> prompt = RandomTokens(20, 1);
      const std::vector<TokenId> more = RandomTokens(static_cast<int>(seed), seed);
      prompt.insert(prompt.end(), more.begin(), more.end());
      writes->Truncate(0);
      Must(writes->Append(prompt));
      TextConfidence written;
      const Generation text = Must(Generate(*writes, sampler, {.max_tokens = 11, .stream = seed, .on_token = written.Listener()}));
      const TextConfidence read = Must(ReadConfidence(*reads, prompt, text.tokens));
      EXPECT_EQ(read.tokens(), written.tokens());
      EXPECT_EQ(read.mean_log_probability(), written.mean_log_probability()) << "to the bit";
      EXPECT_EQ(read.self_certainty(), written.self_certainty());
    }
  }
}

TEST(ReadConfidence, APromptIsNeededAndATextIsNot) {
  const std::unique_ptr<Engine> engine = SmallEngine(0);
  const std::unique_ptr<Session> session = Must(engine->NewSession());
  const std::vector<TokenId> tokens = RandomTokens(5, 2);
  EXPECT_EQ(ReadConfidence(*session, {}, tokens).status().message(),
            "text to be read: found a prompt without tokens, expected at least one");
  EXPECT_EQ(Must(ReadConfidence(*session, tokens, {})).tokens(), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(ReadConfidence(*session, tokens, RandomTokens(engine->context(), 3)).status()));
}

}  // namespace
}  // namespace tessera
