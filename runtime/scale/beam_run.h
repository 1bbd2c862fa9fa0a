// Runs step-level beam search (beam_search.h) on an engine. Shared passes write the next steps of all beams, a scorer scores each step, and
// the best steps are continued.
//
//   const BeamRunOptions options = {.beams = {.width = 4, .expansions = 4, .delimiter = "\n\n"}, .sampling = {.seed = 7}};
//   RETURN_IF_ERROR(PlanBeams(options, engine_options));                       // before the engine is made
//   SelfCertaintyScorer scorer;
//   ASSIGN_OR_RETURN(const BeamTexts written, RunBeams(*engine, prompt, scorer, options));
//   written.best().text;
//
// Steps end by the rules of step_text.h. Each step is a stream of one scheduler (stepper.h), whose prompt is the exact tokens of the
// continued beam. Cached tokens are shared: no token of a beam is computed twice while the cache has room. An ended step has no row in the
// next pass. Once all steps of a round are written, the scorer is called for each step in order. The calls come between passes: a scorer
// may run passes of the engine.
//
// A step's draws come from a stream of the seed. Only the step's path decides the stream, that is, the expansion numbers that led to the
// step. The stream of a first step is the expansion number; the stream of a later step is StreamOfBeamStep. So a text is the same as a text
// written alone, and the first steps begin like samples 0, 1, ... of the prompt. Nothing is drafted.
//
// Threads: as the engine.
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

// Options of a search.
struct BeamRunOptions {
  BeamOptions beams = {};                  // width * expansions is the number of rows per pass: at most 64 (kMostTexts).
  int max_step_tokens = 256;               // 1 or more. Longest step in tokens, with or without delimiter.
  int max_tokens = 512;                    // Longest text in tokens. 0: until the context is full.
  // A repetition penalty is refused, since a step would look back only at its own tokens. With more than one row, the sampling must let
  // steps differ.
  SamplingOptions sampling = {};
  std::vector<std::string> stop = {};      // As in GenerateOptions; stop strings may span steps.
  bool starts_text = true;                 // False if texts continue the prompt's own text.
  std::string problem = {};                // SampleText::problem.
  const LoraAdapter* adapter = nullptr;    // Must outlive the call. Null: no adapter.
  // True ends the search, like EngineOptions::cancel. Null: only EngineOptions::cancel ends the search.
  const std::atomic<bool>* cancel = nullptr;
  std::function<void(int step)> on_step = nullptr;   // Called after each step of all beams, with the steps so far.
};

// A text at the end of the search.
struct BeamText {
  std::vector<TokenId> tokens = {};        // In a cut text, the last token may continue after `text`.
  std::string text = {};
  FinishReason reason = FinishReason::kLength;   // Also for a text cut after BeamOptions::most_steps.
  double score = 0;                        // The score of the last step.
  double mean_log_probability = 0, self_certainty = 0;   // confidence.h
  std::vector<int> path = {};              // For each step the number of the expansion, from 0 on.
};

// A step that the search kept.
struct KeptStep {
  int step = 0;                            // Counts from 1.
  int beam = 0;                            // Counts from 1: first the continued beams, the best first; then the ended beams.
  int from = 0;                            // The beam of the previous step that this step continues; 0: the prompt.
  double score = 0;
  bool ended = false;
  std::string text = {};                   // The text of this step alone.
};

// The result of a search.
struct BeamTexts {
  // BeamSearch::results(): ended texts in the order of ending; without ended texts, the cut texts, the best first.
  std::vector<BeamText> texts = {};
  size_t best_index = 0;                   // BeamSearch::best().
  const BeamText& best() const { return texts[best_index]; }
  std::vector<KeptStep> kept = {};         // In order.
  int64_t steps = 0;                       // Written and scored steps, kept or not.
  int64_t shared_tokens = 0;               // Prompt tokens found in the cache.
  // The least number of passes of the search, independent of cache and pass times: the sum over the rounds of the longest step.
  int64_t least_passes = 0;
  // output_tokens counts the tokens of all steps. Until the first token is chosen, time counts as prompt time.
  Timings timings = {};
  double scoring_seconds = 0;              // Not in timings.
  StepperReport passes = {};
};

// Returns the stream of the `expansion`-th continuation of a step that drew from `stream`.
uint64_t StreamOfBeamStep(uint64_t stream, int expansion);

// Checks the options. WrongUsage names the field; field `beam` stands for too many rows, and for steps that cannot differ.
absl::Status CheckBeams(const BeamRunOptions& options);

// Checks the options like CheckBeams, and adds the search to memory plans: the logits of all rows, and cache room unless the cache size is
// given. The room is for a prompt of kUsualText tokens, `width` whole texts, and a step of each row, which share their prefixes. A search
// that needs more room waits (stepper.h), and computes preempted tokens again.
absl::Status PlanBeams(const BeamRunOptions& options, EngineOptions& engine);

// Runs a search. A score that is no number is below all other scores. REQUIRES: the engine's weights are loaded.
//
// Errors: the errors of CheckBeams. ResourceExhausted (limited by context) for a prompt that leaves no room. InvalidArgument for a prompt
// without tokens, or for an adapter of another model. The first error of a pass or of the scorer, with the step and the number of the text.
// Cancelled.
absl::StatusOr<BeamTexts> RunBeams(Engine& engine, absl::Span<const TokenId> prompt, Scorer& scorer, const BeamRunOptions& options);

}  // namespace tessera
