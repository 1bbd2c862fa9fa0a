// Fork-join threads with a wake-up of about half a microsecond, made for passes that join hundreds of times.
//
//   ThreadPool pool(2);
//   pool.Run([&](int worker) {                  // body runs once on each worker, at the same time
//     Half(input, worker);
//     pool.Barrier();                           // all workers have written their half
//     OtherHalf(input, worker);
//   });
//
// The caller is worker 0. Workers spin for about 400 microseconds after a Run and then sleep, so an idle pool costs nothing.
// Every thread takes part in every Run, also where there are fewer CPUs than threads. Then each barrier waits until the system has given
// each thread a turn, which is slow: ask for no more than AvailableCpus(), and Resize when that has changed.
// In a process that was forked after the pool was made there are no workers: the pool has its caller alone, shortage() says so, and Resize
// makes new ones.
// Threads: one Run at a time. A Run inside a Run body, or from a second thread while one is under way, ends the process (CHECK), since two
// callers would mix their workers. Code that several threads may call has a pool for each of them, or a lock around Run. Barrier, or its
// halves, only inside a Run body, by every worker alike.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "tessera/base/clock.h"
#include "tessera/base/cpp20.h"

namespace tessera {

class ThreadPool {
 public:
  // REQUIRES: 1 <= threads <= kMaxThreads. With 1 no thread is started. If the system gives fewer threads, the pool has fewer: threads()
  // says how many, shortage() why.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  static constexpr int kMaxThreads = 256;

  int threads() const;
  // "only 3 of 8 threads could be started: ..."; empty if there are as many as asked for. Valid until Resize.
  const std::string& shortage() const;
  // Calls the body once per worker, and returns when all calls have. REQUIRES: no Run is under way (a CHECK).
  void Run(absl::FunctionRef<void(int worker)> body);
  void Barrier();

  // A barrier in two halves: work that does not depend on the other workers goes in between. REQUIRES: every worker waits for the others
  // before it arrives again.
  uint64_t Arrive();
  void AwaitOthers(uint64_t arrival);  // arrival: what Arrive gave this worker.

  // The pool is then as if it had been made with so many threads. REQUIRES: as the constructor; no Run is under way.
  void Resize(int threads);

  // The time of Runs, in nanoseconds. In the rest of the time, threads() x runs less working, the threads waited: to be woken, at barriers,
  // and at the end for the last one. Waiting for a thread that has more to do than the others counts, too.
  struct Times {
    int64_t runs = 0;     // From call to return.
    int64_t working = 0;  // All threads together, inside bodies and outside barriers.
  };
  // Starts counting anew, or stops it. While counting is off, as it is at first, it costs Runs and barriers one branch. REQUIRES: no Run is
  // under way; the clock outlives the counting.
  void CountTimes(bool on, const Clock& clock = RealClock());
  Times times() const;  // Since counting began; REQUIRES: no Run is under way.

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The share [begin, end) of [0, items) that `worker` of `workers` has: contiguous, sizes differ by at most one.
struct Share { long begin; long end; };
constexpr Share ShareOf(long items, int worker, int workers) {
  const long base = items / workers, extra = items % workers;
  const long begin = worker * base + (worker < extra ? worker : extra);
  return {begin, begin + base + (worker < extra ? 1 : 0)};
}

}  // namespace tessera
