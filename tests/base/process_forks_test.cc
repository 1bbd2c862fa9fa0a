#include "tessera/base/process_forks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "gtest/gtest.h"
#include "tessera/base/thread_pool.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/thread_state.h"

namespace tessera {
namespace {

// What body() returns in a child of this process; -1: a signal ended it, as one does where it waits for good.
template <typename Body>
int InChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessForks, HeaderExample) {
  const int64_t made_in = ForksSoFar();
  EXPECT_EQ(ForksSoFar(), made_in);
  EXPECT_EQ(InChild([&] { return ForksSoFar() != made_in ? 0 : 1; }), 0);
  EXPECT_EQ(ForksSoFar(), made_in) << "the parent is the process that it was";
}

TEST(ProcessForks, AChildOfAChildIsAnotherProcessAgain) {
  const int64_t made_in = ForksSoFar();
  EXPECT_EQ(InChild([&] {
    const int64_t of_child = ForksSoFar();
    return InChild([&] { return ForksSoFar() != of_child && ForksSoFar() != made_in ? 0 : 1; });
  }), 0);
}

// A pool whose threads sleep, wait for work, or have not begun: none is in the child, and none is waited for.
class ForkedPool : public testing::TestWithParam<int> {
 protected:
  // 0 if all is well.
  static int Use(ThreadPool& pool) {
    int visits = 0;
    if (pool.threads() != 1 || pool.shortage() != "only 1 of 3 threads is there: this process was forked after they were started") return 1;
    for (int i = 0; i < 3; ++i) {
      pool.Run([&](int worker) {
        visits += worker == 0;
        pool.Barrier();
        pool.AwaitOthers(pool.Arrive());
      });
    }
    return visits == 3 && pool.threads() == 1 ? 0 : 2;
  }
};

TEST_P(ForkedPool, RunsOnTheCallerAloneAndEnds) {
  auto pool = std::make_unique<ThreadPool>(3);
  for (int i = 0; i < GetParam(); ++i) pool->Run([](int) {});
  if (GetParam() > 1) ASSERT_TRUE(Await(OthersAreAsleep));
  EXPECT_EQ(InChild([&] {
    pool->CountTimes(true);
    const int used = Use(*pool);
    pool = nullptr;
    return used;
  }), 0);
  EXPECT_EQ(InChild([&] {
    pool = nullptr;
    return 0;
  }), 0) << "unused";
  std::atomic<int> visits = 0;
  pool->Run([&](int) { ++visits; });
  EXPECT_EQ(visits, 3) << "the parent's goes on as it was";
  EXPECT_EQ(pool->shortage(), "");
}

INSTANTIATE_TEST_SUITE_P(AfterRuns, ForkedPool, testing::Values(0, 1, 2));

TEST(PoolInAChild, HasThreadsAgainAfterAResize) {
  if (kThreadSanitized) GTEST_SKIP() << "it allows no threads after a fork";
  ThreadPool pool(3);
  pool.Run([](int) {});
  EXPECT_EQ(InChild([&] {
    pool.Resize(2);
    std::atomic<int> visits = 0;
    pool.Run([&](int) { ++visits; });
    return visits == 2 && pool.threads() == 2 && pool.shortage().empty() ? 0 : 1;
  }), 0);
}

// The caller of the run is another thread, which waits in it.
TEST(PoolInAChild, IsUsedAlsoWhereARunWasUnderWay) {
  ThreadPool pool(3);
  std::atomic<bool> is_running = false, may_end = false;
  std::thread other([&] {
    pool.Run([&](int worker) {
      if (worker != 0) return;
      is_running = true;
      is_running.notify_all();
      may_end.wait(false);
    });
  });
  is_running.wait(false);
  EXPECT_EQ(InChild([&] {
    int visits = 0;
    pool.Run([&](int) { ++visits; });
    return visits == 1 ? 0 : 1;
  }), 0);
  may_end = true;
  may_end.notify_all();
  other.join();
}

}  // namespace
}  // namespace tessera
