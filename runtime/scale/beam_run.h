// Step-level beam search (beam_search.h) with an engine: the next steps of all beams are written in passes that they share, each is scored,
// and the best are gone on from.
//
//   const BeamRunOptions options = {.beams = {.width = 4, .expansions = 4, .delimiter = "\n\n"}, .sampling = {.seed = 7}};
//   RETURN_IF_ERROR(PlanBeams(options, engine_options));                       // before the engine is made
//   SelfCertaintyScorer scorer;
//   ASSIGN_OR_RETURN(const BeamTexts written, RunBeams(*engine, prompt, scorer, options));
//   written.best().text;
//
// Steps end as step_text.h says. Each is a text of one stepper (stepper.h) whose prompt is the exact tokens of the beam that it goes on
// from; what these left in the cache is shared, so of a beam no token is computed twice while there is room for it. A step that has ended
// has no row in the next pass. Scores are asked for once all steps of a round are written, in their order, between passes: a scorer may
// run passes of the engine.
//
// A step draws from a stream of the seed that its path alone decides, the numbers of the expansions that led to it: that of its first step
// is the number itself, each later one StreamOfBeamStep. So a text is what it would be if it were written alone, and the first steps
// begin as samples 0, 1, ... of the prompt do. Nothing is drafted. Threads: as the engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/lora.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/chat/timings.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scale/beam_search.h"
#include "tessera/runtime/scale/scorer.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/runtime/session/generation.h"

namespace tessera {

struct BeamRunOptions {
  BeamOptions beams = {};                  // width * expansions, the rows of a pass: at most 64 (kMostTexts).
  int max_step_tokens = 256;               // 1 and up: a step ends with so many, delimiter or not.
  int max_tokens = 512;                    // A text ends with so many. 0: until the context is full.
  // No repetition penalty: a step would look back at its own tokens alone. If there is more than one row, steps have to be able to differ.
  SamplingOptions sampling = {};
  std::vector<std::string> stop = {};      // As GenerateOptions have them; they may lie across steps.
  bool starts_text = true;                 // False where texts go on with the prompt's own text.
  std::string problem = {};                // SampleText::problem.
  const LoraAdapter* adapter = nullptr;    // Must outlive the call. Null: the model as it is.
  const std::atomic<bool>* cancel = nullptr;   // True ends the search, as EngineOptions::cancel does. Null: that alone.
  std::function<void(int step)> on_step = nullptr;   // Told after each step of all beams, how many there were.
};

// A text that the search ends with.
struct BeamText {
  std::vector<TokenId> tokens = {};        // The last one of a text that was cut may go on behind `text`.
  std::string text = {};
  FinishReason reason = FinishReason::kLength;   // So also for one that was cut after BeamOptions::most_steps.
  double score = 0;                        // That of its last step.
  double mean_log_probability = 0, self_certainty = 0;   // confidence.h
  std::vector<int> path = {};              // For each of its steps, the number of its expansion, from 0 on.
};

// A step that was kept.
struct KeptStep {
  int step = 0;                            // From 1 on.
  int beam = 0;                            // From 1 on: those that are gone on from, the best first, then those that have ended.
  int from = 0;                            // The beam of the step before that it goes on from; 0: the prompt.
  double score = 0;
  bool ended = false;
  std::string text = {};                   // The step's own.
};

struct BeamTexts {
  // BeamSearch::results(): texts that have ended, in the order in which they did; where none has, those that were cut, the best first.
  std::vector<BeamText> texts = {};
  size_t best_index = 0;                   // BeamSearch::best().
  const BeamText& best() const { return texts[best_index]; }
  std::vector<KeptStep> kept = {};         // In order.
  int64_t steps = 0;                       // Written and scored, kept or not.
  int64_t shared_tokens = 0;               // Tokens of the prompt that the cache held before.
  // Passes that the search takes at least, whatever the cache held and however long passes take: the longest step of each round, in sum.
  int64_t least_passes = 0;
  // Output: tokens of all steps. Until the first is chosen, time counts for the prompt.
  Timings timings = {};
  double scoring_seconds = 0;              // Not in timings.
  StepperReport passes = {};
};

// The stream of a step: the `expansion`-th way to go on from one that drew from `stream`.
uint64_t StreamOfBeamStep(uint64_t stream, int expansion);

// WrongUsage (the field; `beam` of rows, and of steps that cannot differ) for options that cannot be.
absl::Status CheckBeams(const BeamRunOptions& options);

// The same, and makes memory plans include the search: logits of all rows and, unless the cache's size is given, room for a prompt of
// kUsualText tokens, `width` whole texts and a step of each row, which share what they begin with. A search that takes more waits for room
// (stepper.h), and computes again what had to be given up.
absl::Status PlanBeams(const BeamRunOptions& options, EngineOptions& engine);

// Errors: those of CheckBeams; ResourceExhausted (limited by context) for a prompt that leaves no room, InvalidArgument for one without
// tokens or for an adapter of another model; the first error of a pass or of the scorer, with the step and its text; Cancelled. A score
// that is no number is below all others. REQUIRES: the engine's weights are loaded.
absl::StatusOr<BeamTexts> RunBeams(Engine& engine, absl::Span<const TokenId> prompt, Scorer& scorer, const BeamRunOptions& options);

}  // namespace tessera
