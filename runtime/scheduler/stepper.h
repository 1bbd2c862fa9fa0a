// Schedules many requests at once. Each step runs one pass of the model over prompt chunks, plain rows and drafts of all requests.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Stepper> stepper, Stepper::Create(*engine, {}));
//   for (const Question& question : questions) {
//     stepper->Submit({.prompt = question.tokens, .text = {.max_tokens = 64}, .on_end = [&](auto& answer) { Show(answer); }});
//   }
//   RETURN_IF_ERROR(stepper->Run());                             // or Step() after Step(), while there is something to do
//
// Each request gets the sequence that the request would get alone: tokens, adapter and weights alone decide its bits (docs/streams.md). A
// request that does not fit into the cache next to the others waits. If requests fill the cache together, the youngest is preempted: the
// youngest request gives up its positions, which are computed again later. A request that fits alone never fails. A request that finds no
// room next to other sessions of the engine ends with ResourceExhausted.
//
// The cost of a pass is shared out by the cost that each request adds. Where prefill and decode graphs change places (graph_motion.h), a
// request that runs alone moves the graphs while its prompt is read. Several requests together keep decode graphs.
//
// Threads: any thread may call Submit, Fork and Cancel. The thread that drives Step makes all other calls and runs all callbacks. Callbacks
// may submit, fork, cancel and use sessions of the engine. Within on_token and on_text no pass may run, because the pass of the requests is
// under way.
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

// Options of a scheduler.
struct StepperOptions {
  // Costs of passes, learnt while requests run: the profile of the streams' speculators. Must outlive the scheduler. Null: the scheduler's
  // own profile.
  CostProfile* costs = nullptr;
  // Seconds for MeasureCosts before the first pass, unless the costs are known: sharing out rows needs costs. With 0, or if MeasureCosts
  // fails, the costs are learnt while requests run.
  double measure_seconds = 0;
  int most_texts = 64;         // Most requests in a pass; further requests wait.
  // While requests decode, a pass with prompt chunks takes at most most_gap times the time of a pass without chunks.
  double most_gap = 2;
  // True: the cache entries of ended requests serve requests with the same prefix, until the room is needed. Cache entries of running
  // requests are shared in any case.
  bool keeps_prefixes = true;
  const Clock* clock = nullptr;  // Times passes. Null: the engine's clock. Must outlive the scheduler.
};

// Counts a scheduler's work so far.
struct StepperReport {
  int64_t passes = 0;
  int64_t rows = 0;            // Rows of all passes.
  int64_t prompt_rows = 0;     // Rows among these for prompt tokens, and for sequences that were computed again.
  int64_t shared_tokens = 0;   // Prompt tokens found in the cache.
  int64_t preempted = 0;        // Preemptions: a request gave up its positions for others.
  int64_t waited = 0;          // Requests that found no room at once.
  int64_t most_texts = 0;      // Most requests in one pass.
};

// Runs requests of one engine, pass by pass.
class Stepper {
 public:
  // Creates a scheduler without requests. The scheduler keeps the needed parts of the engine alive. Errors: WrongUsage (the field) for a
  // number of the options that is too low to work with. FailedPrecondition if the weights are not loaded. ResourceExhausted if memory ends.
  static absl::StatusOr<std::unique_ptr<Stepper>> Create(Engine& engine, const StepperOptions& options);
  // Drops the requests that have not ended: no callback is called, and the output queues end.
  ~Stepper();

  // Adds a request. If the options are invalid, a later Step calls on_end with the error.
  StreamId Submit(StreamOptions options);
  // Adds a request that continues `stream`. Its prompt is the prompt of `stream` and all tokens generated when the next Step begins, then
  // options.prompt, which may be empty. Both requests share the cached tokens. If `stream` has ended by then, on_end is called with
  // NotFound.
  StreamId Fork(StreamId stream, StreamOptions options);
  // Ends a request with kCancelled before the next pass. A pass whose requests are all cancelled stops at its next block. Does nothing if
  // the request has ended.
  void Cancel(StreamId stream);

  // Runs one pass, with all work before and after the pass. If the readers of all requests are behind, waits some milliseconds for a reader
  // instead. Waits for other threads' calls on this engine. Returns false if there was nothing to do. An error of a pass ends the requests
  // with rows in that pass, through their on_end; the scheduler continues.
  //
  // Errors: ResourceExhausted if memory ends (session.h). FailedPrecondition within a callback of this scheduler's requests, and within a
  // pass of another scheduler or session.
  absl::StatusOr<bool> Step();
  // Calls Step until there is nothing to do.
  absl::Status Run();

  const StepperReport& report() const;

 private:
  class Impl;
  explicit Stepper(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
