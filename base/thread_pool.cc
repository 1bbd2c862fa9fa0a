#include "tessera/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/elapsed.h"
#include "tessera/base/process_forks.h"

// The protocol of the threads. The numbers are the numbers in the code.
//
//  1. `generation` counts Runs. Only the caller changes `generation`, and only when every worker has finished the last Run. A worker whose
//     last served number differs from `generation` has exactly one body to run.
//  2. `body` and `stop` are written before the store of `generation` and read after its load. Release and acquire on `generation` make
//     `body` and `stop` visible, together with everything that the caller wrote before Run.
//  3. `unfinished` is set to the number of workers before `generation` moves, so no worker of this Run can have counted down yet: the
//     relaxed store is ordered by 2. Each worker counts down with release, and the caller waits for 0 with acquire. The countdowns form
//     one release sequence, so the caller sees the writes of every worker, and `body` may be reused.
//  4. Sleeping. A worker adds itself to `sleepers` and then reads `generation`; the caller moves `generation` and then reads `sleepers`.
//     All four operations are sequentially consistent, so at least one side sees the other's write (Dekker): either the worker does not
//     sleep, or the caller notifies. The worker does both under `mutex`, and the caller takes `mutex` before notifying, so the notice
//     cannot fall between the worker's read and the worker's wait.
//  5. Barrier. `phase` moves only when all workers have arrived, so a worker that reads `phase` before arriving reads the current phase. A
//     relaxed load cannot be too new (the worker has not arrived) nor too old (the worker acquired this value when it left the previous
//     barrier, or through 2).
//  6. Arriving is acquire and release, so the last worker to arrive has seen the writes of all others. The last worker's release store of
//     `phase` passes these writes on; the others acquire `phase`. `arrived` is reset before that store, and no worker arrives again before
//     having seen the store: relaxed is enough.

namespace tessera {
namespace {

using SteadyClock = std::chrono::steady_clock;   // Real time, because threads spin and sleep in real time.

// The time that a worker spins before sleeping. Longer than the time in which one thread drafts and chooses between two passes, since
// waking the others takes tens of microseconds.
constexpr std::chrono::nanoseconds kSpin = std::chrono::microseconds(400);
constexpr std::chrono::nanoseconds kShareCpu = std::chrono::microseconds(50);   // Before a waiting thread begins to yield,
constexpr std::chrono::nanoseconds kShareCrowded = std::chrono::microseconds(2);  // or where two threads were seen on one CPU.
constexpr std::chrono::nanoseconds kNoLimit = std::chrono::nanoseconds::max();
constexpr int kPausesPerLook = 16;                                              // A look at the clock costs as much as one pause.
constexpr int kCacheLine = 64;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// The time that this thread has spent at counted barriers of any pool.
thread_local int64_t barrier_nanos = 0;

// By a clock that was given in, which may be set back.
int64_t Since(int64_t begin, const Clock& clock) { return ElapsedNanos(begin, clock.NowNanos()); }

// Waits until `ready` or until `limit` has passed; returns ready(). At first only spins, for the lowest latency. After `share_cpu` yields
// between looks: the awaited thread may need this very CPU.
template <typename Ready>
bool SpinUntil(Ready ready, std::chrono::nanoseconds share_cpu, std::chrono::nanoseconds limit) {
  for (int i = 0; i < kPausesPerLook; ++i) {
    if (ready()) return true;
    Pause();
  }
  const SteadyClock::time_point begin = SteadyClock::now();
  while (true) {
    for (int i = 0; i < kPausesPerLook; ++i) {
      if (ready()) return true;
      Pause();
    }
    const std::chrono::nanoseconds waited = SteadyClock::now() - begin;
    const bool is_back = waited < std::chrono::nanoseconds::zero();   // Such a clock never comes to the limit.
    if (waited >= limit || (is_back && limit != kNoLimit)) return ready();
    if (waited >= share_cpu || is_back) std::this_thread::yield();
  }
}

}  // namespace

struct ThreadPool::State {
  explicit State(int threads);
  ~State();

  // Written by the caller before a Run, read by all workers during the Run.
  int threads;
  const absl::FunctionRef<void(int)>* body = nullptr;
  bool stop = false;
  const Clock* clock = nullptr;                // The clock that measures times; null while no times are counted.
  int64_t run_nanos = 0;                       // The caller's alone.
  std::string shortage;
  const int64_t made_in = ForksSoFar();
  const std::string lost;                      // The shortage in a process that was forked since: its caller is the only thread.
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;

