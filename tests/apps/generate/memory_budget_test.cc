// --memory_budget: what is refused, and that a program never takes more, as the system counts it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20, kMore = 16 * kMiB;

// A control group below that of this test, of version 1 or 2, which counts the memory of those in it: their pages, what the system keeps
// for them, and the page cache of files that they were the first to read.
class MemoryGroup {
 public:
  // None if the system does not let us make one that counts.
  static std::unique_ptr<MemoryGroup> Make() {
    std::ifstream groups("/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
      const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
      if (parts.size() != 3 || (parts[1] != "memory" && !parts[1].empty())) continue;
      const bool first = parts[1] == "memory";
      const std::string folder = absl::StrCat(first ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup", parts[2], "/tessera_test_", getpid());
      std::error_code error;
      if (!std::filesystem::create_directory(folder, error)) continue;
      auto group = std::unique_ptr<MemoryGroup>(new MemoryGroup(folder, first ? "/memory.max_usage_in_bytes" : "/memory.peak"));
      if (group->PeakBytes() >= 0) return group;
    }
    return nullptr;
  }
  ~MemoryGroup() { rmdir(folder_.c_str()); }

  const std::string& folder() const { return folder_; }
  int64_t PeakBytes() const {
    int64_t bytes = -1;
    std::ifstream(folder_ + peak_) >> bytes;
    return bytes;
  }

 private:
  MemoryGroup(std::string folder, std::string peak) : folder_(std::move(folder)), peak_(std::move(peak)) {}
  const std::string folder_, peak_;
};

// The pages of a file that are in the page cache.
int64_t CachedBytes(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const size_t bytes = std::filesystem::file_size(path), page = sysconf(_SC_PAGESIZE);
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  PCHECK(file >= 0 && mapped != MAP_FAILED) << path;
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  PCHECK(mincore(mapped, bytes, pages.data()) == 0);
  munmap(mapped, bytes);
  close(file);
  return static_cast<int64_t>(page) * std::count_if(pages.begin(), pages.end(), [](unsigned char flags) { return (flags & 1) != 0; });
}

void DropFromCache(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  PCHECK(file >= 0 && fsync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0) << path;
  close(file);
}

// A field of /proc/PID/status, in bytes; 0 once the process has ended.
int64_t StatusBytes(pid_t process, absl::string_view field) {
  std::ifstream status(absl::StrCat("/proc/", process, "/status"));
  for (std::string line; std::getline(status, line);) {
    int64_t kilobytes = 0;
    if (absl::StartsWith(line, field) && std::istringstream(line.substr(field.size() + 1)) >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

struct Measured {
  int code = -1;
  int64_t peak = 0;
  const char* by = "";
};

class MemoryBudget : public testing::Test {
 protected:
  // A program, what it is to do, and with which model.
  struct Work {
    std::string program, model;
    std::vector<std::string> flags;

    std::vector<std::string> Within(int64_t budget) const {
      std::vector<std::string> all = {"--model=" + model, "--threads=2", absl::StrCat("--memory_budget=", budget)};
      all.insert(all.end(), flags.begin(), flags.end());
      return all;
    }
  };
  Work Generating(const std::string& model, const std::vector<std::string>& more = {}) const {
    Work work = {"tessera_generate", model, {"--context=512", "--raw", "--prompt=" + prompt_, "--n_predict=20", "--temperature=0"}};
    work.flags.insert(work.flags.end(), more.begin(), more.end());
    return work;
  }
  // The least budget that the refusal of a smaller one names.
  static int64_t LeastBudget(const Work& work) {
    const Ended refused = RunProgram(work.program, work.Within(1));
    EXPECT_EQ(refused.code, 2);
    const std::string before = "expected at least ";
    const size_t begin = refused.errors.find(before);
    CHECK_NE(begin, std::string::npos) << refused.errors;
    EXPECT_NE(refused.errors.find(absl::StrCat("--memory_budget: ", work.model, ": found 1 B, ")), std::string::npos) << refused.errors;
    EXPECT_NE(refused.errors.find("keys and values for a context of 512 tokens"), std::string::npos) << refused.errors;
    const size_t number = begin + before.size();
    return ParseByteSize(refused.errors.substr(number, refused.errors.find(',', number) - number)).value();
  }
  static Measured Run(const Work& work, int64_t budget) {
    std::string command = "exec " + std::string(TESSERA_BINARY_DIR) + "/bin/" + work.program;
    for (const std::string& flag : work.Within(budget)) command += " '" + flag + "'";
    command += " > /dev/null";
    DropFromCache(work.model);
    const std::unique_ptr<MemoryGroup> group = MemoryGroup::Make();
    if (group != nullptr) command = "echo $$ > " + group->folder() + "/cgroup.procs && " + command;
    const pid_t child = fork();
    if (child == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
    Measured measured;
    int status = 0;
    const auto has_ended = [&] {   // Where there is no group, memory is looked at often enough for buffers, which stay.
      measured.peak = std::max(measured.peak, StatusBytes(child, "RssAnon:") + StatusBytes(child, "RssShmem:"));
      return waitpid(child, &status, WNOHANG) != 0;
    };
    EXPECT_TRUE(Await(has_ended, std::chrono::seconds(600)));
    measured.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    measured.peak = group != nullptr ? group->PeakBytes() : measured.peak + CachedBytes(work.model);
    measured.by = group != nullptr ? "control group" : "anonymous pages and page cache";
    return measured;
  }
  static void ExpectWithin(const Work& work, int64_t budget) {
    const Measured measured = Run(work, budget);
    EXPECT_EQ(measured.code, 0);
    EXPECT_LE(measured.peak, budget + kMore);
    EXPECT_GE(measured.peak, budget / 4) << "nothing was measured";
    std::cout << work.program << ", budget " << FormatByteSize(budget) << ", peak " << FormatByteSize(measured.peak) << " by "
              << measured.by << "\n";
  }

  std::string prompt_ = "The war began when";
};

TEST_F(MemoryBudget, TheLeastThatIsNamedWorksAndAllBudgetsAreKept) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  for (const char* name : {"smollm2", "gemma3"}) {
    SCOPED_TRACE(name);
    const std::string gguf = RealModelPath(name);
    if (gguf.empty()) FAIL() << RealModelMissing(name);
    const PackedModel packed(gguf);
    const int64_t least = LeastBudget(Generating(packed.path()));
    EXPECT_EQ(RunProgram("tessera_generate", Generating(packed.path()).Within(least - 4 * kMiB)).code, 2) << "less would have done";
    for (const int64_t more : {int64_t{0}, int64_t{0}, 50 * kMiB}) ExpectWithin(Generating(packed.path()), least + more);
    EXPECT_LE(CachedBytes(packed.path()), 32 * kMiB) << "weights are in the page cache";
  }
}

TEST_F(MemoryBudget, Gemma3DoesWith128MiBAndItsKeysAndValues) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  const std::string gguf = RealModelPath("gemma3");
  if (gguf.empty()) FAIL() << RealModelMissing("gemma3");
  const PackedModel packed(gguf);
  const Ended plan = RunProgram("tessera_generate", {"--model=" + packed.path(), "--context=512", "--threads=2", "--dry_run", "--json"});
  const int64_t cache = *JsonValue::Parse(plan.output)->Object("memory_bytes")->Int("cache");
  for (int i = 0; i < 100; ++i) prompt_ += " the war began";  // A pass of so many rows touches all its scratch.
  ExpectWithin(Generating(packed.path()), 128 * kMiB + cache);
}

// Whatever is measured before a run fits, too: here there is little room for it.
TEST_F(MemoryBudget, OfATinyModelIsKept) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  const PackedModel packed(TinyPath("llama"));
  const Work work = Generating(packed.path());
  const int64_t least = LeastBudget(work);
  ASSERT_LE(least, 32 * kMiB);
  for (const int64_t more : {int64_t{0}, 8 * kMiB, 20 * kMiB}) {
    SCOPED_TRACE(more);
    const Measured measured = Run(work, least + more);
    EXPECT_EQ(measured.code, 0);
    EXPECT_LE(measured.peak, least + more + kMore);
    EXPECT_GT(measured.peak, 4 * kMiB) << "nothing was measured";
  }
}

TEST_F(MemoryBudget, IsKeptByEachWayOfReadingDraftingAndScoring) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  const std::string gguf = RealModelPath("smollm2");
  if (gguf.empty()) FAIL() << RealModelMissing("smollm2");
  const PackedModel packed(gguf);
  const TemporaryFolder folder;
  const CacheFolderFor cache(folder.Path("cache"));
  const Work scoring = {"tessera_perplexity", packed.path(), {"--window=512", "--max_windows=1", "--prompt_file=" + folder.Path("text")}};
  std::ofstream text(folder.Path("text"));
  for (int i = 0; i < 600; ++i) text << "the war began when ";
  text.close();
  for (const Work& work : {Generating(packed.path(), {"--io=pread"}), Generating(packed.path(), {"--io=buffered"}),
                           Generating(packed.path(), {"--speculate=auto", "--history=kept"}),
                           Generating(packed.path(), {"--speculate=auto", "--history=kept"}), scoring}) {
    SCOPED_TRACE(absl::StrCat(work.program, " ", work.flags.back()));
    ExpectWithin(work, LeastBudget(work));
  }
}

// What the flash can do is measured once, before weights take the memory that measuring needs.
TEST_F(MemoryBudget, IsKeptWhereMeasurementsCannotBe) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  const std::string gguf = RealModelPath("smollm2");
  if (gguf.empty()) FAIL() << RealModelMissing("smollm2");
  const PackedModel packed(gguf);
  const CacheFolderFor nowhere("/proc/none");
  const Work work = Generating(packed.path());
  const int64_t least = LeastBudget(work);
  ExpectWithin(work, least);
  const std::string errors = RunProgram(work.program, work.Within(least)).errors;
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(errors, "not kept")).size(), 2) << "measured once: " << errors;
}

