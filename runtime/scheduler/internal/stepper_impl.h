// The state of a Stepper: who waits, who is written, and what a step does.
//
//   Stepper::Impl impl(core, options);
//   impl.Submit(std::move(options));
//   ASSIGN_OR_RETURN(const bool more, impl.Step());
//
// A step, in order: new texts and cancelled ones are taken up, waiting ones admitted (stepper.cc); rows are shared out (step_plan.h), room
// is made for them; one pass computes them (stream_pass.h), and texts that are done end (stepper_pass.cc).
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
  // empty: a session, to measure costs with.
  Impl(std::shared_ptr<EngineCore> core, std::unique_ptr<Session> empty, const StepperOptions& options);
  ~Impl();

  StreamId Submit(StreamOptions options, std::optional<StreamId> fork_of = std::nullopt);
  void Cancel(StreamId stream);
  absl::StatusOr<bool> Step();
  const StepperReport& report() const { return report_; }

 private:
  // A text that has not ended.
  struct Text {
    StreamId id = 0;
    PrefixIndex::AdapterKey adapter = 0;
    std::unique_ptr<Stream> stream;
  };

  absl::Status MeasureCostsOnce();
  absl::StatusOr<bool> StepHeld();
  // Calls what is the caller's, which may use other sessions of the engine.
  template <typename Call>
  void Unheld(Call call) {
    hold_->unlock();
    call();
    hold_->lock();
  }
  void DropOutput(const Text& text);   // Tells who reads that there is no more.
  void TakeUp(std::vector<Submitted> submitted);
  absl::StatusOr<std::unique_ptr<Stream>> MakeStream(Submitted& submitted);
  void EndCancelled(const absl::flat_hash_set<StreamId>& cancelled);
  void Admit();
  void Start(Text text);
  bool HasRoomFor(const Text& text) const;
  bool AllPaused() const;              // By those who read.
  struct Prefix { const CachedText* text = nullptr; int length = 0; };
  // What texts that are being written have in the cache of this one, but for its last token; the longest first.
  std::vector<Prefix> RunningPrefixes(const Text& text) const;
  int LongestRunning(const Text& text) const;
  bool AwaitsPrefix(const Text& text) const;
  std::unique_ptr<CachedText> TakePrefix(const Text& text);
  // Makes room in the cache for the plan, or makes the plan smaller. False: texts have changed, so a new plan is due.
  bool MakeRoom(StepPlan& plan);
  // Those whose readers are behind come before others, and lose their turn.
  void PreemptYoungest();
  bool PreemptPaused();   // False: there is none.
  void Preempt(std::vector<Text>::iterator text, bool keeps_turn);
  // Ends the text that is written alone, and yet finds no room.
  void EndWithoutRoom();
  std::vector<Stream*> Streams() const;
  // The error is the core's health: then nothing is to be done any more.
  absl::Status RunPlan(const StepPlan& plan);
  // Where prefill and decode graphs change places (graph_motion.h): a text that is there alone moves them while its prompt is read, as it
  // would in a session. Texts together keep decode graphs: what one of them reads is cut for these.
  absl::Status MoveGraphs(const StepPlan& plan);
  void EndIfDone(Text& text, const absl::Status& status);
  // Calls its on_end.
  void End(Text& text, const absl::Status& status);
  void RemoveEnded();   // And keeps what they leave in the cache.

  const std::shared_ptr<EngineCore> core_;
  const StepperOptions options_;
  std::unique_ptr<Session> unmeasured_;       // Null: costs were measured, if they are to be.
  CostProfile own_costs_;
  CostProfile& costs_;
  Submissions submissions_;
  const std::shared_ptr<News> news_ = std::make_shared<News>();
  bool all_paused_ = false;                   // By those who read: the step had nothing to compute.
  std::deque<Text> waiting_;                  // In the order of their turn.
  std::vector<Text> running_;                 // The oldest first.
  std::vector<Text> ended_;                   // In this step. What callers gave them ends when the core is not held: it may be sessions.
  std::vector<StreamOptions> refused_;        // Likewise.
  bool awaits_end_ = false;                   // A text was set back, and none has ended since: nobody is let in.
  std::optional<StreamId> moving_;            // The text whose prompt moves graphs.
  StreamPass pass_;
  EngineCore::Hold* hold_ = nullptr;          // During a step: the core is held.
  StepperReport report_;
};

}  // namespace tessera
