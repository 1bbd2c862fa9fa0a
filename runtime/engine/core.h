// What an engine and its sessions share, for code that lays out rows itself: benchmarks, tests, and the parts of this library.
//
//   EngineCore& core = CoreOf(*engine);                                  // or of a session
//   ASSIGN_OR_RETURN(const EngineCore::Hold hold, core.TryHold());
//   RETURN_IF_ERROR(core.cache().MakeRoom(1));
//   ASSIGN_OR_RETURN(Pass pass, core.Begin(rows, /*cancel=*/nullptr));    // to be walked, or
//   ASSIGN_OR_RETURN(const HiddenRows done, pass.FinishAll());
//
// Programs that only write text need Engine and Session. The core lives until the engine and all its sessions are gone.
// Threads: one at a time, but for what says otherwise. Sessions hold the core while they work on it: of two calls at once from two threads
// the second is refused (TryHold).
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/process_forks.h"
#include "tessera/base/sha256.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/timeline.h"
#include "tessera/model/kv_cache.h"
#include "tessera/model/pass_runner.h"
#include "tessera/model/reading_device.h"
#include "tessera/npu/device.h"
#include "tessera/runtime/engine/loaded_model.h"
#include "tessera/runtime/engine/memory_planner.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/runtime/engine/prefix_index.h"
#include "tessera/storage/weight_source.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

class Engine;
class ModelSum;
class Session;

class EngineCore {
 public:
  // As Engine::Open.
  static absl::StatusOr<std::shared_ptr<EngineCore>> Open(const EngineOptions& options, ModelFile::Weights weights);
  ~EngineCore();
  // As Engine::LoadWeights.
  absl::Status LoadWeights();
  bool is_loaded() const { return cache_ != nullptr; }

  const EngineOptions& options() const { return options_; }
  const LoadedModel& model() const { return *model_; }
  const MemoryPlanner& planner() const { return *planner_; }
  int context() const { return context_; }
  int wanted_context() const { return wanted_context_; }   // As Engine has it.
  Device& device() const { return reading_ != nullptr ? *reading_ : *device_; }
  ReadingDevice* reading() const { return reading_.get(); }   // The device, if its graphs hold weights; else null.
  ThreadPool& pool() const { return *pool_; }
  PassRunner& runner() const { return *runner_; }
  KvCache& cache() const { return *cache_; }  // REQUIRES: the weights are loaded.
  PrefixIndex& prefixes() { return prefixes_; }   // What ended texts left in the cache, until room is wanted.
  // As KvCache has them, after giving up as many prefixes as that takes, the least recently used first. REQUIRES: the core is held.
  int RoomFor(int most);
  absl::Status MakeRoom(int rows);
  Timeline* timeline() const { return timeline_; }
  // Records from the next pass on, or no longer (null).
  void SetTimeline(Timeline* timeline);

  bool compacts_drafts() const;   // What is kept of a draft: KvCache::Compact.

  // As Engine has them.
  EngineMemory memory() const;
  absl::StatusOr<BudgetPlan> ShrinkMemory(int64_t budget);  // From any thread.
  // Rows of logits that may be computed at once besides a session's own: Session::kLogitRows, or what a budget's plan has. At least 1.
  int logits_at_once() const { return logits_at_once_; }

  // Returns the SHA-256 that tells the model from others, whatever file it is in (internal/model_sum.h). It is computed once: by all
  // threads of the pool, but for what a thread beside them did since BeginModelIdentity. REQUIRES, for both: the weights are loaded, and
  // the caller holds the core.
  absl::StatusOr<Sha256Sum> ModelIdentity();
  void BeginModelIdentity();
  // What ModelIdentity took: weights that were summed, and the time that its caller waited.
  struct IdentityCost { int64_t bytes = 0; double waited_seconds = 0; };
  const IdentityCost& identity_cost() const { return identity_cost_; }

  // Keeps other threads' calls off passes and cache while it lives.
  using Hold = std::unique_lock<std::mutex>;
  // FailedPrecondition if another call holds the core, or its pass is under way. REQUIRES, as for AwaitHold: this thread does not hold it.
  absl::StatusOr<Hold> TryHold();
  // Waits instead, for calls that cannot fail. In a forked process nobody else is there to be waited for, or to give the core back.
  Hold AwaitHold() { return is_forked() ? Hold() : Hold(mutex_); }
  // Waits for other threads' calls and passes instead. FailedPrecondition within a pass of this very thread.
  absl::StatusOr<Hold> AwaitTurn();

  // While it lives, a pass is under way whose logits are needed, also where the core is not held for a moment: TryHold refuses others.
  // REQUIRES: the core is held when it begins and when it ends.
  class PassMark {
   public:
    explicit PassMark(EngineCore& core) : core_(core) { core_.pass_thread_ = std::this_thread::get_id(); }
    ~PassMark() {
      core_.pass_thread_ = {};
      core_.pass_ended_.notify_all();
    }
    PassMark(const PassMark&) = delete;
    PassMark& operator=(const PassMark&) = delete;

   private:
    EngineCore& core_;
  };