TEST_F(MemoryBudget, AModelThatIsNotPackedIsSaidToNeedPacking) {
  const Ended refused = RunProgram("tessera_generate", {"--model=" + TinyPath("llama"), "--memory_budget=1MiB", "--prompt=a"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.errors.find("--memory_budget: " + TinyPath("llama") + ": found 1.00 MiB, expected at least "),
            std::string::npos)
      << refused.errors;
  EXPECT_NE(refused.errors.find("less once it is packed"), std::string::npos) << refused.errors;
}

TEST_F(MemoryBudget, FlagsOfStreamingThatCannotCountAreUsageErrors) {
  const PackedModel packed(TinyPath("llama"));
  const auto errors = [](const std::string& program, const std::vector<std::string>& flags) {
    const Ended ended = RunProgram(program, flags);
    EXPECT_EQ(ended.code, 2) << ended.errors;
    EXPECT_TRUE(ended.output.empty()) << ended.output;
    return ended.errors;
  };
  for (const std::string flag : {"--flash=ufs4.0", "--io=pread", "--pin=none", "--verify=always", "--io=auto"}) {
    const std::string name = flag.substr(0, flag.find('='));
    for (const char* program : {"tessera_generate", "tessera_perplexity", "tessera_logits", "tessera_bench speed"}) {
      SCOPED_TRACE(absl::StrCat(program, " ", flag));
      const std::string without = errors(program, {"--model=" + packed.path(), flag});
      EXPECT_NE(without.find(name + ": found without --memory_budget, expected both"), std::string::npos) << without;
      const std::string unpacked = errors(program, {"--model=" + packed.gguf(), "--memory_budget=1GiB", flag});
      EXPECT_NE(unpacked.find(name + ": found with " + packed.gguf() + ", expected a model packed with tessera_pack"),
                std::string::npos)
          << unpacked;
    }
  }
  const Ended given = RunProgram("tessera_generate", {"--model=" + packed.path(), "--memory_budget=1GiB", "--flash=ufs4.0", "--io=pread",
                                                      "--pin=none", "--verify=always", "--raw", "--prompt=a", "--n_predict=1"});
  EXPECT_EQ(given.code, 0) << given.errors;
}

TEST_F(MemoryBudget, BadValuesOfTheFlagsOfStreamingAreUsageErrors) {
  const PackedModel packed(TinyPath("llama"));
  struct Case { const char* flag; const char* said; };
  for (const Case& c : {Case{"--memory_budget=much", "--memory_budget: size: found \"much\""},
                        Case{"--memory_budget=0", "--memory_budget: found 0"}, Case{"--memory_budget=-1", "--memory_budget"},
                        Case{"--memory_budget=1e9GiB", "found \"1e9GiB\" (not a plain number and a unit)"},
                        Case{"--memory_budget=99999999999GiB", "too large"},
                        Case{"--pin=most", "--pin: found \"most\", expected auto, spread, prefix or none"},
                        Case{"--io=dma", "--io: found \"dma\", expected one of auto, io_uring, pread, buffered"},
                        Case{"--verify=twice", "--verify: found \"twice\", expected first, always or never"},
                        Case{"--flash=no_such_flash", "no_such_flash"}}) {
    const Ended ended = RunProgram("tessera_generate", {"--model=" + packed.path(), "--prompt=a", "--memory_budget=1GiB", c.flag});
    EXPECT_NE(ended.code, 0) << c.flag;
    EXPECT_LT(ended.code, 128) << c.flag;
    EXPECT_TRUE(ended.output.empty()) << c.flag;
    EXPECT_NE(ended.errors.find(c.said), std::string::npos) << c.flag << ": " << ended.errors;
  }
}

}  // namespace
}  // namespace tessera
