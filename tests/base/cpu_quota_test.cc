#include "tessera/base/cpu_quota.h"

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/available_cpus.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

TEST(CpuQuota, HeaderExample) {
  const std::optional<double> quota = CpuQuota();
  const int threads = quota.has_value() ? ThreadsForQuota(*quota) : AvailableCpus();
  EXPECT_GE(threads, 1);
}

// A system of its own.
class Groups : public testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.Path(path)).parent_path());
    std::ofstream(folder_.Path(path)) << text;
  }
  std::optional<double> Quota() const { return CpuQuota(folder_.Path("proc"), folder_.Path("groups")); }

  const TemporaryFolder folder_;
};

TEST_F(Groups, OfVersionTwoTheLeastQuotaOfAGroupAndItsParentsCounts) {
  Put("proc/self/cgroup", "0::/a/b\n");
  Put("groups/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
  Put("groups/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(Quota(), 1.5);
  Put("groups/a/b/cpu.max", "20000 40000\n");
  EXPECT_EQ(Quota(), 0.5);
  Put("groups/cpu.max", "10000 40000\n");
  EXPECT_EQ(Quota(), 0.25);
}

TEST_F(Groups, OfVersionOneToo) {
  Put("proc/self/cgroup", "7:memory:/m\n4:cpu,cpuacct:/a\n0::/\n");
  Put("groups/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  Put("groups/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
  Put("groups/cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(Quota(), 3);
  Put("groups/cpu/cpu.cfs_quota_us", "200000\n");
  Put("groups/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 2) << "a container's own, under the name that systems give it, too";
}

TEST_F(Groups, AQuotaOfSevenCpusAndAPartServesSevenThreads) {
  Put("proc/self/cgroup", "0::/\n");
  Put("groups/cpu.max", "765000 100000\n");
  ASSERT_EQ(Quota(), 7.65);
  EXPECT_EQ(ThreadsForQuota(*Quota()), 7);
}

// A container whose /proc shows the path outside of it.
TEST_F(Groups, WhereThePathIsNotThereTheTopCounts) {
  Put("proc/self/cgroup", "0::/docker/0123\n");
  Put("groups/cpu.max", "400000 100000\n");
  EXPECT_EQ(Quota(), 4);
}

TEST_F(Groups, ANonsensicalQuotaIsNoLimit) {
  EXPECT_EQ(Quota(), std::nullopt) << "no /proc";
  Put("proc/self/cgroup", "0::/\nnonsense\n:::\n");
  for (const char* text :
       {"", "\n", "max", "1", "0 100000", "-5 100000", "5 0", "5 -1", "five 100000", "5 5 5", "99999999999999999999 1"}) {
    Put("groups/cpu.max", text);
    EXPECT_EQ(Quota(), std::nullopt) << text;
  }
}

TEST(ThreadsForQuota, WholeCpusCountAndThereIsOneThreadAtLeast) {
  const std::vector<std::pair<double, int>> cases = {{0.01, 1}, {0.5, 1}, {1.0, 1}, {1.5, 1}, {2.0, 2}, {2.4, 2}, {3.9, 3}, {7.65, 7},
                                                     {64.0, 64}, {1e300, 1'000'000}};
  for (const auto& [quota, threads] : cases) {
    EXPECT_EQ(ThreadsForQuota(quota), threads) << quota;
  }
}

}  // namespace
}  // namespace tessera
