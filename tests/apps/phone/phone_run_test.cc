// Programs with --device: what they measure is the phone's time, the same to the digit in each run, whatever computes the numbers.
#include "tessera/apps/phone/phone_run.h"

#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/programs/short_run.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

Ended Answer(const std::string& program, std::vector<std::string> flags, const std::string& input = "") {
  std::vector<std::string> all = ShortRun(program);
  all.insert(all.end(), flags.begin(), flags.end());
  return RunProgram(program, all, input);
}

// The line of standard error that begins so.
std::string LineOf(const std::string& errors, const std::string& begin) {
  for (absl::string_view line : absl::StrSplit(errors, '\n')) {
    if (absl::StartsWith(line, begin)) return std::string(line);
  }
  return "";
}

TEST(PhoneRunHeader, HeaderExample) {
  EngineOptions options;
  const std::unique_ptr<PhoneRun> phone = Must(PhoneRun::OfFlags(options));
  EXPECT_EQ(phone, nullptr) << "without --device";
  EXPECT_EQ(options.clock, nullptr);
}

TEST(PhoneRun, MeasuredFiguresAreTheSameToTheDigitInEachRun) {
  for (const char* program : {"tessera_bench speed", "tessera_bench batch", "tessera_bench spec"}) {
    for (const char* device : {"8gen3", "8gen3:static"}) {
      const std::vector<std::string> flags = {absl::StrCat("--device=", device), "--context=512", "--json", "--arithmetic=fast"};
      const Ended first = Answer(program, flags), second = Answer(program, flags);
      ASSERT_EQ(first.code, 0) << program << first.errors;
      const JsonValue json = Must(JsonValue::Parse(first.output, program));
      EXPECT_EQ(Must(json.String("device")), device);
      const std::string line = LineOf(first.errors, "phone: ");
      EXPECT_FALSE(line.empty()) << first.errors;
      EXPECT_EQ(line, LineOf(second.errors, "phone: ")) << program;
    }
  }
}

// A slice of an operator is named after what it multiplies or computes; layer, rows, bytes and what bounds it are its arguments.
TEST(PhoneRun, SlicesOfATraceAreNamedAfterTheirOperators) {
  const TemporaryFolder folder;
  for (const std::string device : {"8gen3", "8gen3:static"}) {
    const Ended ended = Answer("tessera_generate", {"--device=" + device, "--context=512", "--prompt=abc",
                                                    "--trace=" + folder.Path("trace.json")});
    ASSERT_EQ(ended.code, 0) << ended.errors;
    const JsonValue trace = Must(JsonValue::Parse(Must(ReadFileToString(folder.Path("trace.json"), 1 << 24)), device));
    const JsonValue events = Must(trace.Array("traceEvents"));
    std::set<std::string> names, bounds;
    std::set<int64_t> layers;
    for (int64_t i = 0; i < events.size(); ++i) {
      const JsonValue arguments = Must(events[i].Object("args"));
      EXPECT_NE(Must(events[i].String("name")), "operator");
      if (!arguments.Has("bound")) continue;
      names.insert(Must(events[i].String("name")));
      bounds.insert(Must(arguments.String("bound")));
      if (arguments.Has("layer")) layers.insert(Must(arguments.Int("layer")));   // Embedding and head have none.
      EXPECT_GE(Must(arguments.Int("rows")), 1);
      EXPECT_GE(Must(arguments.Int("bytes")), 0);
    }
    for (const char* name : {"attn_q.weight", "ffn_down.weight", "Attention", "RmsNorm"}) EXPECT_EQ(names.count(name), 1u) << name;
    EXPECT_GE(bounds.size(), 2u) << device;
    EXPECT_GE(layers.size(), 2u) << device;
  }
}

TEST(PhoneRun, SpeedsDependOnThePhoneAndNotOnTheArithmetic) {
  const std::vector<std::string> flags = {"--context=512", "--json", "--prompt_tokens=16", "--generate_tokens=8", "--repetitions=2"};
  const auto speed = [&](const char* device, const char* arithmetic) {
    std::vector<std::string> all = flags;
    all.push_back(absl::StrCat("--device=", device));
    all.push_back(absl::StrCat("--arithmetic=", arithmetic));
    const Ended ended = Answer("tessera_bench speed", all);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    const JsonValue spread = Must(Must(Must(JsonValue::Parse(ended.output, "speed")).Object("generation")).Object("tokens_per_second"));
    EXPECT_EQ(Must(spread.Double("min")), Must(spread.Double("max"))) << "on a clock all repetitions are alike";
    return Must(spread.Double("median"));
  };
  const double npu = speed("8gen3:static", "npu");
  EXPECT_EQ(npu, speed("8gen3:static", "fast")) << "the same whatever computes";
  EXPECT_NE(npu, speed("8gen2:static", "npu"));
}