  // Each on a line of its own, so that a thread spinning on one is not disturbed by stores to another.
  alignas(kCacheLine) std::atomic<uint64_t> generation{0};
  alignas(kCacheLine) std::atomic<int> unfinished{0};
  alignas(kCacheLine) std::atomic<int> arrived{0};
  alignas(kCacheLine) std::atomic<uint64_t> phase{0};
  alignas(kCacheLine) std::atomic<int> sleepers{0};
  alignas(kCacheLine) std::atomic<bool> running{false};
  alignas(kCacheLine) std::atomic<int64_t> working_nanos{0};
  // The CPU on which each worker began its last body, and whether two workers began on the same CPU. The latter happens with few CPUs or
  // with other busy processes. Then spinning delays the very thread that is awaited. Both are guesses: relaxed, and stored only on change.
  alignas(kCacheLine) std::array<std::atomic<int>, kMaxThreads> cpu_of;
  std::atomic<bool> crowded{false};

  // Returns true if the workers are threads of the process that this process was forked from.
  bool IsLost() const { return !workers.empty() && ForksSoFar() != made_in; }
  void Publish();
  void AwaitGenerationAfter(uint64_t seen);
  void LookForCrowding();
  template <typename Ready>
  bool Await(Ready ready, std::chrono::nanoseconds limit) const;
  void Serve(int worker);
  void Work(int worker);
  void BeAlone();
  void RunOnAll();
  uint64_t Arrive();
  void AwaitOthers(uint64_t arrival);
};

// Makes every worker run `body` or obey `stop` (2, 4).
void ThreadPool::State::Publish() {
  generation.store(generation.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) == 0) return;
  { std::lock_guard<std::mutex> lock(mutex); }
  wake.notify_all();
}

void ThreadPool::State::AwaitGenerationAfter(uint64_t seen) {
  const auto moved = [&] { return generation.load(std::memory_order_acquire) != seen; };
  if (Await(moved, kSpin)) return;
  std::unique_lock<std::mutex> lock(mutex);
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  wake.wait(lock, [&] { return generation.load(std::memory_order_seq_cst) != seen; });
  sleepers.fetch_sub(1, std::memory_order_relaxed);  // A count that is too large for a moment costs at most one needless notice.
}

void ThreadPool::State::LookForCrowding() {
  std::bitset<CPU_SETSIZE> taken;
  bool found = false;
  for (int worker = 0; worker < threads; ++worker) {
    const int cpu = cpu_of[worker].load(std::memory_order_relaxed);
    if (cpu < 0 || cpu >= CPU_SETSIZE) continue;
    found = found || taken.test(cpu);
    taken.set(cpu);
  }
  if (found != crowded.load(std::memory_order_relaxed)) crowded.store(found, std::memory_order_relaxed);
}

template <typename Ready>
bool ThreadPool::State::Await(Ready ready, std::chrono::nanoseconds limit) const {
  return SpinUntil(ready, crowded.load(std::memory_order_relaxed) ? kShareCrowded : kShareCpu, limit);
}

// Runs the body once.
void ThreadPool::State::Serve(int worker) {
  const int cpu = sched_getcpu();
  if (cpu != cpu_of[worker].load(std::memory_order_relaxed)) cpu_of[worker].store(cpu, std::memory_order_relaxed);
  if (clock == nullptr) return (*body)(worker);
  const int64_t begin = clock->NowNanos(), barriers_before = barrier_nanos;
  (*body)(worker);
  const int64_t working = Since(begin, *clock) - (barrier_nanos - barriers_before);
  working_nanos.fetch_add(std::max<int64_t>(working, 0), std::memory_order_relaxed);  // Seen by the caller through (3).
}

void ThreadPool::State::Work(int worker) {
  for (uint64_t served = 0;; ++served) {
    AwaitGenerationAfter(served);
    if (stop) return;
    Serve(worker);
    unfinished.fetch_sub(1, std::memory_order_release);  // (3)
  }
}

