// How fast samples of one problem are written together: a step of N of them beside a pass of N rows, and what drafts add to it, from each
// sample's own text and from what the others write.
//
//   SampleSpeedOptions asked = {.together = {1, 8}, .sampling = {.temperature = 1}, .repetitions = 5, .speculate = "auto"};
//   asked.prompts = prompts;
//   ASSIGN_OR_RETURN(const SampleSpeed speed, MeasureSamples(*engine, asked));
//   RETURN_IF_ERROR(WriteOutput(SampleSpeedText(speed)));             // sample_speed_text.h
//   if (!speed.difference.empty()) return absl::InternalError(speed.difference);
//
// Samples differ in the stream of their draws, have the same length, and begin at once with the prompt, which is read once. Counted are
// the passes after that, until the last sample ends, with all that a step does: placing rows, the pass, logits, choosing tokens, drafts.
// All ways to write are timed by turns, once per repetition, after one that is not counted; so are the passes of N rows, just before and
// after the samples without drafts. Ratios are of one repetition; the medians of these are shown. Threads: the engine's, one call at a
// time.
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
  int generate_tokens = 128;                        // Per sample, after its first.
  int repetitions = 1;
  std::string speculate = "none";                   // Drafters. What samples share is drafted from, too, whether it has "siblings" or not.
  std::vector<std::vector<TokenId>> prompts = {};   // One for each repetition, and again from the first. Not empty.
};

struct SampleSpeed {
  // With drafts. Medians, as all here.
  struct Drafted {
    double tokens_per_second = 0;   // All samples together, until the last one ends.
    double gain = 0;                // Beside no drafts.
    double tokens_per_pass = 0;     // A sample's.
  };
  struct Row {
    int samples = 0;
    Spread tokens_per_second = {};  // All samples together, without drafts, while all of them are written; so the next line.
    double step_seconds = 0, pass_seconds = 0;
    double of_pass = 0;             // A step's time in passes of so many rows of one text, each with logits.
    std::optional<Drafted> apart = {}, shared = {};   // With the drafters but siblings, and with these, too.
    std::optional<double> shared_of_apart = {};       // In tokens per second.
  };
  std::vector<Row> rows = {};
  EngineMemory memory = {};
  int cache_tokens = 0;
  std::string difference = {};      // The first sample that drafts changed. Empty: there is none.
};

// The lists of drafters by which samples draft, without and with what they share; empty: nothing is drafted so. The errors of
// DrafterRegistry::Parse.
struct SampleDrafts { std::string apart, shared; };
absl::StatusOr<SampleDrafts> DraftsOfSamples(const std::string& speculate);

// WrongUsage (together) if a pass of the model has fewer rows; ResourceExhausted (limited by cache_tokens) if the cache has no room for all
// samples at once; the errors of passes.
absl::StatusOr<SampleSpeed> MeasureSamples(Engine& engine, const SampleSpeedOptions& options);

}  // namespace tessera
