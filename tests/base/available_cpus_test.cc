#include "tessera/base/available_cpus.h"

#include <gtest/gtest.h>

#include <thread>

#include "tessera/base/status_macros.h"
#include "tessera/base/thread_pool.h"

namespace tessera {
namespace {

TEST(AvailableCpus, HeaderExample) {
  const auto example = []() -> absl::Status {
    ThreadPool pool(AvailableCpus());
    ASSIGN_OR_RETURN(const CpuLimit limit, CpuLimit::Create(2));
    EXPECT_EQ(AvailableCpus(), 2);
    return absl::OkStatus();
  };
  EXPECT_EQ(example().ok(), AvailableCpus() >= 2);
}

TEST(CpuLimit, HoldsForThreadsStartedMeanwhileAndEndsWithItsBlock) {
  const int before = AvailableCpus();
  int inside = 0;
  {
    const absl::StatusOr<CpuLimit> limit = CpuLimit::Create(1);
    ASSERT_TRUE(limit.ok()) << limit.status();
    EXPECT_EQ(AvailableCpus(), 1);
    std::thread([&] { inside = AvailableCpus(); }).join();
  }
  EXPECT_EQ(inside, 1);
  EXPECT_EQ(AvailableCpus(), before);
}

TEST(CpuLimit, MoreThanThereAreIsAnErrorAndChangesNothing) {
  const int before = AvailableCpus();
  EXPECT_EQ(CpuLimit::Create(before + 1).status().message(),
            "CPUs that may be used: found " + std::to_string(before) + ", expected " + std::to_string(before + 1) + " or more");
  EXPECT_EQ(AvailableCpus(), before);
}

}  // namespace
}  // namespace tessera
