#include "tessera/runtime/session/generation.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TEST(Generation, HeaderExample) {
  const auto engine = TinyEngine({.writes_letters = true}, {});
  const auto session = Must(engine->NewSession());
  Must(session->Append({1, 2, 3}));
  const Sampler sampler = Must(Sampler::Create({.temperature = 0}));
  std::string printed;
  const auto Print = [&](absl::string_view text) { printed.append(text.data(), text.size()); };
  const auto run = [&]() -> absl::Status {
    GenerateOptions options = {.max_tokens = 128, .stop = {"\n\n"}, .on_text = [&](absl::string_view text) { Print(text); }};
    ASSIGN_OR_RETURN(Generation result, Generate(*session, sampler, options));
    EXPECT_EQ(printed, result.text);
    EXPECT_FALSE(FinishReasonName(result.reason).empty());
    return absl::OkStatus();
  };
  Must(run());
}

TEST(Generation, EachReasonHasAName) {
  EXPECT_EQ(FinishReasonName(FinishReason::kEndToken), "end of text");
  EXPECT_EQ(FinishReasonName(FinishReason::kStopString), "stop string");
  EXPECT_EQ(FinishReasonName(FinishReason::kLength), "length");
  EXPECT_EQ(FinishReasonName(FinishReason::kContextFull), "context full");
  EXPECT_EQ(FinishReasonName(FinishReason::kCancelled), "cancelled");
}

}  // namespace
}  // namespace tessera
