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

// How the threads agree. The numbers are those in the code.
//
//  1. `generation` counts Runs; the caller alone changes it, and only when every worker has finished the last one. A worker that
//     sees it differ from the number it last served has exactly one body to run.
//  2. `body` and `stop` are written before `generation` is stored and read after it is loaded. Release and acquire on
//     `generation` make them visible, and with them all the caller wrote before Run.
//  3. `unfinished` is set to the number of workers before `generation` moves, so no worker of this Run can have counted down
//     yet: the relaxed store is ordered by 2. Each worker counts down with release, the caller waits for 0 with acquire; the
//     countdowns form one release sequence, so the caller sees what every worker wrote, and `body` may be reused.
//  4. Sleeping. A worker adds itself to `sleepers` and then looks at `generation`; the caller moves `generation` and then looks
//     at `sleepers`. All four are sequentially consistent, so at least one sees the other's (Dekker): either the worker does
//     not sleep, or the caller notifies. The worker does both under `mutex`, and the caller takes `mutex` before it notifies, so
//     the notice cannot fall between the worker's look and its wait.
//  5. Barrier. `phase` moves only when all have arrived, so what a worker reads before it arrives is the current phase: a
//     relaxed load cannot be too new (it has not arrived) nor too old (it has acquired this value when it left the barrier
//     before, or through 2).
//  6. Arriving is acquire and release, so the last to arrive has seen what all others wrote; it hands that on with its release
//     store of `phase`, which the others acquire. `arrived` is reset before that store, and nobody arrives again before having
//     seen it: relaxed is enough.

namespace tessera {
namespace {

using SteadyClock = std::chrono::steady_clock;   // Real time: in it threads spin, and sleep.

// How long a worker spins before it sleeps: longer than one thread takes to draft and choose between two passes, since waking the others
// takes tens of microseconds.
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

// Waits until `ready` or until `limit` has passed; returns ready(). At first it only spins, for the lowest latency. After
// `share_cpu` it yields between looks: the thread it waits for may need this very CPU.
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

  // Written by the caller before a Run, read by all in it.
  int threads;
  const absl::FunctionRef<void(int)>* body = nullptr;
  bool stop = false;
  const Clock* clock = nullptr;                // That counts times; null while none are counted.
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
  // The CPU on which each worker began its last body, and whether two began on the same one, because there are fewer CPUs or other
  // processes use them. Then spinning delays the very thread that is waited for. These are guesses: relaxed, and stored only when they
  // change.
  alignas(kCacheLine) std::array<std::atomic<int>, kMaxThreads> cpu_of;
  std::atomic<bool> crowded{false};

  // Whether the workers are threads of the process that this one was forked of.
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

// Starts on every worker what `body` or `stop` says (2, 4).
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
  sleepers.fetch_sub(1, std::memory_order_relaxed);  // If it is too large for a moment, that costs one needless notice at most.
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
    this->threads = static_cast<int>(workers.size()) + 1;  // No worker looks at it before the first Run (2).
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

// Lost workers cannot be joined, and a condition variable for which they wait cannot be destroyed: both would wait for them.
ThreadPool::~ThreadPool() {
  if (state_->IsLost()) state_.release();
}

void ThreadPool::Resize(int threads) {
  if (state_->IsLost()) state_.release();
  state_ = nullptr;  // Its threads first: there may be no room for both.
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
