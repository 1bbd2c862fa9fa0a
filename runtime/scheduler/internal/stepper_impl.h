// The state of a Stepper: the waiting requests, the running requests, and the parts of a step.
//
//   Stepper::Impl impl(core, options);
//   impl.Submit(std::move(options));
//   ASSIGN_OR_RETURN(const bool more, impl.Step());
//
// A step takes up new requests, ends cancelled requests and admits waiting requests (stepper.cc). Then the step shares out rows
// (step_plan.h) and makes room for the rows. One pass computes the rows (stream_pass.h). Finally, finished requests end (stepper_pass.cc).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/runtime/engine/prefix_index.h"
#include "tessera/runtime/scheduler/internal/news.h"
#include "tessera/runtime/scheduler/internal/step_plan.h"
#include "tessera/runtime/scheduler/internal/stream_pass.h"
#include "tessera/runtime/scheduler/internal/submissions.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/runtime/scheduler/stream.h"
#include "tessera/runtime/session/session.h"

namespace tessera {

class Stepper::Impl {
 public:
  // Creates a scheduler on `core`. empty: an empty session, for measuring costs.
  Impl(std::shared_ptr<EngineCore> core, std::unique_ptr<Session> empty, const StepperOptions& options);
  ~Impl();

  StreamId Submit(StreamOptions options, std::optional<StreamId> fork_of = std::nullopt);
  void Cancel(StreamId stream);
  absl::StatusOr<bool> Step();
  const StepperReport& report() const { return report_; }

 private:
  // A request that has not ended.
  struct Text {
    StreamId id = 0;
    PrefixIndex::AdapterKey adapter = 0;
    std::unique_ptr<Stream> stream;
  };

  absl::Status MeasureCostsOnce();
  absl::StatusOr<bool> StepHeld();
  // Calls code of the caller while the core is not held. The code may use other sessions of the engine.
  template <typename Call>
  void Unheld(Call call) {
    hold_->unlock();
    call();
    hold_->lock();
  }
  void DropOutput(const Text& text);   // Tells the reader that no text follows.
  void TakeUp(std::vector<Submitted> submitted);
  absl::StatusOr<std::unique_ptr<Stream>> MakeStream(Submitted& submitted);
  void EndCancelled(const absl::flat_hash_set<StreamId>& cancelled);
  void Admit();
  void Start(Text text);
  bool HasRoomFor(const Text& text) const;
  bool AllPaused() const;              // Whether every reader is behind.
  struct Prefix { const CachedText* text = nullptr; int length = 0; };
  // Returns the cached prefixes that running requests share with this request, the longest first. A prefix excludes the request's last
  // token.
  std::vector<Prefix> RunningPrefixes(const Text& text) const;
  int LongestRunning(const Text& text) const;
  bool AwaitsPrefix(const Text& text) const;
  std::unique_ptr<CachedText> TakePrefix(const Text& text);
  // Makes room in the cache for the plan, or shrinks the plan. Returns false if the running requests have changed, so that a new plan is
  // due.
  bool MakeRoom(StepPlan& plan);
  // Preempts the youngest request. Requests with a reader that is behind come before others, and lose their turn.
  void PreemptYoungest();
  bool PreemptPaused();   // Returns false if no request is paused.
  void Preempt(std::vector<Text>::iterator text, bool keeps_turn);
  // Ends the only running request, which still finds no room.
  void EndWithoutRoom();
  std::vector<Stream*> Streams() const;
  // Runs one pass. A returned error is the core's health: after that error the scheduler can do nothing more.
  absl::Status RunPlan(const StepPlan& plan);
  // Moves graphs where prefill and decode graphs change places (graph_motion.h). A request that runs alone moves the graphs while its
  // prompt is read, as in a session. Several requests together keep decode graphs, so their prompts are cut into chunks for decode graphs.
  absl::Status MoveGraphs(const StepPlan& plan);
  void EndIfDone(Text& text, const absl::Status& status);
  // Ends the request's stream, which calls on_end.
  void End(Text& text, const absl::Status& status);
  void RemoveEnded();   // Keeps the cache entries of ended requests as prefixes.

  const std::shared_ptr<EngineCore> core_;
  const StepperOptions options_;
  std::unique_ptr<Session> unmeasured_;       // Null: costs were measured, if wanted.
  CostProfile own_costs_;
  CostProfile& costs_;
  Submissions submissions_;
  const std::shared_ptr<News> news_ = std::make_shared<News>();
  bool all_paused_ = false;                   // By slow readers: the step had nothing to compute.
  std::deque<Text> waiting_;                  // In the order of turns.
  std::vector<Text> running_;                 // The oldest first.
  // Ended in this step. Destroyed when the core is not held, since the caller's callbacks may own sessions.
  std::vector<Text> ended_;
  std::vector<StreamOptions> refused_;        // Destroyed likewise.
  bool awaits_end_ = false;                   // A request was preempted, and none has ended since: no request is admitted.
  std::optional<StreamId> moving_;            // The request whose prompt moves graphs.
  StreamPass pass_;
  EngineCore::Hold* hold_ = nullptr;          // During a step: the lock that holds the core.
  StepperReport report_;
};

}  // namespace tessera
