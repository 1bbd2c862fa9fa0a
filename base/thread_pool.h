// Fork-join threads with a wake-up of about half a microsecond, for passes that join hundreds of times.
//
//   ThreadPool pool(2);
//   pool.Run([&](int worker) {                  // body runs once on each worker, at the same time
//     Half(input, worker);
//     pool.Barrier();                           // all workers have written their half
//     OtherHalf(input, worker);
//   });
//
// The caller is worker 0. Workers spin for about 400 microseconds after a Run and then sleep, so an idle pool costs nothing. Every thread
// takes part in every Run, even with fewer CPUs than threads. Then each barrier waits until the system has given each thread a turn, which
// is slow. So request at most AvailableCpus() threads, and call Resize when the number of CPUs changes.
//
// Forks: in a process that was forked after the pool was made, the pool has no other threads. The pool then consists of the caller alone,
// shortage() reports the reason, and Resize starts new threads.
//
// Threads: one Run at a time. A Run inside a Run body, or from a second thread during a Run, ends the process (CHECK), since two callers
// would mix their workers. Code that several threads may call needs one pool per thread, or a lock around Run. Call Barrier, or Arrive and
// AwaitOthers, only inside a Run body, and alike in every worker.
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
  // Starts threads - 1 threads; with 1, none. If the system gives fewer threads, the pool has fewer: threads() is the number, shortage()
  // the reason. REQUIRES: 1 <= threads <= kMaxThreads.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  static constexpr int kMaxThreads = 256;

  int threads() const;
  // "only 3 of 8 threads could be started: ..."; empty if all threads were started. Valid until Resize.
  const std::string& shortage() const;
  // Calls `body` once per worker, and returns when all calls have returned. REQUIRES: no Run is in progress (a CHECK).
  void Run(absl::FunctionRef<void(int worker)> body);
  void Barrier();

  // A barrier in two halves: code between the halves must not depend on the other workers. REQUIRES: every worker calls AwaitOthers before
  // its next Arrive.
  uint64_t Arrive();
  void AwaitOthers(uint64_t arrival);  // arrival: the result of this worker's Arrive.

  // Changes the number of threads, as if the pool had been made with `threads`. REQUIRES: as the constructor; no Run is in progress.
  void Resize(int threads);

  // The time of Runs, in nanoseconds. In the remaining time, threads() x runs - working, threads waited: for a wake-up, at barriers, and at
  // the end for the last thread. Waiting for a thread with more work than the others counts, too.
  struct Times {
    int64_t runs = 0;     // From call to return.
    int64_t working = 0;  // Sum over all threads, inside bodies and outside barriers.
  };
  // Restarts or stops the counting of times. Counting is off at first; while off, counting costs Runs and barriers one branch. REQUIRES: no
  // Run is in progress; the clock outlives the counting.
  void CountTimes(bool on, const Clock& clock = RealClock());
  Times times() const;  // Times since counting began; REQUIRES: no Run is in progress.

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the share [begin, end) of [0, items) for `worker` of `workers`: contiguous; sizes differ by at most one.
struct Share { long begin; long end; };
constexpr Share ShareOf(long items, int worker, int workers) {
  const long base = items / workers, extra = items % workers;
  const long begin = worker * base + (worker < extra ? worker : extra);
  return {begin, begin + base + (worker < extra ? 1 : 0)};
}

}  // namespace tessera
