#include "tessera/base/thread_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/thread_state.h"

namespace tessera {
namespace {

constexpr int kThreadCounts[] = {1, 2, 3, 8};

TEST(ThreadPool, HeaderExample) {
  std::vector<int> input(2), sums(2);
  const auto Half = [](std::vector<int>& values, int worker) { values[worker] = worker + 1; };
  const auto OtherHalf = [&](std::vector<int>& values, int worker) { sums[worker] = values[1 - worker]; };
  ThreadPool pool(2);
  pool.Run([&](int worker) {
    Half(input, worker);
    pool.Barrier();
    OtherHalf(input, worker);
  });
  EXPECT_EQ(sums, (std::vector<int>{2, 1}));
}

TEST(ThreadPool, EachRunVisitsEachWorkerOnceAndTheCallerIsWorkerZero) {
  for (int threads : kThreadCounts) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    std::vector<int> visits(threads);  // Plain ints: a missing join would be a data race, which ThreadSanitizer sees.
    const int runs = threads <= 2 ? 1000 : 100;
    for (int run = 1; run <= runs; ++run) {
      std::thread::id worker_zero;
      pool.Run([&](int worker) {
        ++visits[worker];
        if (worker == 0) worker_zero = std::this_thread::get_id();
      });
      ASSERT_EQ(worker_zero, std::this_thread::get_id());
      ASSERT_EQ(visits, std::vector<int>(threads, run));
    }
  }
}

// In each round a worker reads what its neighbour wrote in the round before: one barrier missed gives another sum.
TEST(ThreadPool, NothingPassesABarrierEarly) {
  for (int threads : kThreadCounts) {
    ThreadPool pool(threads);
    const int rounds = threads <= 2 ? 500 : 100;
    std::vector<int64_t> left(threads), right(threads);
    for (int run = 0; run < 3; ++run) {
      std::fill(left.begin(), left.end(), 0);
      pool.Run([&](int worker) {
        for (int round = 0; round < rounds; ++round) {
          right[worker] = left[(worker + 1) % threads] + 1;
          pool.Barrier();
          left[worker] = right[(worker + 1) % threads] + 1;
          pool.Barrier();
        }
      });
      ASSERT_EQ(left, std::vector<int64_t>(threads, 2 * rounds)) << threads;
    }
  }
}

TEST(ThreadPool, BetweenArrivingAndAwaitingOthersAWorkerHasItsOwn) {
  for (int threads : kThreadCounts) {
    ThreadPool pool(threads);
    const int rounds = threads <= 2 ? 500 : 100;
    std::vector<int64_t> shown(threads), own(threads), sums(threads);
    pool.Run([&](int worker) {
      for (int round = 0; round < rounds; ++round) {
        shown[worker] = round;
        const uint64_t arrival = pool.Arrive();
        ++own[worker];
        pool.AwaitOthers(arrival);
        sums[worker] += shown[(worker + 1) % threads];  // One that went on too early would see the round before.
        pool.Barrier();
      }
    });
    ASSERT_EQ(own, std::vector<int64_t>(threads, rounds)) << threads;
    ASSERT_EQ(sums, std::vector<int64_t>(threads, int64_t{rounds} * (rounds - 1) / 2)) << threads;
  }
}

TEST(ThreadPool, WorkersThatWentToSleepWakeUp) {
  for (int threads : {2, 3}) {
    ThreadPool pool(threads);
    std::atomic<int> visits{0};
    for (int run = 0; run < 40; ++run) {
      // Every second Run meets workers that sleep; the others come sooner and later, so that some meet workers just going to sleep.
      if (run % 2 == 0) ASSERT_TRUE(Await(OthersAreAsleep)) << "run " << run;
      else Dawdle(run * 20);
      pool.Run([&](int) { visits.fetch_add(1); });
    }
    EXPECT_EQ(visits.load(), 40 * threads);
  }
}

TEST(ThreadPool, APoolThatNeverRanOrSleepsCanBeDestroyed) {
  for (int threads : kThreadCounts) {
    ThreadPool unused(threads);
    ThreadPool asleep(threads);
    std::atomic<int> visits{0};
    asleep.Run([&](int) { visits.fetch_add(1); });
    EXPECT_TRUE(Await(OthersAreAsleep));
    EXPECT_EQ(visits.load(), threads);
  }
}

// Once the workers sleep, none of them computes while this thread does: a worker that spins, or looks at something now and then, would.
TEST(ThreadPool, AnIdlePoolUsesNoCpu) {
  if (kThreadSanitized) GTEST_SKIP() << "the thread sanitizer has a thread of its own, which computes";
  ThreadPool unused(8), asleep(8);
  asleep.Run([](int) {});
  ASSERT_TRUE(Await(OthersAreAsleep));
  const auto of_workers = [] {
    std::vector<int64_t> nanos;
    for (const pid_t thread : ThreadsOf(getpid())) {
      if (thread != gettid()) nanos.push_back(CpuNanosOfThread(thread));
    }
    return nanos;
  };
  const std::vector<int64_t> before = of_workers();
  SeededRandom random(1);
  int64_t sum = 0;
  for (int i = 0; i < 5'000'000; ++i) sum += random.Below(2);
  EXPECT_NE(sum, 0);
  EXPECT_EQ(of_workers(), before);
  EXPECT_EQ(before.size(), 14u);
}

TEST(ThreadPool, EveryThreadTakesPartAlsoWhereThereAreFewerCpus) {
  const absl::StatusOr<CpuLimit> limit = CpuLimit::Create(1);
  ASSERT_TRUE(limit.ok()) << limit.status();
  ThreadPool pool(4);
  EXPECT_EQ(pool.threads(), 4);
  std::atomic<int> arrived{0};
  std::vector<int> seen(4);
  for (int run = 1; run <= 20; ++run) {
    pool.Run([&](int worker) {
      ++arrived;
      pool.Barrier();
      seen[worker] = arrived;
    });
    ASSERT_EQ(seen, std::vector<int>(4, 4 * run));
  }
}

// As if another process had the second CPU. If they spun as long as threads with a CPU each, a barrier would take 50 us.
TEST(ThreadPool, ThreadsOnOneCpuSoonYieldToEachOther) {
  const absl::StatusOr<CpuLimit> limit = CpuLimit::Create(1);
  ASSERT_TRUE(limit.ok()) << limit.status();
  constexpr int kBarriers = 4000;
  ThreadPool pool(2);
  pool.Run([](int) {});
  const double begin = CpuSeconds();
  pool.Run([&](int) {
    for (int i = 0; i < kBarriers; ++i) pool.Barrier();
  });
  EXPECT_LT(CpuSeconds() - begin, TimeLimit(kBarriers * 20e-6));
}

TEST(ThreadPool, AResizedPoolIsAsIfMadeSo) {
  ThreadPool pool(1);
  for (const int threads : {3, 2, 8, 1, 2}) {
    pool.Resize(threads);
    EXPECT_EQ(pool.threads(), threads);
    std::vector<int> visits(threads);
    for (int run = 1; run <= 10; ++run) {
      pool.Run([&](int worker) {
        ++visits[worker];
        pool.Barrier();
      });
    }
    EXPECT_EQ(visits, std::vector<int>(threads, 10));
  }
}

// Time goes on when a worker says so, and knows how often the pool has looked at it.
class WatchedClock : public VirtualClock {
 public:
  int64_t NowNanos() const override {
    const int64_t now = VirtualClock::NowNanos();
    ++looks_;
    return now;
  }
  int looks() const { return looks_; }

