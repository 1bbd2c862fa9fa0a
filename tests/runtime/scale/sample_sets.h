// Sets of samples of a tiny model, as tests of them write them.
//
//   const auto engine = EngineFor(/*texts=*/4);
//   const SampleSetResult result = Written(*engine, /*together=*/2, Asked(/*seed=*/1), {.samples = 4, .selection = Selection::kMajority});
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/scale/sample_set.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {

inline constexpr int kPrompt = 40, kMost = 24;

inline std::unique_ptr<Engine> EngineFor(int texts, EngineOptions options = {}) {
  options.compute.threads = 1;
  options.cache.context = 128;
  Must(PlanParallel({.texts = texts}, options));
  return TinyEngine({.layers = 2, .writes_letters = true}, options);
}

inline std::unique_ptr<ParallelAnswers> AnswersOf(Engine& engine, int together, const std::string& speculate = "none") {
  return Must(ParallelAnswers::Create(engine, {.texts = together, .speculation = {.speculate = speculate}}));
}

// Texts end where a letter comes that is as likely as others, so their lengths differ.
inline NewAnswer Asked(uint64_t seed) {
  return {.prompt = RandomTokens(kPrompt, seed), .sampling = {.temperature = 1, .seed = seed}, .stop = {"e", "t"}, .max_tokens = kMost};
}

// One of a few answers, the first more often than others, or none, by the text alone.
inline std::function<std::optional<std::string>(absl::string_view)> RandomAnswers(uint64_t seed, int answers) {
  return [seed, answers](absl::string_view text) -> std::optional<std::string> {
    uint64_t hash = seed;
    for (const char letter : text) hash = (hash ^ static_cast<uint64_t>(letter)) * 0x100000001b3u;
    constexpr int kDrawn[] = {0, 1, 1, 1, 1, 2, 2, 3};
    const int drawn = kDrawn[(hash >> 20) % std::size(kDrawn)];
    return drawn == 0 ? std::nullopt : std::optional(absl::StrCat(std::min(drawn, answers)));
  };
}

inline std::optional<std::string> AlwaysSeven(absl::string_view) { return "7"; }

inline SampleSetResult Written(Engine& engine, int together, const NewAnswer& asked, const SampleSetOptions& options) {
  const auto answers = AnswersOf(engine, together);
  SampleSet set(engine, asked, options, *answers);
  Must(set.Run());
  EXPECT_EQ(answers->unended(), 0);
  return set.result();
}

}  // namespace tessera
