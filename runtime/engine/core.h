// The state that an engine and its sessions share, for code that lays out rows itself: benchmarks, tests and other parts of this library.
//
//   EngineCore& core = CoreOf(*engine);                                  // or of a session
//   ASSIGN_OR_RETURN(const EngineCore::Hold hold, core.TryHold());
//   RETURN_IF_ERROR(core.cache().MakeRoom(1));
//   ASSIGN_OR_RETURN(Pass pass, core.Begin(rows, /*cancel=*/nullptr));    // to be walked, or
//   ASSIGN_OR_RETURN(const HiddenRows done, pass.FinishAll());
//
// Programs that only write text need Engine and Session.
// Lifetime: the core lives until the engine and all of the engine's sessions are gone.
// Threads: one at a time, unless stated otherwise. Sessions hold the core during each call. If two threads call at once, the second
// call is refused (TryHold).
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
  // Opens a model, like Engine::Open.
  static absl::StatusOr<std::shared_ptr<EngineCore>> Open(const EngineOptions& options, ModelFile::Weights weights);
  ~EngineCore();
  // Loads the weights, like Engine::LoadWeights.
  absl::Status LoadWeights();
  bool is_loaded() const { return cache_ != nullptr; }

  const EngineOptions& options() const { return options_; }
  const LoadedModel& model() const { return *model_; }
  const MemoryPlanner& planner() const { return *planner_; }
  int context() const { return context_; }
  int wanted_context() const { return wanted_context_; }   // Engine::wanted_context.
  Device& device() const { return reading_ != nullptr ? *reading_ : *device_; }
  ReadingDevice* reading() const { return reading_.get(); }   // The device if its graphs hold weights, else null.
  ThreadPool& pool() const { return *pool_; }
  PassRunner& runner() const { return *runner_; }
  KvCache& cache() const { return *cache_; }  // REQUIRES: the weights are loaded.
  PrefixIndex& prefixes() { return prefixes_; }   // Prefixes that ended sequences left in the cache, until room is wanted.
  // Like KvCache::RoomFor and MakeRoom, but first drop as many kept prefixes as needed, the least recently used first. REQUIRES: the core
  // is held.
  int RoomFor(int most);
  absl::Status MakeRoom(int rows);
  Timeline* timeline() const { return timeline_; }
  // Records from the next pass on. Null: records no longer.
  void SetTimeline(Timeline* timeline);

  bool compacts_drafts() const;   // Whether kept draft nodes are moved: KvCache::Compact.

  // Like the functions of Engine.
  EngineMemory memory() const;
  absl::StatusOr<BudgetPlan> ShrinkMemory(int64_t budget);  // From any thread.
  // Returns how many rows of logits may be computed at once besides a session's own row: Session::kLogitRows, or the number of a budget's
  // plan. At least 1.
  int logits_at_once() const { return logits_at_once_; }

  // Returns the SHA-256 that identifies the model, in any file format (internal/model_sum.h). The sum is computed once, on all threads of
  // the pool. BeginModelIdentity starts the sum on a separate thread, so that ModelIdentity computes only the rest. REQUIRES, for both: the
  // weights are loaded, and the caller holds the core.
  absl::StatusOr<Sha256Sum> ModelIdentity();
  void BeginModelIdentity();
  // The cost of ModelIdentity: the bytes of summed weights, and the seconds that the caller waited.
  struct IdentityCost { int64_t bytes = 0; double waited_seconds = 0; };
  const IdentityCost& identity_cost() const { return identity_cost_; }

  // Keeps other threads' calls off passes and cache while the hold lives.
  using Hold = std::unique_lock<std::mutex>;
  // Holds the core. FailedPrecondition if another call holds the core, or the other call's pass is under way. REQUIRES, also for AwaitHold:
  // this thread does not hold the core.
  absl::StatusOr<Hold> TryHold();
  // Waits for the core, for calls that cannot fail. In a forked process there is no other thread to wait for or to give the core back.
  Hold AwaitHold() { return is_forked() ? Hold() : Hold(mutex_); }
  // Waits for other threads' calls and passes. FailedPrecondition within a pass of this very thread.
  absl::StatusOr<Hold> AwaitTurn();

  // Marks a pass under way whose logits are needed. While the mark lives, TryHold refuses others, even in moments when nobody holds the
  // core. REQUIRES: the core is held when the mark begins and when the mark ends.
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

  // Returns the result of `body`, a call that changes sessions or the cache. If `body` throws std::bad_alloc, the state is undefined. This
  // call and all later calls on the engine's sessions return ResourceExhausted (TryHold reports the error). Nothing is computed with the
  // sessions from then on.
  template <typename Body>
  auto Guarded(Body body) -> decltype(body()) {
    try {
      return body();
    } catch (const std::bad_alloc&) {
      is_lost_ = true;
      return out_of_memory_;
    }
  }
  // Returns OkStatus, or the error of Guarded. FailedPrecondition in a process that was forked after Open: the process lacks the core's
  // threads and part of the core's memory, so nothing is computed there either.
  absl::Status health() const { return is_forked() ? Forked() : is_lost_ ? out_of_memory_ : absl::OkStatus(); }
  bool is_forked() const { return ForksSoFar() != made_in_; }

  // Begins a pass, to be walked or to be finished at once. The pass ends at its next block if `cancel` is not null and true. REQUIRES: the
  // caller holds the core until the pass ends.
  absl::StatusOr<Pass> Begin(absl::Span<const PassRow> rows, const std::atomic<bool>* cancel);
  // Calls Pass::Finish, with the graphs that switching has loaded if the options ask for switching.
  absl::StatusOr<HiddenRows> Finish(Pass& pass, absl::Span<const int> wanted);
  absl::StatusOr<HiddenRows> FinishAll(Pass& pass);
  GraphMotion* motion() const { return motion_.get(); }   // Null: graphs are not switched.
  // Returns the seconds that passes have waited so far for graphs that change places. The time is no part of a pass's cost. If graphs are
  // not switched, the result is 0: a wait for a load then belongs to the pass.
  double SwitchWaitSeconds() const { return motion_ == nullptr ? 0 : device().LoadWaitSeconds(); }
  // Switches from now on with these options and block times, starting from the prefill graphs of all blocks. Errors: GraphMotion's.
  // REQUIRES: ComputeOptions::switching was given; no pass is under way.
  absl::Status SetSwitching(const SwitchingOptions& options, std::vector<SwitchTimes> times);
  // Returns the most rows of a pass over a prompt: a chunk.
  int prompt_rows() const { return motion_ == nullptr ? runner_->row_capacity() : motion_->options().prefill_rows; }

 private:
  explicit EngineCore(const EngineOptions& options);
  static absl::Status Forked();
  absl::Status MakePool();
  // Makes the device whose graphs hold weights, if the options ask for one.
  absl::Status MakeReadingDevice(const CompiledModel& compiled);
  // Makes the runner, without weights so far. Returns the chosen number of rows per pass.
  absl::StatusOr<int> MakeRunner();
  absl::Status OfThisFile(const absl::Status& status) const;  // Adds the file's name to an error.
  int LongestPath() const { return context_ + options_.workload.reserved_slots; }   // Most slots that a row sees; the cache needs as many.
  int64_t GraphBytes() const;                                 // Scratch memory of the device.
  std::optional<int64_t> HeldWeightBytes() const;             // MemoryPlanner::Inputs::weights.
  std::optional<int64_t> ProcessBytes() const;                // MemoryPlanner::Inputs::process, now.
  void MakePlanner(int rows, std::optional<int64_t> process);
  // Shrinks a default context to the memory budget: to the largest multiple of 256 that fits. If none fits, plans the least context, which
  // is then refused. REQUIRES: the planner is made, for passes of `rows`.
  absl::Status FitContext(int rows);
  // Plans this context. Returns whether the budget has room for the context.
  absl::StatusOr<bool> FitsWith(int context, int rows, std::optional<int64_t> process);
  // Returns the positions of all sequences together.
  static absl::StatusOr<int> CacheTokensOf(const EngineOptions& options, int context);
  absl::Status OpenWeights();
  // Gives back about `bytes` of the cache by dropping kept prefixes. Running sequences and room for one context stay.
  absl::Status ShrinkCache(int64_t bytes);
  // Adapts the pool to the CPUs, which may have changed since the last pass: an app goes to the background, a container is resized.
  void FollowCpus();

  const EngineOptions options_;
  Timeline* timeline_;
  int context_ = 0, wanted_context_ = 0;
  int cache_tokens_ = 0;    // Positions of all sequences together.
  int threads_ = 0;         // Requested of own_pool_, which may have fewer.
  int logits_at_once_ = 0;
  std::unique_ptr<ThreadPool> own_pool_;      // Null: the pool was given.
  ThreadPool* pool_ = nullptr;
  std::unique_ptr<Device> device_;
  std::unique_ptr<WeightSource> no_weights_;  // The runner's, before weights are loaded.
  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<ReadingDevice> reading_;    // Computes with device_ and reads model_'s file. Null: graphs hold no weights.
  std::unique_ptr<MemoryPlanner> planner_;
  std::mutex shrinking_;
  BudgetPlan plan_;                           // The plan as carried out. Under shrinking_, once the weights are loaded.
  std::unique_ptr<KvCache> cache_;
  PrefixIndex prefixes_;
  std::unique_ptr<PassRunner> runner_;
  std::unique_ptr<GraphMotion> motion_;
  std::unique_ptr<ModelSum> model_sum_;       // From BeginModelIdentity to ModelIdentity. Reads model_.
  std::optional<Sha256Sum> identity_;         // Set by the first ModelIdentity.
  IdentityCost identity_cost_;
  std::mutex mutex_;                          // Locked by a Hold.
  std::thread::id pass_thread_;               // Under mutex_: the thread whose pass is under way; none: {}.
  std::condition_variable pass_ended_;
  const int64_t made_in_ = ForksSoFar();
  std::atomic<bool> is_lost_{false};
  const absl::Status out_of_memory_;          // Made while there is memory.
};

EngineCore& CoreOf(const Engine& engine);
std::shared_ptr<EngineCore> SharedCoreOf(const Engine& engine);
EngineCore& CoreOf(const Session& session);

}  // namespace tessera