 private:
  mutable std::atomic<int> looks_ = 0;
};

// The first half of each body is work of the last worker alone, which the others wait for at the barrier; the second is the caller's. Each
// works once the others have looked at the clock, as they do where they begin to wait and where they end.
TEST(ThreadPool, TimesAreOfWorkAndNotOfWaiting) {
  constexpr int64_t kWork = 10'000'000;
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    WatchedClock clock;
    pool.CountTimes(true, clock);
    const auto work_after = [&](int looks) {
      EXPECT_TRUE(Await([&] { return clock.looks() == looks; })) << clock.looks() << " looks, expected " << looks;
      clock.Advance(kWork);
    };
    // A Run looks once in the beginning and once in the end, each worker around its body, and around a barrier for several.
    const int waiting = threads - 1, of_barrier = threads == 1 ? 0 : threads, of_run = 2 + 2 * threads + 2 * of_barrier;
    for (int run = 0; run < 2; ++run) {
      pool.Run([&](int worker) {
        if (worker == threads - 1) work_after(run * of_run + 1 + threads + waiting);
        pool.Barrier();
        if (worker == 0) work_after(run * of_run + 1 + threads + 2 * of_barrier + waiting);
      });
    }
    const ThreadPool::Times times = pool.times();
    EXPECT_EQ(times.runs, 4 * kWork);
    EXPECT_EQ(times.working, 4 * kWork) << "all but one of " << threads << " waited";
    const auto body = [&](int) { clock.Advance(kWork); };
    pool.CountTimes(false);
    pool.Run(body);
    EXPECT_EQ(pool.times().runs, 0);
    EXPECT_EQ(pool.times().working, 0);
  }
}