// A packed model under a budget: its weights come from the phone's flash, in the phone's time, and not in ours.
TEST(PhoneRun, WeightsAreReadOnThePhonesClock) {
  const TemporaryFolder folder;
  const std::string packed = folder.Path("model.tsr"), slow = folder.Path("slow.textproto");
  std::ofstream(slow) << "name: \"slow\"\nspeed { block_bytes: 1048576 depth: 1 megabytes_per_second: 0.5 source: \"a test\" }\n";
  const Ended made = RunProgram("tessera_pack", {"--model=" + TinyPath("llama"), "--recipe=001", "--out=" + packed});
  ASSERT_EQ(made.code, 0) << made.errors;
  const auto generate = [&](const std::string& flash, const char* device = "8gen3") {
    std::vector<std::string> flags = {"--model=" + packed, absl::StrCat("--device=", device), "--memory_budget=64MiB", "--pin=none",
                                      "--raw", "--n_predict=6", "--context=128", "--temperature=0", "--stats", "--threads=1"};
    if (!flash.empty()) flags.push_back("--flash=" + flash);
    return RunProgram("tessera_generate", flags, "the in the");
  };
  const Ended first = generate(slow), second = generate(slow), quick = generate("ufs4.0");
  ASSERT_EQ(first.code, 0) << first.errors;
  EXPECT_EQ(first.output, quick.output);
  EXPECT_FALSE(LineOf(first.errors, "flash: ").empty()) << first.errors;
  EXPECT_EQ(LineOf(first.errors, "flash: "), LineOf(second.errors, "flash: "));
  EXPECT_EQ(LineOf(first.errors, "phone: "), LineOf(second.errors, "phone: "));
  EXPECT_NE(LineOf(first.errors, "phone: "), LineOf(quick.errors, "phone: ")) << "a run waits for its weights";
  const Ended none = generate(""), unshared = generate("ufs4.0", "8gen3:unshared");
  EXPECT_EQ(none.code, 2);
  EXPECT_TRUE(absl::StrContains(none.errors, "--flash: found none with --device and --memory_budget, expected the phone's")) << none.errors;
  EXPECT_EQ(unshared.code, 2);
  EXPECT_TRUE(absl::StrContains(unshared.errors, "--memory_budget: found with --device=8gen3:unshared")) << unshared.errors;
}

TEST(PhoneRun, ATraceHasThePhonesPartsInItsTime) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("trace.json");
  const Ended ended = Answer("tessera_bench speed", {"--device=8gen3:static", "--context=512", "--trace=" + path});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const char* part : {"\"npu\"", "\"hvx\"", "\"dma\"", "\"RmsNorm\"", "\"pass\""}) EXPECT_TRUE(absl::StrContains(text, part)) << part;
}

TEST(PhoneRun, ARecipeNeedsNoPathBesideTheDevice) {
  const Ended ended = Answer("tessera_bench speed", {"--device=8gen3", "--recipe=qnn", "--context=512"});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  const Ended fast = Answer("tessera_bench speed", {"--device=8gen3", "--recipe=qnn", "--arithmetic=fast", "--context=512"});
  EXPECT_EQ(fast.code, 0) << fast.errors;
}

TEST(PhoneRun, ContradictoryFlagsAreWrongUsage) {
  struct Case { std::vector<std::string> flags; const char* said; };
  const Case cases[] = {
      {{"--arithmetic=fast"}, "--arithmetic: found without --device, expected both"},
      {{"--device=8gen3", "--arithmetic=exact"}, "--arithmetic: found exact, expected npu or fast"},
      {{"--device=8gen3", "--path=fast"}, "--path: found fast with --arithmetic=npu, expected npu"},
      {{"--device=8gen9"}, "--device: "}};
  for (const Case& each : cases) {
    const Ended ended = Answer("tessera_bench speed", each.flags);
    EXPECT_EQ(ended.code, 2) << each.flags.back() << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, each.said)) << ended.errors;
  }
  const Ended perplexity = Answer("tessera_perplexity", {"--device=8gen3"}, "the in the\n");
  EXPECT_EQ(perplexity.code, 2) << "it measures no time: " << perplexity.errors;
}

}  // namespace
}  // namespace tessera
