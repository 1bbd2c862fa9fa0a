#include "tessera/base/start_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

TEST(StartThread, HeaderExample) {
  const std::vector<int> numbers = {1, 2, 3};
  const auto Sum = [](const std::vector<int>& all) { return std::accumulate(all.begin(), all.end(), 0); };
  int sum = 0;
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::thread thread, StartThread([&] { sum = Sum(numbers); }));
    thread.join();
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(sum, 6);
}

TEST(StartThreadDeathTest, NoThreadToBeHadIsAnError) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's shadow needs more room than the limit leaves";
  const auto run_short_of_memory = [] {
    const rlimit limit = {512 << 20, 512 << 20};  // Address space; a thread has a stack of 8 MiB.
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(1);
    std::vector<std::thread> threads;
    while (threads.size() < 1000) {
      absl::StatusOr<std::thread> thread = StartThread([] { pause(); });
      if (!thread.ok()) {
        std::cerr << thread.status();
        std::_Exit(absl::IsResourceExhausted(thread.status()) ? 0 : 1);
      }
      threads.push_back(*std::move(thread));
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(run_short_of_memory(), testing::ExitedWithCode(0), "cannot start a thread: ");
}

}  // namespace
}  // namespace tessera
