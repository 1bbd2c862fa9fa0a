// Sessions share the slots of a cache: a draft takes none that plain decoding would not have.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/fake_drafters.h"
#include "tessera/tests/fakes/tiny_engine.h"
#include "tessera/tests/fakes/written_text.h"

namespace tessera {
namespace {

const SamplingOptions kGreedy = {.temperature = 0};

// One session holds 26 of 64 slots and another 30, so there is room for eight more tokens, but not for a tree of twelve rows.
TEST(SpeculationRoom, ADraftFitsTheSlotsLeftByOtherSessions) {
  for (const std::string architecture : kArchitectures) {
    SCOPED_TRACE(architecture);
    const bool gemma = architecture == "gemma3";  // Its seven layers hold 16 positions, or all.
    const TinyModel model = {
        .architecture = architecture, .layers = gemma ? 7 : 2, .window = gemma ? 16 : 0, .writes_letters = true, .seed = 9};
    const auto engine = TinyEngine(model, {.compute = {.threads = 1}, .cache = {.context = 64}});
    const auto other = Must(engine->NewSession());
    Must(other->Append(RandomTokens(26, 3)));
    PromptWriter writer(*engine, RandomTokens(30, 12));
    for (const int tokens : {2, 5, 9}) {
      const GenerateOptions options = {.max_tokens = tokens, .ignore_end = true};
      const WrittenText plain = writer.Write(kGreedy, options, nullptr);
      ASSERT_EQ(plain.tokens.size(), static_cast<size_t>(tokens));
      for (uint64_t seed = 0; seed < 8; ++seed) {
        auto drafter = std::make_unique<RandomDrafter>(kTinyVocabulary, seed, plain.tokens);
        EXPECT_EQ(writer.Write(kGreedy, options, std::move(drafter), /*max_rows=*/24), plain) << tokens << " tokens, seed " << seed;
      }
    }
  }
}

TEST(SpeculationRoom, ATreeHasRoomInTheRemainingSlots) {
  const auto engine = TinyEngine({.seed = 9}, {.compute = {.threads = 1}, .cache = {.context = 64}});
  const auto first = Must(engine->NewSession()), second = Must(engine->NewSession());
  EXPECT_GT(first->TreeRoom(), 12);
  Must(first->Append(RandomTokens(40, 3)));
  Must(second->Append(RandomTokens(20, 4)));
  EXPECT_EQ(second->TreeRoom(), 4);
  Must(second->Append(RandomTokens(4, 5)));
  EXPECT_EQ(second->TreeRoom(), 1) << "as a plain pass, which then says what it lacks";
  EXPECT_EQ(second->Append({1}).code(), absl::StatusCode::kResourceExhausted);
  first->Truncate(8);
  EXPECT_GT(second->TreeRoom(), 1);
}

TEST(SpeculationRoom, ATreeEndsWithTheContextHoweverMuchTheCacheHolds) {
  const auto engine = TinyEngine({.seed = 9}, {.compute = {.threads = 1}, .cache = {.context = 64, .cache_tokens = 128}});
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(60, 3)));
  EXPECT_EQ(session->TreeRoom(), 4);
  Must(session->Append(RandomTokens(4, 4)));
  EXPECT_EQ(session->TreeRoom(), 0);
}

}  // namespace
}  // namespace tessera