ThreadPool::State::State(int threads)
    : threads(threads), lost(absl::StrCat("only 1 of ", threads, " threads is there: this process was forked after they were started")) {
  CHECK(threads >= 1 && threads <= kMaxThreads) << "threads: found " << threads << ", expected 1 to " << kMaxThreads;
  for (std::atomic<int>& cpu : cpu_of) cpu.store(-1, std::memory_order_relaxed);
  workers.reserve(threads - 1);
  try {  // The standard library's only way to say that the system has no thread to give (memory, a limit on processes).
    for (int worker = 1; worker < threads; ++worker) workers.emplace_back([this, worker] { Work(worker); });
  } catch (const std::exception& error) {
    this->threads = static_cast<int>(workers.size()) + 1;  // No worker reads `threads` before the first Run (2).
    shortage = absl::StrCat("only ", this->threads, " of ", threads, " threads could be started: ", error.what());
  }
}

ThreadPool::State::~State() {
  CHECK(!running.load()) << "pool destroyed or resized inside a Run";
  stop = true;
  Publish();
  for (std::thread& worker : workers) worker.join();
}

// In a process that was forked: also if that was within a Run of another thread.
void ThreadPool::State::BeAlone() {
  if (threads == 1) return;
  threads = 1;
  running.store(false, std::memory_order_relaxed);
}

void ThreadPool::State::RunOnAll() {
  if (threads == 1) return Serve(0);
  LookForCrowding();
  unfinished.store(threads - 1, std::memory_order_relaxed);  // (3)
  Publish();
  Serve(0);
  const auto done = [&] { return unfinished.load(std::memory_order_acquire) == 0; };
  Await(done, kNoLimit);
}

uint64_t ThreadPool::State::Arrive() {
  const uint64_t seen = phase.load(std::memory_order_relaxed);               // (5)
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {      // (6)
    arrived.store(0, std::memory_order_relaxed);
    phase.store(seen + 1, std::memory_order_release);
  }
  return seen;
}

void ThreadPool::State::AwaitOthers(uint64_t arrival) {
  const auto moved = [&] { return phase.load(std::memory_order_acquire) != arrival; };
  Await(moved, kNoLimit);
}

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>(threads)) {}

// Lost workers cannot be joined, and a condition variable with waiting lost workers cannot be destroyed: both calls would wait forever.
ThreadPool::~ThreadPool() {
  if (state_->IsLost()) state_.release();
}

void ThreadPool::Resize(int threads) {
  if (state_->IsLost()) state_.release();
  state_ = nullptr;  // Ends the old threads first: there may be no room for old and new threads.
  state_ = std::make_unique<State>(threads);
}

int ThreadPool::threads() const { return state_->IsLost() ? 1 : state_->threads; }
const std::string& ThreadPool::shortage() const { return state_->IsLost() ? state_->lost : state_->shortage; }

void ThreadPool::Run(absl::FunctionRef<void(int worker)> body) {
  State& state = *state_;
  if (state.IsLost()) state.BeAlone();
  CHECK(!state.running.exchange(true, std::memory_order_acquire)) << "Run inside a Run, or from two threads";
  state.body = &body;
  if (state.clock != nullptr) {
    const int64_t begin = state.clock->NowNanos();
    state.RunOnAll();
    state.run_nanos += Since(begin, *state.clock);
  } else {
    state.RunOnAll();
  }
  state.running.store(false, std::memory_order_release);
}

void ThreadPool::Barrier() { AwaitOthers(Arrive()); }

uint64_t ThreadPool::Arrive() { return state_->threads == 1 ? 0 : state_->Arrive(); }

void ThreadPool::AwaitOthers(uint64_t arrival) {
  State& state = *state_;
  if (state.threads == 1) return;
  if (state.clock == nullptr) return state.AwaitOthers(arrival);
  const int64_t begin = state.clock->NowNanos();
  state.AwaitOthers(arrival);
  barrier_nanos += Since(begin, *state.clock);
}

void ThreadPool::CountTimes(bool on, const Clock& clock) {
  State& state = *state_;
  if (state.IsLost()) state.BeAlone();
  CHECK(!state.running.load()) << "CountTimes inside a Run";
  state.clock = on ? &clock : nullptr;
  state.run_nanos = 0;
  state.working_nanos.store(0, std::memory_order_relaxed);
}

ThreadPool::Times ThreadPool::times() const { return {state_->run_nanos, state_->working_nanos.load(std::memory_order_relaxed)}; }

}  // namespace tessera
