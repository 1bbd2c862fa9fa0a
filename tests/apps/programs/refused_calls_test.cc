// Systems that refuse what programs only wish for: folders without modes, disks that tell nothing of themselves, containers with a filter,
// clocks that go back. Each program does what it does elsewhere.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/programs/failing_call_run.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

constexpr int kRefusals[] = {EPERM, EACCES, EINVAL, ENOSYS, EOPNOTSUPP};

// A call that is refused, and what is said all the same.
struct Refused {
  const char* program;
  const char* flags;  // @ is the folder of the files.
  const char* function;
  const char* file = "";       // The end of its path.
  const char* written = "";    // The file that was there before and is another one afterwards, or that is new.
  bool same_output = true;     // Else it has times in it.
};

void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.program << ' ' << refused.flags << ", " << refused.function; }

constexpr char kAnswered[] = "--model=@/model.gguf --n_predict=6 --temperature=0";
constexpr char kAnsweredPacked[] = "--model=@/model.tsr --n_predict=6 --temperature=0";
constexpr char kAnsweredStreamed[] = "--model=@/model.tsr --memory_budget=1GiB --pin=none --n_predict=2 --temperature=0";
constexpr char kTracedTwice[] = "--model=@/model.gguf --n_predict=6 --temperature=0 --trace=@/prompts";
constexpr char kPackedAgain[] = "--model=@/model.gguf --out=@/old.tsr";
constexpr char kQuantizedAgain[] = "--model=@/model.gguf --head_format=Q4_1 --out=@/old.gguf";
constexpr char kRandomAgain[] = "--shape=tiny --out=@/old.gguf";

constexpr Refused kRefused[] = {
    {"tessera_generate", kTracedTwice, "fchmod", ".tmp", "prompts"},
    {"tessera_pack", kPackedAgain, "fchmod", ".tmp", "old.tsr", false},
    {"tessera_quantize", kQuantizedAgain, "fchmod", ".tmp", "old.gguf", false},
    {"tessera_random_model", kRandomAgain, "fchmod", ".tmp", "old.gguf", false},
    {"tessera_pack", kPackedAgain, "fallocate", ".tmp", "old.tsr", false},
    {"tessera_pack", kPackedAgain, "sync_file_range", ".tmp", "old.tsr", false},
    {"tessera_pack", kPackedAgain, "posix_fadvise", ".tmp", "old.tsr", false},
    {"tessera_pack", kPackedAgain, "flock", ".tmp", "old.tsr", false},
    {"tessera_pack", kPackedAgain, "ioctl", ".tmp", "old.tsr", false},
    {"tessera_generate", kAnswered, "posix_fadvise", "/model.gguf"},
    {"tessera_generate", kAnswered, "sched_getaffinity"},
    {"tessera_generate", kAnsweredPacked, "madvise"},
    {"tessera_generate", kAnsweredPacked, "mincore"},
    {"tessera_generate", kAnsweredPacked, "setpriority"},
    {"tessera_generate", kAnsweredStreamed, "madvise"},
    {"tessera_generate", kAnsweredStreamed, "posix_fadvise", "/model.tsr"},
    {"tessera_generate", kAnsweredStreamed, "sched_setscheduler"},
};

class RefusedCalls : public testing::TestWithParam<Refused> {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's library must be loaded before all others";
  }
};

TEST_P(RefusedCalls, ChangeNothing) {
  const Refused& c = GetParam();
  const ProgramRun whole = RunWithCall(c.program, c.flags, "the in the");
  ASSERT_EQ(whole.ended.code, 0) << whole.ended.errors;
  for (const int error : kRefusals) {
    SCOPED_TRACE(std::strerror(error));
    const ProgramRun run = RunWithCall(c.program, c.flags, "the in the", Call{c.function, error, c.file});
    ASSERT_TRUE(run.failed) << "the program makes no such call: " << run.ended.errors;
    EXPECT_EQ(run.ended.code, 0) << run.ended.errors;
    if (c.same_output) EXPECT_EQ(run.ended.output, whole.ended.output);
    ASSERT_EQ(run.after.size(), whole.after.size());
    for (const auto& [name, contents] : run.after) EXPECT_EQ(contents != run.before.at(name), name == c.written) << name;
  }
}

std::string NameOf(const testing::TestParamInfo<Refused>& info) {
  return absl::StrCat(info.param.program, "_", info.param.function, "_", info.index);
}

INSTANTIATE_TEST_SUITE_P(OfPrograms, RefusedCalls, testing::ValuesIn(kRefused), NameOf);

// FIEMAP on a disk in memory, and on others that do not have it.
TEST(PiecesOnADisk, ThatDoesNotTellThemAreUnknownAndWarnOfNothing) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's library must be loaded before all others";
  const Call untold = {"ioctl", EOPNOTSUPP, ".tmp"};
  const ProgramRun text = RunWithCall("tessera_pack", kPackedAgain, "", untold);
  EXPECT_EQ(text.ended.code, 0);
  EXPECT_FALSE(absl::StrContains(text.ended.errors, "pieces")) << text.ended.errors;
  const size_t pieces = text.ended.output.find("pieces on the disk");
  ASSERT_NE(pieces, std::string::npos) << text.ended.output;
  EXPECT_TRUE(absl::StrContains(text.ended.output.substr(pieces, 60), "unknown")) << text.ended.output;
  const ProgramRun json = RunWithCall("tessera_pack", absl::StrCat(kPackedAgain, " --json"), "", untold);
  EXPECT_TRUE(absl::StrContains(json.ended.output, "\"extents\":null")) << json.ended.output;
  EXPECT_FALSE(absl::StrContains(json.ended.errors, "pieces")) << json.ended.errors;
}

// The system's clocks go back by a millisecond at each look.
struct Timed {
  const char* program;
  const char* flags;
  const char* input = "the in the";
};

constexpr Timed kTimed[] = {
    {"tessera_generate", "--model=@/model.gguf --n_predict=6 --temperature=0 --stats --json"},
    {"tessera_generate", "--model=@/model.gguf --n_predict=6 --temperature=0 --stats --speculate=lookup --trace=@/trace"},
    {"tessera_generate", "--model=@/model.tsr --memory_budget=1GiB --pin=none --n_predict=4 --temperature=0 --stats --json"},
    {"tessera_generate", "--model=@/model.gguf --temperature=0 --jsonl", "{\"id\": 1, \"text\": \"the\"}\n{\"id\": 2, \"text\": \"in\"}\n"},
    {"tessera_bench speed", "--model=@/model.gguf --prompt_tokens=4 --generate_tokens=2 --repetitions=2 --json"},
    {"tessera_pack", "--model=@/model.gguf --out=@/old.tsr --json"},
    {"tessera_perplexity", "--model=@/model.gguf --window=4 --json"},
};

class BackwardClocks : public testing::TestWithParam<Timed> {};

// Whether a number below 0 stands in the text, or one that is none.
bool HasNonsense(const std::string& text) {
  for (const char* word : {"nan", "inf", "e+18", "e+19", "922337203", "184467440"}) {
    if (absl::StrContains(text, word)) return true;
  }
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == '-' && absl::StrContains(" :,[\n", text[i - 1]) && std::isdigit(static_cast<unsigned char>(text[i + 1]))) return true;
  }
  return false;
}

TEST_P(BackwardClocks, MakeNoTimeNegativeAndNothingWait) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's library must be loaded before all others";
  const Timed& c = GetParam();
  const ProgramRun whole = RunWithCall(c.program, c.flags, c.input, std::nullopt, /*keeps_times=*/true);
  ASSERT_FALSE(HasNonsense(whole.ended.output) || HasNonsense(whole.ended.errors)) << whole.ended.output << whole.ended.errors;
  const ProgramRun run = RunWithCall(c.program, c.flags, c.input, Call{"clock_gettime", 0, ""}, /*keeps_times=*/true);
  ASSERT_TRUE(run.failed) << "the program reads no clock";
  EXPECT_EQ(run.ended.code, 0) << run.ended.errors;
  EXPECT_FALSE(HasNonsense(run.ended.output)) << run.ended.output;
  EXPECT_FALSE(HasNonsense(run.ended.errors)) << run.ended.errors;
  for (const auto& [name, contents] : run.after) {
    const std::string times = absl::StrReplaceAll(contents, {{"\"detail\":-1", ""}});   // A graph without a layer.
    if (name == "trace") EXPECT_FALSE(HasNonsense(times)) << times;
  }
}

INSTANTIATE_TEST_SUITE_P(OfTheSystem, BackwardClocks, testing::ValuesIn(kTimed));

}  // namespace
}  // namespace tessera
