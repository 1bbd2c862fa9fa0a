#include "tessera/base/thread_pool.h"

#include <sched.h>

#include <atomic>
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

#include "glog/logging.h"

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

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::nanoseconds kSpin = std::chrono::microseconds(100);      // Before a worker sleeps.
constexpr std::chrono::nanoseconds kShareCpu = std::chrono::microseconds(50);   // Before a waiting thread begins to yield.
constexpr int kPausesPerLook = 16;                                              // A look at the clock costs as much as one pause.
constexpr int kCacheLine = 64;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// CPUs this process may run on, which in a container are fewer than the machine has.
int AvailableCpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return CPU_COUNT(&set);
}

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
    if (waited >= limit) return ready();
    if (waited >= share_cpu) std::this_thread::yield();
  }
}

}  // namespace

struct ThreadPool::State {
  explicit State(int threads) : threads(threads), share_cpu(threads <= AvailableCpus() ? kShareCpu : kShareCpu / 25) {}

  // Written by the caller before a Run, read by all in it.
  int threads;
  const std::chrono::nanoseconds share_cpu;    // Short where the threads outnumber the CPUs: then spinning holds others up.
  const absl::FunctionRef<void(int)>* body = nullptr;
  bool stop = false;
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

  void Publish();
  void AwaitGenerationAfter(uint64_t seen);
  void Work(int worker);
};

// Starts what `body` or `stop` say on every worker (2, 4).
void ThreadPool::State::Publish() {
  generation.store(generation.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst) == 0) return;
  { std::lock_guard<std::mutex> lock(mutex); }
  wake.notify_all();
}

void ThreadPool::State::AwaitGenerationAfter(uint64_t seen) {
  const auto moved = [&] { return generation.load(std::memory_order_acquire) != seen; };
  if (SpinUntil(moved, share_cpu, kSpin)) return;
  std::unique_lock<std::mutex> lock(mutex);
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  wake.wait(lock, [&] { return generation.load(std::memory_order_seq_cst) != seen; });
  sleepers.fetch_sub(1, std::memory_order_relaxed);  // Too large for a moment costs a needless notice at most.
}

void ThreadPool::State::Work(int worker) {
  for (uint64_t served = 0;; ++served) {
    AwaitGenerationAfter(served);
    if (stop) return;
    (*body)(worker);
    unfinished.fetch_sub(1, std::memory_order_release);  // (3)
  }
}

ThreadPool::ThreadPool(int threads) {
  CHECK(threads >= 1 && threads <= kMaxThreads) << "threads: found " << threads << ", expected 1 to " << kMaxThreads;
  state_ = std::make_unique<State>(threads);
  state_->workers.reserve(threads - 1);
  try {  // The standard library's only way to say that the system has no thread to give (memory, a limit on processes).
    for (int worker = 1; worker < threads; ++worker) {
      state_->workers.emplace_back([state = state_.get(), worker] { state->Work(worker); });
    }
  } catch (const std::exception& error) {
    state_->threads = static_cast<int>(state_->workers.size()) + 1;  // No worker looks at it before the first Run (2).
    LOG(WARNING) << "only " << state_->threads << " of " << threads << " threads could be started: " << error.what();
  }
}

ThreadPool::~ThreadPool() {
  CHECK(!state_->running.load()) << "pool destroyed inside a Run";
  state_->stop = true;
  state_->Publish();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return state_->threads; }

void ThreadPool::Run(absl::FunctionRef<void(int worker)> body) {
  State& state = *state_;
  CHECK(!state.running.exchange(true, std::memory_order_acquire)) << "Run inside a Run, or from two threads";
  if (state.threads == 1) {
    body(0);
  } else {
    state.body = &body;
    state.unfinished.store(state.threads - 1, std::memory_order_relaxed);  // (3)
    state.Publish();
    body(0);
    const auto done = [&] { return state.unfinished.load(std::memory_order_acquire) == 0; };
    SpinUntil(done, state.share_cpu, std::chrono::nanoseconds::max());
  }
  state.running.store(false, std::memory_order_release);
}

void ThreadPool::Barrier() {
  State& state = *state_;
  if (state.threads == 1) return;
  const uint64_t phase = state.phase.load(std::memory_order_relaxed);          // (5)
  if (state.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == state.threads) {  // (6)
    state.arrived.store(0, std::memory_order_relaxed);
    state.phase.store(phase + 1, std::memory_order_release);
    return;
  }
  const auto moved = [&] { return state.phase.load(std::memory_order_acquire) != phase; };
  SpinUntil(moved, state.share_cpu, std::chrono::nanoseconds::max());
}

}  // namespace tessera
