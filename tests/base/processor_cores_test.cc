#include "tessera/base/processor_cores.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/available_cpus.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

TEST(ProcessorCores, HeaderExample) {
  const ProcessorCores cores = ProcessorCores::Read();
  const int threads = cores.FastCores(CpusOfThread());
  EXPECT_GE(threads, 1);
  EXPECT_LE(threads, AvailableCpus());
}

CpuSet Cpus(int first, int last) {
  CpuSet cpus;
  for (int cpu = first; cpu <= last; ++cpu) cpus.set(static_cast<size_t>(cpu));
  return cpus;
}

// A machine of its own.
class Machine : public testing::Test {
 protected:
  void Put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.Path(path)).parent_path());
    std::ofstream(folder_.Path(path)) << text << "\n";
  }
  void PutOfCpu(int cpu, const std::string& path, const std::string& text) const {
    Put(absl::StrCat("system/cpu/cpu", cpu, "/", path), text);
  }
  void PutPossible(const std::string& cpus) const { Put("system/cpu/possible", cpus); }
  void PutCore(int cpu, const std::string& core) const { PutOfCpu(cpu, "topology/core_cpus_list", core); }
  int FastCores(const CpuSet& allowed) const { return ProcessorCores::Read(folder_.path()).FastCores(allowed); }

  // Eight fast cores of two CPUs each (0-15) and eight slow ones of one (16-23).
  void MakeHybrid() const {
    PutPossible("0-23");
    for (int cpu = 0; cpu < 16; ++cpu) PutCore(cpu, absl::StrCat(cpu / 2 * 2, "-", cpu / 2 * 2 + 1));
    for (int cpu = 16; cpu < 24; ++cpu) PutCore(cpu, absl::StrCat(cpu));
    Put("cpu_core/cpus", "0-15");
    Put("cpu_atom/cpus", "16-23");
  }

  // Eight cores with two CPUs each, numbered as many servers do: CPU n and n + 8.
  void MakeServer() const {
    PutPossible("0-15");
    for (int cpu = 0; cpu < 16; ++cpu) PutCore(cpu, absl::StrCat(cpu % 8, ",", cpu % 8 + 8));
  }

  const TemporaryFolder folder_;
};

TEST_F(Machine, WithTwoCpusPerCoreHasAThreadForEachCore) {
  MakeServer();
  EXPECT_EQ(FastCores(Cpus(0, 15)), 8);
  EXPECT_EQ(FastCores(Cpus(0, 7)), 8) << "an affinity that leaves out one CPU of each core";
  EXPECT_EQ(FastCores(Cpus(4, 11)), 8) << "of each core one CPU, be it the first or the second";
  EXPECT_EQ(FastCores(Cpus(0, 0) | Cpus(8, 8)), 1);
  EXPECT_EQ(FastCores(Cpus(7, 8)), 2);
}

TEST_F(Machine, OfAnOlderLinuxNamesSiblingsElsewhere) {
  PutPossible("0-3");
  for (int cpu = 0; cpu < 4; ++cpu) PutOfCpu(cpu, "topology/thread_siblings_list", cpu < 2 ? "0-1" : "2-3");
  EXPECT_EQ(FastCores(Cpus(0, 3)), 2);
}

TEST_F(Machine, WithoutSiblingsHasAThreadForEachCpu) {
  PutPossible("0-1");
  for (int cpu = 0; cpu < 2; ++cpu) PutCore(cpu, absl::StrCat(cpu));
  EXPECT_EQ(FastCores(Cpus(0, 1)), 2);
}

TEST_F(Machine, OfTwoKindsOfCoresHasAThreadForEachFastCoreThatMayBeUsed) {
  MakeHybrid();
  EXPECT_EQ(FastCores(Cpus(0, 23)), 8);
  EXPECT_EQ(FastCores(Cpus(12, 23)), 2);
  EXPECT_EQ(FastCores(Cpus(16, 23)), 8) << "an affinity to slow cores alone: they are all there is";
}

TEST_F(Machine, OfThreeCapacitiesUsesCoresWithAtLeastHalfTheLargest) {
  PutPossible("0-7");
  for (int cpu = 0; cpu < 8; ++cpu) {
    PutCore(cpu, absl::StrCat(cpu));
    PutOfCpu(cpu, "cpu_capacity", cpu < 4 ? "325" : cpu < 7 ? "870" : "1024");
    PutOfCpu(cpu, "cpufreq/cpuinfo_max_freq", cpu == 7 ? "3200000" : "2000000");
  }
  EXPECT_EQ(FastCores(Cpus(0, 7)), 4) << "capacity has frequency in it";
  EXPECT_EQ(FastCores(Cpus(0, 3)), 4) << "in the background, on slow cores alone";
  EXPECT_EQ(FastCores(Cpus(3, 4)), 1);
}