  // Returns what `body` does, a call that changes sessions or the cache. Where memory ends in it (std::bad_alloc), nobody knows what it
  // left half done: the call is ResourceExhausted, and so is each later one of this engine's sessions (TryHold says it). Nothing is
  // computed with them from then on.
  template <typename Body>
  auto Guarded(Body body) -> decltype(body()) {
    try {
      return body();
    } catch (const std::bad_alloc&) {
      is_lost_ = true;
      return out_of_memory_;
    }
  }
  // OkStatus, or that error; FailedPrecondition in a process that was forked after Open, which has none of the core's threads and not all
  // of its memory: nothing is computed there either.
  absl::Status health() const { return is_forked() ? Forked() : is_lost_ ? out_of_memory_ : absl::OkStatus(); }
  bool is_forked() const { return ForksSoFar() != made_in_; }

  // A pass, to be walked or finished at once. It ends at its next block if `cancel` is not null and true. REQUIRES: the caller holds the
  // core until then.
  absl::StatusOr<Pass> Begin(absl::Span<const PassRow> rows, const std::atomic<bool>* cancel);
  // Pass::Finish, by the graphs that switching has loaded where the options say so.
  absl::StatusOr<HiddenRows> Finish(Pass& pass, absl::Span<const int> wanted);
  absl::StatusOr<HiddenRows> FinishAll(Pass& pass);
  GraphMotion* motion() const { return motion_.get(); }   // Null: graphs are not switched.
  // Seconds that passes have waited so far for graphs that change places: no part of what passes cost. Where graphs stay, a wait for a load
  // is one of each pass, and none of these.
  double SwitchWaitSeconds() const { return motion_ == nullptr ? 0 : device().LoadWaitSeconds(); }
  // Switches from now on by these options and times of blocks, from prefill graphs of all blocks. Errors: those of GraphMotion.
  // REQUIRES: ComputeOptions::switching was given, no pass is under way.
  absl::Status SetSwitching(const SwitchingOptions& options, std::vector<SwitchTimes> times);
  // Most rows of a pass over a prompt: a chunk.
  int prompt_rows() const { return motion_ == nullptr ? runner_->row_capacity() : motion_->options().prefill_rows; }

 private:
  explicit EngineCore(const EngineOptions& options);
  static absl::Status Forked();
  absl::Status MakePool();
  // The device whose graphs hold weights, if the options ask for it.
  absl::Status MakeReadingDevice(const CompiledModel& compiled);
  // For passes of as many rows as are chosen, which it returns, without weights so far.
  absl::StatusOr<int> MakeRunner();
  absl::Status OfThisFile(const absl::Status& status) const;  // Its error, with the file named.
  int LongestPath() const { return context_ + options_.workload.reserved_slots; }   // A row's; fewer slots are of no use.
  int64_t GraphBytes() const;                                 // What the device computes in.
  std::optional<int64_t> HeldWeightBytes() const;             // As MemoryPlanner::Inputs::weights.
  std::optional<int64_t> ProcessBytes() const;                // As MemoryPlanner::Inputs::process, now.
  void MakePlanner(int rows, std::optional<int64_t> process);
  // Makes a context that was not asked for as small as a memory budget wants it: the largest multiple of 256 that there is room for.
  // Without room for any, the plan is that of the least context, and is refused. REQUIRES: the planner is made, for passes of `rows`.
  absl::Status FitContext(int rows);
  // Plans this context. Whether the budget has room for it.
  absl::StatusOr<bool> FitsWith(int context, int rows, std::optional<int64_t> process);
  // Positions of all texts together.
  static absl::StatusOr<int> CacheTokensOf(const EngineOptions& options, int context);
  absl::Status OpenWeights();
  // Gives about so many bytes of the cache back, as far as running texts and a context leave them: prefixes are given up for it.
  absl::Status ShrinkCache(int64_t bytes);
  // CPUs may have been given and taken since the last pass: an app goes to the background, a container is resized.
  void FollowCpus();

  const EngineOptions options_;
  Timeline* timeline_;
  int context_ = 0, wanted_context_ = 0;
  int cache_tokens_ = 0;    // Positions of all texts together.
  int threads_ = 0;         // Asked of own_pool_, which may have fewer.
  int logits_at_once_ = 0;
  std::unique_ptr<ThreadPool> own_pool_;      // Null: the pool was given.
  ThreadPool* pool_ = nullptr;
  std::unique_ptr<Device> device_;
  std::unique_ptr<WeightSource> no_weights_;  // The runner's, before there are any.
  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<ReadingDevice> reading_;    // Computes by device_, and reads model_'s file. Null: graphs hold no weights.
  std::unique_ptr<MemoryPlanner> planner_;
  std::mutex shrinking_;
  BudgetPlan plan_;                           // As carried out. Under shrinking_, once the weights are loaded.
  std::unique_ptr<KvCache> cache_;
  PrefixIndex prefixes_;
  std::unique_ptr<PassRunner> runner_;
  std::unique_ptr<GraphMotion> motion_;
  std::unique_ptr<ModelSum> model_sum_;       // From BeginModelIdentity to ModelIdentity. It reads model_.
  std::optional<Sha256Sum> identity_;         // Once it was asked for.
  IdentityCost identity_cost_;
  std::mutex mutex_;                          // What a Hold locks.
  std::thread::id pass_thread_;               // Under mutex_: whose pass is under way; none: {}.
  std::condition_variable pass_ended_;
  const int64_t made_in_ = ForksSoFar();
  std::atomic<bool> is_lost_{false};
  const absl::Status out_of_memory_;          // Made while there is memory.
};

EngineCore& CoreOf(const Engine& engine);
std::shared_ptr<EngineCore> SharedCoreOf(const Engine& engine);
EngineCore& CoreOf(const Session& session);

}  // namespace tessera
