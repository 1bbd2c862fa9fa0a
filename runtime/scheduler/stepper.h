// Writes many texts at once: each step is one pass of the model for all of them, with chunks of prompts, plain rows and drafts together.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Stepper> stepper, Stepper::Create(*engine, {}));
//   for (const Question& question : questions) {
//     stepper->Submit({.prompt = question.tokens, .text = {.max_tokens = 64}, .on_end = [&](auto& answer) { Show(answer); }});
//   }
//   RETURN_IF_ERROR(stepper->Run());                             // or Step() after Step(), while there is something to do
//
// Each text is what it would be alone: tokens, adapter and weights decide its bits, and nothing else (docs/streams.md). A text that does
// not fit into the cache beside the others waits; if texts fill it together, the youngest gives up its positions and computes them again
// later. A text that fits alone never fails; one that finds no room beside other sessions of the engine is ResourceExhausted. What a pass
// costs is shared out by what each text adds to it. Where prefill and decode graphs change places (graph_motion.h), a text that is there
// alone moves them while its prompt is read; texts together keep decode graphs.
//
// Threads: Submit, Fork and Cancel from any; the rest, and all callbacks, on the thread that drives Step. Callbacks may submit, fork,
// cancel and use sessions of the engine, but for a pass within on_token and on_text: the texts' own pass is under way.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/base/clock.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/stream.h"
#include "tessera/spec/costs/cost_profile.h"

namespace tessera {

struct StepperOptions {
  // What passes take, learnt on the way: the profile of the streams' speculators. Must outlive the stepper. Null: the stepper's own.
  CostProfile* costs = nullptr;
  // For MeasureCosts before the first pass, unless the costs are known: sharing rows out needs them. 0, or a call that fails: they are
  // learnt on the way.
  double measure_seconds = 0;
  int most_texts = 64;         // In a pass; more wait.
  // While texts are written, a pass with chunks of prompts takes at most so many times what it takes without.
  double most_gap = 2;
  // What ended texts leave in the cache serves texts that begin alike, until room is wanted. What texts have that are being written serves
  // them in any case.
  bool keeps_prefixes = true;
  const Clock* clock = nullptr;  // What passes are timed by. Null: the engine's. Must outlive the stepper.
};

// What a stepper did so far.
struct StepperReport {
  int64_t passes = 0;
  int64_t rows = 0;            // In all passes.
  int64_t prompt_rows = 0;     // Tokens of prompts among them, and of texts that were computed again.
  int64_t shared_tokens = 0;   // Tokens of prompts that were in the cache already.
  int64_t preempted = 0;        // How often a text gave up its positions for others.
  int64_t waited = 0;          // Texts that found no room at once.
  int64_t most_texts = 0;      // In one pass.
};

class Stepper {
 public:
  // WrongUsage (the field) for a number of the options that is below what works, FailedPrecondition if the weights are not loaded,
  // ResourceExhausted where memory ends. The stepper keeps alive what it needs of the engine.
  static absl::StatusOr<std::unique_ptr<Stepper>> Create(Engine& engine, const StepperOptions& options);
  // Texts that have not ended are dropped without a word.
  ~Stepper();

  // A text to be written. What is wrong with it is told to its on_end, in a later Step.
  StreamId Submit(StreamOptions options);
  // A text that goes on from all that `stream` is when the next Step begins: its prompt and what it has written, then options.prompt, which
  // may be empty. What the cache has of that is shared. If that text has ended by then, on_end is told NotFound.
  StreamId Fork(StreamId stream, StreamOptions options);
  // Ends a text with kCancelled before the next pass; a pass of which all texts are cancelled stops at its next block. Nothing happens if
  // it has ended.
  void Cancel(StreamId stream);

  // One pass, with all that comes before and after it; or, where the readers of all texts are behind, a wait of some milliseconds for one
  // of them. Other threads' calls on this engine are waited for. False: there was nothing to do. The error of a pass ends the texts that
  // had rows in it, by their on_end; the stepper goes on. Errors: ResourceExhausted where memory ends (session.h), FailedPrecondition
  // within a callback of this stepper's texts, and within a pass of another stepper or session.
  absl::StatusOr<bool> Step();
  // Step until there is nothing to do.
  absl::Status Run();

  const StepperReport& report() const;

 private:
  class Impl;
  explicit Stepper(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
