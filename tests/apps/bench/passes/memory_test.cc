// tessera_bench memory: peaks and the page cache, measured from outside too.
#include "tessera/apps/bench/passes/memory_use.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

struct Measured {
  JsonValue bytes;
  int64_t peak;   // As the system says of the ended process.
};

Measured Measure(const std::string& model, const std::vector<std::string>& flags) {
  std::vector<std::string> all = {"--json", "--threads=2", "--model=" + model};
  all.insert(all.end(), flags.begin(), flags.end());
  const Ended ended = RunProgram("tessera_bench memory", all);
  CHECK_EQ(ended.code, 0) << ended.errors;
  return {*Json(ended.output).Object("memory_bytes"), ended.peak_memory};
}

int64_t Int(const Measured& measured, const char* key) { return *measured.bytes.Int(key); }

// The context is filled to its end, in passes of all rows.
TEST(Memory, AFullContextTakesNoMoreThanFileAndCacheAnd64MiB) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  for (const char* name : {"smollm2", "gemma3"}) {
    const std::string model = RealModelPath(name);
    if (model.empty()) FAIL() << RealModelMissing(name);
    const Measured measured = Measure(model, {"--depth=576", "--prompt_tokens=448", "--generate_tokens=2"});
    EXPECT_EQ(Int(measured, "limit"), Int(measured, "file") + Int(measured, "cache") + (64 << 20));
    EXPECT_EQ(Int(measured, "file"), static_cast<int64_t>(std::filesystem::file_size(model)));
    EXPECT_LE(measured.peak, Int(measured, "limit")) << name;
    EXPECT_GT(measured.peak, Int(measured, "file") * 19 / 20 + Int(measured, "cache")) << "the context was not filled";
    EXPECT_NEAR(Int(measured, "peak_running"), measured.peak, 1 << 20) << "what it says of itself";
    EXPECT_LE(Int(measured, "peak_loading"), Int(measured, "file") * 6 / 5) << "packing a second time, or reading all at once";
  }
}

TEST(Memory, LoadingLeavesNoCopyOfTheFileInThePageCache) {
  const TemporaryFolder folder;
  const std::string model = folder.Path("model.gguf");
  std::filesystem::copy_file(TinyPath("llama"), model);
  const int descriptor = open(model.c_str(), O_RDONLY | O_CLOEXEC);
  fsync(descriptor);
  posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  const Measured cold = Measure(model, {"--prompt_tokens=4", "--generate_tokens=0"});
  if (Int(cold, "in_page_cache_before") > 0) GTEST_SKIP() << folder.path() << " lies in memory";
  // A page that two threads read at once may stay: each finds it held by the other.
  EXPECT_LE(Int(cold, "in_page_cache_after"), 4 * sysconf(_SC_PAGESIZE));
  std::string bytes(Int(cold, "file"), ' ');
  ASSERT_EQ(pread(descriptor, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  close(descriptor);
  const Measured warm = Measure(model, {"--prompt_tokens=4", "--generate_tokens=0"});
  EXPECT_GE(Int(warm, "in_page_cache_before"), Int(warm, "file"));
  EXPECT_EQ(Int(warm, "in_page_cache_after"), Int(warm, "in_page_cache_before"));
}

TEST(Memory, HeaderExample) {
  const auto example = []() -> absl::Status {
    const EngineOptions options = {.model_path = TinyPath("llama"), .compute = {.threads = 1}};
    ASSIGN_OR_RETURN(const MeasuredMemory use, MeasureMemory(options, {.prompt_tokens = 8, .generate_tokens = 8}));
    EXPECT_TRUE(absl::StrContains(MemoryUseText(use), "peak, running"));
    EXPECT_GT(use.peak_running, use.file);
    return absl::OkStatus();
  };
  EXPECT_EQ(example(), absl::OkStatus());
}

}  // namespace
}  // namespace tessera