TEST_F(Machine, WithoutCapacitiesUsesCoresWithThreeQuartersOfTheHighestFrequency) {
  PutPossible("0-7");
  for (int cpu = 0; cpu < 8; ++cpu) PutOfCpu(cpu, "cpufreq/cpuinfo_max_freq", cpu < 4 ? "1800000" : cpu < 7 ? "2600000" : "3000000");
  EXPECT_EQ(FastCores(Cpus(0, 7)), 4);
  PutOfCpu(2, "cpufreq/cpuinfo_max_freq", "unknown");
  EXPECT_EQ(FastCores(Cpus(0, 7)), 8) << "of one CPU it is not told, so nothing is concluded";
  EXPECT_EQ(FastCores(Cpus(3, 7)), 4) << "of those that may be used it is";
}

// The best cores of one kind may go some percent faster than the others.
TEST_F(Machine, WhoseCoresDifferALittleUsesAll) {
  PutPossible("0-3");
  for (int cpu = 0; cpu < 4; ++cpu) {
    PutOfCpu(cpu, "cpu_capacity", cpu == 0 ? "1024" : "950");
    PutOfCpu(cpu, "cpufreq/cpuinfo_max_freq", cpu == 0 ? "5700000" : "5100000");
  }
  EXPECT_EQ(FastCores(Cpus(0, 3)), 4);
}

TEST_F(Machine, ThatTellsNothingHasACoreForEachCpu) {
  EXPECT_EQ(FastCores(Cpus(0, 5)), 6);
  EXPECT_EQ(FastCores(CpuSet()), 1);
  PutPossible("0-5");
  EXPECT_EQ(FastCores(Cpus(0, 5)), 6) << "a container that shows CPUs and nothing of them";
}

// The folder of a CPU that is off has no topology. It is in no affinity, and its number may still stand beside that of its sibling.
TEST_F(Machine, WithCpusThatAreOffUsesOneOfEachCoreThatIsLeft) {
  MakeServer();
  for (int cpu = 8; cpu < 16; ++cpu) std::filesystem::remove_all(folder_.Path(absl::StrCat("system/cpu/cpu", cpu, "/topology")));
  EXPECT_EQ(FastCores(Cpus(0, 7)), 8);
}

TEST_F(Machine, WhoseSiblingsDoNotNameEachOtherHasACoreForEach) {
  PutPossible("0-3");
  PutCore(0, "0-3");
  for (int cpu = 1; cpu < 4; ++cpu) PutCore(cpu, absl::StrCat(cpu));
  EXPECT_EQ(FastCores(Cpus(0, 3)), 4);
}

TEST_F(Machine, WhoseFilesMakeNoSenseHasACoreForEachCpu) {
  for (const char* text : {"", ",", "-", "0-", "-1", "1-0", "0-1-2", "0-4294967297", "0-1024", "99999999999999999999", "0x0-0x3", "a",
                           "0,,3", "0 3", "0-3;"}) {
    MakeServer();
    for (int cpu = 0; cpu < 16; ++cpu) PutCore(cpu, text);
    EXPECT_EQ(FastCores(Cpus(0, 15)), 16) << text;
    MakeServer();
    PutPossible(text);
    EXPECT_EQ(FastCores(Cpus(0, 15)), 16) << text;
    MakeHybrid();
    Put("cpu_core/cpus", text);
    EXPECT_EQ(FastCores(Cpus(0, 23)), 16) << text;
  }
}

TEST_F(Machine, WhoseSpeedsMakeNoSenseUsesAll) {
  PutPossible("0-1");
  for (const char* text : {"", "0", "-1", "9223372036854775807", "1e9", "1 2"}) {
    for (const char* file : {"cpu_capacity", "cpufreq/cpuinfo_max_freq"}) {
      PutOfCpu(0, file, text);
      PutOfCpu(1, file, "1000");
    }
    EXPECT_EQ(FastCores(Cpus(0, 1)), 2) << text;
  }
}

TEST_F(Machine, WhoseFilesAreHugeHasACoreForEachCpu) {
  MakeServer();
  for (int cpu = 0; cpu < 16; ++cpu) PutCore(cpu, std::string(1 << 20, '0'));
  EXPECT_EQ(FastCores(Cpus(0, 15)), 16);
}

TEST(CpusOfThread, EqualTheAffinityOfTheThread) {
  EXPECT_EQ(static_cast<int>(CpusOfThread().count()), AvailableCpus());
  const absl::StatusOr<CpuLimit> limit = CpuLimit::Create(1);
  ASSERT_TRUE(limit.ok()) << limit.status();
  EXPECT_EQ(CpusOfThread().count(), 1u);
}

}  // namespace
}  // namespace tessera
