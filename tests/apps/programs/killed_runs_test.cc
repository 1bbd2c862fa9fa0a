// Each program that writes files is killed while it does: what it leaves goes with the next run that writes there, and no other file does.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

struct Writer {
  const char* name;
  const char* program;
  const char* flags;   // @ is the folder of the files.
  const char* file;    // The end of what the program syncs when it is killed.
};

constexpr char kAnswer[] = "--model=@/model.gguf --n_predict=6 --temperature=0 --raw ";
constexpr char kSpeculated[] = "--model=@/model.gguf --data=" TESSERA_SOURCE_DIR "/tests/data/speculation --categories=gsm8k --texts=1 "
                               "--generate_tokens=2 --cost_profile=@/costs";

constexpr Writer kWriters[] = {
    {"Session", "tessera_generate", "--session=@/kept", "-kept.tmp"},
    {"Trace", "tessera_generate", "--trace=@/trace", "-trace.tmp"},
    {"Costs", "tessera_generate", "--cost_profile=@/costs", "-costs.tmp"},
    {"History", "tessera_generate", "--history=mail", ".tmp"},
    {"Copy", "tessera_generate", "--speculate=draft --draft_model=self:q3", ".tmp"},
    {"Pack", "tessera_pack", "--model=@/model.gguf --out=@/new.tsr", "-new.tsr.tmp"},
    {"Quantize", "tessera_quantize", "--model=@/model.gguf --head_format=Q4_1 --out=@/new.gguf", "-new.gguf.tmp"},
    {"QuantizePacked", "tessera_quantize", "--model=@/model.gguf --scheme=T3 --out=@/new.tsr", "-new.tsr.tmp"},
    {"Statistics", "tessera_quantize statistics", "--model=@/model.gguf --out=@/new.gguf", "-new.gguf.tmp"},
    {"States", "tessera_quantize states", "--model=@/model.gguf --layers=0,last --logits=top:2 --out=@/new.safetensors",
     "-new.safetensors.tmp"},
    {"RandomModel", "tessera_random_model", "--shape=tiny --out=@/new.gguf", "-new.gguf.tmp"},
    {"Plot", "tessera_reproduce npu", "--plot=@/plot", "-plot.tmp"},
    {"BenchCosts", "tessera_bench spec", kSpeculated, "-costs.tmp"},
};

void PrintTo(const Writer& writer, std::ostream* out) { *out << writer.name; }

class KilledRuns : public testing::TestWithParam<Writer> {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's library must be loaded before all others";
    std::filesystem::copy_file(TinyPath("llama"), folder_.Path("model.gguf"));
    for (const char* name : kOwn) std::ofstream(folder_.Path(name)) << "mine";
  }

  Ended Run(const std::string& killed_at) const {
    const bool answers = GetParam().program == std::string("tessera_generate");
    const std::string flags = absl::StrReplaceAll(absl::StrCat(answers ? kAnswer : "", GetParam().flags), {{"@", folder_.path()}});
    const auto prepare = [&] {
      setenv("TESSERA_CACHE", folder_.Path("cache").c_str(), 1);
      if (killed_at.empty()) return;
      setenv("LD_PRELOAD", TESSERA_BINARY_DIR "/bin/tessera_failing_calls.so", 1);
      setenv("TESSERA_FAILING_CALL", absl::StrCat("fsync ", -SIGKILL, " 0 ", killed_at).c_str(), 1);
    };
    return Program(GetParam().program, absl::StrSplit(flags, ' '), prepare).Finish("the in the");
  }

  std::vector<std::string> Left() const {
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      const std::string name = entry.path().filename().string();
      if (absl::StartsWith(name, ".tessera-") && absl::EndsWith(name, ".tmp")) left.push_back(name);
    }
    std::sort(left.begin(), left.end());
    return left;
  }

  static constexpr const char* kOwn[] = {".tessera-12-3.tmp", ".tessera-notes.tmp"};   // A person's, who chose such names.
  const TemporaryFolder folder_;
};

TEST_P(KilledRuns, LeaveNothingThatTheNextRunDoesNotRemove) {
  const std::vector<std::string> own(std::begin(kOwn), std::end(kOwn));
  const Ended killed = Run(GetParam().file);
  EXPECT_EQ(killed.code, 128 + SIGKILL) << killed.errors;
  ASSERT_EQ(Left().size(), own.size() + 1) << "it was killed before it wrote anything";
  const Ended whole = Run("");
  EXPECT_EQ(whole.code, 0) << whole.errors;
  EXPECT_EQ(Left(), own);
}

INSTANTIATE_TEST_SUITE_P(OfPrograms, KilledRuns, testing::ValuesIn(kWriters),
                         [](const testing::TestParamInfo<Writer>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera
