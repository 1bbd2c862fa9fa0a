// --device=host:unshared: this machine, whose graphs are read from a packed file as they are loaded. Texts are the same by each rule.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_model.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class HostGraphs : public ::testing::Test {
 protected:
  HostGraphs() { PackFile(TinyPath("llama"), model()); }
  std::string model() const { return folder_.Path("model.tsr"); }
  Ended RunWith(const std::string& program, std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"--model=" + model(), "--context=128"});
    return RunProgram(program, flags);
  }
  Ended Generate(std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"--raw", "--prompt=abcdefghijklmnopqrstuvwxyz", "--temperature=0", "--n_predict=6", "--speculate=none",
                               "--stats"});
    return RunWith("tessera_generate", flags);
  }
  const TemporaryFolder folder_;
};

std::string LineOf(const Ended& ended, const std::string& begin) {
  for (absl::string_view line : absl::StrSplit(ended.errors, '\n')) {
    if (absl::StartsWith(line, begin)) return std::string(line);
  }
  return "";
}

TEST_F(HostGraphs, TextsEqualResidentWeightsByEachRule) {
  const Ended resident = Generate({});
  ASSERT_EQ(resident.code, 0) << resident.errors;
  EXPECT_EQ(LineOf(resident, "graphs: "), "");
  for (const std::string rule : {"auto", "padded", "synchronous", "naive", "published", "planned", "none"}) {
    const Ended ended = Generate({"--device=host:unshared", "--switching=" + rule});
    ASSERT_EQ(ended.code, 0) << ended.errors;
    EXPECT_EQ(ended.output, resident.output) << rule;
    const std::string begin = absl::StrCat("switching: ", rule == "auto" ? "planned" : rule, ", ");
    EXPECT_EQ(absl::StartsWith(LineOf(ended, "switching: "), begin), rule != "none") << ended.errors;
    EXPECT_TRUE(absl::StrContains(LineOf(ended, "graphs: "), " loads of ")) << ended.errors;
    EXPECT_EQ(LineOf(ended, "phone: "), "");
  }
  EXPECT_TRUE(std::filesystem::exists(model() + ".host.switch.json"));
}

TEST_F(HostGraphs, APlanCountsOneGraphOfEachBlockAndTwoWithoutSwitching) {
  const auto weights_of = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--dry_run", "--json"});
    const Ended ended = Generate(flags);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return Must(Must(Must(JsonValue::Parse(ended.output, "plan")).Object("memory_bytes")).Int("weights"));
  };
  const int64_t switched = weights_of({"--device=host:unshared"}), both = weights_of({"--device=host:unshared", "--switching=none"});
  EXPECT_GT(both, switched);
  EXPECT_LT(both, 2 * switched) << "head and embeddings are there once";
  EXPECT_FALSE(std::filesystem::exists(model() + ".host.switch.json")) << "a dry run reads and measures nothing";
  const Ended budget = Generate({"--device=host:unshared", "--memory_budget=1G", "--flash=ufs4.0"});
  EXPECT_EQ(budget.code, 0) << budget.errors;
  EXPECT_TRUE(absl::StrContains(budget.errors, "weights in graphs and beside them")) << budget.errors;
  const Ended small = Generate({"--device=host:unshared", "--memory_budget=1M"});
  EXPECT_NE(small.code, 0);
  EXPECT_TRUE(absl::StrContains(small.errors, "memory_budget: ")) << small.errors;
}

TEST_F(HostGraphs, ATraceHasReadsBesideGraphs) {
  const std::string path = folder_.Path("trace.json");
  const Ended ended = Generate({"--device=host:unshared", "--trace=" + path});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const char* part : {"\"flash\"", "\"load\"", "\"graph_run\""}) EXPECT_TRUE(absl::StrContains(text, part)) << part;
}

TEST_F(HostGraphs, SpeedsAreMeasuredWithThem) {
  const Ended ended =
      RunWith("tessera_bench speed", {"--device=host:unshared", "--prompt_tokens=40", "--generate_tokens=4", "--repetitions=1", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(Must(Must(JsonValue::Parse(ended.output, "speed")).String("device")), "host:unshared");
}

TEST_F(HostGraphs, ContradictoryFlagsAreWrongUsage) {
  const auto refused = [&](const std::vector<std::string>& flags, const std::string& says) {
    const Ended ended = Generate(flags);
    EXPECT_EQ(ended.code, 2) << says;
    EXPECT_TRUE(absl::StrContains(ended.errors, says)) << ended.errors;
  };
  refused({"--device=host"}, "--device: found host, expected host:unshared, or a phone");
  refused({"--device=host:static"}, "--device: found host:static, expected host:unshared, or a phone");
  refused({"--device=host:unshared", "--arithmetic=fast"}, "--arithmetic: found with --device=host:unshared, expected --path");
  refused({"--device=host:unshared", "--memory_budget=1G", "--pin=none"}, "--pin: found with --device=host:unshared, expected no pins");
  refused({"--device=host:unshared", "--switching=none", "--blocks=2"}, "--blocks: found 2 with --switching=none");
  refused({"--device=host:unshared", "--switching=fast"}, "--switching: found fast, expected auto, none, padded");
  const Ended gguf = RunProgram("tessera_generate", {"--device=host:unshared", "--model=" + TinyPath("llama"), "--raw", "--prompt=a"});
  EXPECT_EQ(gguf.code, 2);
  EXPECT_TRUE(absl::StrContains(gguf.errors, "tessera_pack MODEL.gguf MODEL.tsr")) << gguf.errors;
}

}  // namespace
}  // namespace tessera