TEST(ThreadPool, TheCallerWaitsForTheSlowestWorker) {
  ThreadPool pool(3);
  std::atomic<int> ended = 0;
  bool written = false;
  pool.Run([&](int worker) {
    if (worker != 2) {
      ++ended;
      return;
    }
    EXPECT_TRUE(Await([&] { return ended == 2; }));
    Dawdle(1000);   // In which a caller that did not wait would go on.
    written = true;
  });
  EXPECT_TRUE(written);
}

TEST(ThreadPool, MisuseIsACheckFailure) {
  EXPECT_DEATH(ThreadPool(0), "threads: found 0");
  EXPECT_DEATH(ThreadPool(1).Resize(0), "threads: found 0");
  EXPECT_DEATH(ThreadPool(ThreadPool::kMaxThreads + 1), "threads: found 257");
  EXPECT_DEATH({ ThreadPool pool(1); pool.Run([&](int) { pool.Run([](int) {}); }); }, "Run inside a Run");
  EXPECT_DEATH({ ThreadPool pool(2); pool.Run([&](int worker) { if (worker == 1) pool.Run([](int) {}); }); }, "Run inside a Run");
  EXPECT_DEATH({ ThreadPool pool(1); pool.Run([&](int) { pool.Resize(2); }); }, "resized inside a Run");
  EXPECT_DEATH({ ThreadPool pool(1); pool.Run([&](int) { pool.CountTimes(true); }); }, "CountTimes inside a Run");
}

// In a process of its own, with address space for the stacks of a few threads only.
TEST(ThreadPool, TakesFewerThreadsWhereTheSystemHasNoMore) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory does not fit in the limit that this test sets";
  const auto run_short_of_memory = [] {
    const rlimit limit = {.rlim_cur = 512 << 20, .rlim_max = 512 << 20};
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(1);
    ThreadPool pool(ThreadPool::kMaxThreads);  // 8 MiB of stack each.
    std::atomic<int> visits = 0;
    pool.Run([&](int) {
      ++visits;
      pool.Barrier();
    });
    std::cerr << pool.shortage();
    std::_Exit(pool.threads() < ThreadPool::kMaxThreads && visits == pool.threads() ? 0 : 1);
  };
  EXPECT_EXIT(run_short_of_memory(), testing::ExitedWithCode(0), "only [0-9]+ of 256 threads could be started: ");
  EXPECT_EQ(ThreadPool(2).shortage(), "");
}

TEST(ShareOf, SharesCoverAllItemsInOrderAndDifferByAtMostOne) {
  for (int workers : {1, 2, 3, 8}) {
    for (long items : {0L, 1L, 7L, 8L, 1000L}) {
      long next = 0;
      for (int worker = 0; worker < workers; ++worker) {
        const Share share = ShareOf(items, worker, workers);
        EXPECT_EQ(share.begin, next);
        EXPECT_GE(share.end - share.begin, items / workers);
        EXPECT_LE(share.end - share.begin, items / workers + 1);
        next = share.end;
      }
      EXPECT_EQ(next, items);
    }
  }
}

}  // namespace
}  // namespace tessera
