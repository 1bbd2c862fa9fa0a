// Speed of samples of one problem that are decoded together. A step of N samples is compared with a pass of N rows. The gain of drafts is
// measured, too: drafts from each sample's own tokens, and drafts from the other samples' tokens.
//
//   SampleSpeedOptions asked = {.together = {1, 8}, .sampling = {.temperature = 1}, .repetitions = 5, .speculate = "auto"};
//   asked.prompts = prompts;
//   ASSIGN_OR_RETURN(const SampleSpeed speed, MeasureSamples(*engine, asked));
//   RETURN_IF_ERROR(WriteOutput(SampleSpeedText(speed)));             // sample_speed_text.h
//   if (!speed.difference.empty()) return absl::InternalError(speed.difference);
//
// Samples have the same length and different random streams. All samples begin at once with the prompt, which is read once. The passes
// after the prompt count, until the last sample ends. A step's time includes all of the step: placing rows, the pass, logits, choosing
// tokens, drafts. All modes (without drafts, own drafts, shared drafts) are timed by turns, once per repetition, after one repetition that
// is not counted. The passes of N rows are timed likewise, just before and after the samples without drafts. Ratios are taken within one
// repetition; the medians of the ratios are shown. Threads: the engine's, one call at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/spread.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct SampleSpeedOptions {
  std::vector<int> together = {};                   // Numbers of samples; ascending.
  SamplingOptions sampling = {.temperature = 1};
  int generate_tokens = 128;                        // Per sample, after the first token.
  int repetitions = 1;
  std::string speculate = "none";                   // Drafters; samples also draft from each other, with or without "siblings".
  std::vector<std::vector<TokenId>> prompts = {};   // One for each repetition, cyclically. Not empty.
};

struct SampleSpeed {
  // Figures with drafts. Medians, like all numbers here.
  struct Drafted {
    double tokens_per_second = 0;   // All samples together, until the last one ends.
    double gain = 0;                // Compared with no drafts.
    double tokens_per_pass = 0;     // Per sample.
  };
  struct Row {
    int samples = 0;
    Spread tokens_per_second = {};  // All samples together, without drafts, while all samples are decoded; likewise the next line.
    double step_seconds = 0, pass_seconds = 0;
    double of_pass = 0;             // A step's time divided by the time of a pass of `samples` rows of one sequence, each with logits.
    std::optional<Drafted> apart = {}, shared = {};   // With all drafters except siblings, and with siblings, too.
    std::optional<double> shared_of_apart = {};       // Ratio of tokens per second.
  };
  std::vector<Row> rows = {};
  EngineMemory memory = {};
  int cache_tokens = 0;
  std::string difference = {};      // The first sample that drafts changed. Empty: none.
};

// Returns the lists of drafters without and with drafts from the other samples. An empty list: that mode is not measured. Returns the
// errors of DrafterRegistry::Parse.
struct SampleDrafts { std::string apart, shared; };
absl::StatusOr<SampleDrafts> DraftsOfSamples(const std::string& speculate);

// Measures by `options`. WrongUsage (together) if the maximum rows of a pass are fewer. ResourceExhausted (limited by cache_tokens) if the
// cache has no room for all samples at once. Also the errors of passes.
absl::StatusOr<SampleSpeed> MeasureSamples(Engine& engine, const SampleSpeedOptions& options);

}  // namespace tessera
