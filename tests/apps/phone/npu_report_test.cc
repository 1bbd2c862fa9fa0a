// tessera_inspect --device: what it says, that it says the same again, and what it refuses.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/apps/phone/phone_report_text.h"
#include "tessera/model/files/known_shapes.h"
#include "tessera/npu/modeled/place_operators.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

Ended Report(std::vector<std::string> flags, const std::string& input = "") {
  flags.insert(flags.begin(), "--device=8gen3");   // The last --device counts.
  return RunProgram("tessera_inspect", flags, input);
}

JsonValue Json(std::vector<std::string> flags) {
  flags.push_back("--json");
  const Ended ended = Report(flags);
  EXPECT_EQ(ended.code, 0) << ended.errors;
  return Must(JsonValue::Parse(ended.output, "report"));
}

double At(const JsonValue& json, const char* object, const char* key) { return Must(Must(json.Object(object)).Double(key)); }

TEST(PhoneReportHeader, HeaderExample) {
  const PhoneReport report = Must(MakePhoneReport({.device = "8gen3", .shape = "qwen2.5-1.5b", .prompt = 512}));
  EXPECT_TRUE(absl::StrContains(PhoneReportText(report), "8gen3"));
  EXPECT_TRUE(JsonValue::Parse(PhoneReportJson(report), "report").ok());
  Timeline timeline({.capacity = 1 << 12});
  RecordPass(report, 0, timeline);
  EXPECT_FALSE(timeline.Events().empty());
}

TEST(NpuReport, HasSpeedsTimesMemoryAndBoundsByRows) {
  const JsonValue json = Json({"--device=8gen3", "--shape=qwen2.5-1.5b", "--prompt=512", "--decode=128", "--rows=1,4,8,16",
                               "--context=4096"});
  for (const char* key : {"prefill_tokens_per_second", "decode_tokens_per_second", "first_token_milliseconds", "load_milliseconds"}) {
    EXPECT_GT(Must(json.Double(key)), 0) << key;
  }
  double before = 0, per_token = 1e9;
  for (const char* rows : {"1", "4", "8", "16"}) {
    const double milliseconds = At(json, "pass_milliseconds", rows);
    EXPECT_GE(milliseconds, before);
    EXPECT_LT(milliseconds / std::stoi(rows), per_token) << "rows that share weights cost less each";
    before = milliseconds;
    per_token = milliseconds / std::stoi(rows);
    EXPECT_FALSE(Must(Must(json.Object("bound_by")).String(rows)).empty());
    EXPECT_LE(At(json, "energy_relative", rows), 1.0);
  }
  double sum = 0;
  const JsonValue memory = Must(json.Object("memory_bytes"));
  for (const char* part : {"weights", "cpu_weights", "keys_and_values", "activations"}) sum += Must(memory.Double(part));
  EXPECT_EQ(sum, Must(memory.Double("total")));
}

TEST(NpuReport, SaysTheSameToTheDigit) {
  for (const char* style : {"operators", "static", "unshared"}) {
    const std::vector<std::string> flags = {"--shape=llama-3.2-1b", std::string("--device=8gen2:") + style, "--rows=1,32", "--json"};
    const Ended first = Report(flags), second = Report(flags);
    EXPECT_EQ(first.code, 0) << first.errors;
    EXPECT_EQ(first.output, second.output);
  }
}

// Time that each operator takes, and a call, is all of a pass.
TEST(NpuReport, OperatorsAddUpToThePass) {
  for (const char* style : {"operators", "static", "unshared"}) {
    const PhoneReport report = Must(MakePhoneReport({.device = absl::StrCat("8gen3:", style), .shape = "qwen2.5-0.5b", .rows = {1, 16}}));
    for (const PassCost& pass : report.passes) {
      double sum = pass.call_seconds;
      for (const auto& [label, cost] : pass.operators) sum += cost.seconds;
      EXPECT_NEAR(sum, pass.seconds, 1e-12) << style;
    }
  }
}

// The trace is the pass: operators in their order, no part with two jobs at once, and all parts as busy as the report says.
TEST(NpuReport, ATraceHasEachOperatorInItsPlace) {
  for (const char* style : {"operators", "static", "unshared"}) {
    const PhoneReport report = Must(MakePhoneReport({.device = absl::StrCat("8gen3:", style), .shape = "qwen2.5-0.5b", .rows = {1, 16}}));
    for (size_t index = 0; index < report.passes.size(); ++index) {
      const PassCost& pass = report.passes[index];
      Timeline timeline({.capacity = 1 << 18});
      EXPECT_NEAR(static_cast<double>(RecordPass(report, index, timeline)) * 1e-9, pass.seconds, 1e-7) << style;
      ASSERT_EQ(timeline.dropped(), 0);
      std::map<Resource, int64_t> ends, busy;
      int32_t number = -1, layers = -1;
      for (const TimelineEvent& event : timeline.Events()) {
        if (event.zone == Zone::kGraphRun) layers = std::max(layers, event.detail);
        if (event.zone != Zone::kOperator) continue;
        EXPECT_GE(event.detail, number) << "layer by layer";
        number = event.detail;
        EXPECT_GE(event.begin_ns, ends[event.resource]) << ResourceName(event.resource) << " has two jobs";
        ends[event.resource] = event.end_ns;
        busy[event.resource] += event.end_ns - event.begin_ns;
      }
      EXPECT_EQ(layers, 24) << "what comes after the last layer, too";
      for (const Bound part : {Bound::kMatrix, Bound::kVector, Bound::kDma, Bound::kCpu}) {
        EXPECT_NEAR(static_cast<double>(busy[ResourceOf(part)]) * 1e-9, pass.busy[static_cast<size_t>(part)], 1e-6) << BoundName(part);
      }
    }
  }
}

TEST(NpuReport, AllShapesAndPhonesHaveAReport) {
  for (const KnownShape& shape : KnownShapes()) {
    const PhoneReport report = Must(MakePhoneReport({.device = "8elite:static", .shape = shape.name}));
    EXPECT_GT(report.decode_tokens_per_second(), 0) << shape.name;
  }
  for (const std::string& device : DeviceProfileNames()) {
    EXPECT_GT(Must(MakePhoneReport({.device = device, .shape = "qwen3-0.6b"})).decode_tokens_per_second(), 0) << device;
  }
}

TEST(NpuReport, AFilesOwnShapeIsTaken) {
  const JsonValue json = Json({"--model=" + TinyPath("llama"), "--prompt=8", "--decode=8", "--context=64"});
  EXPECT_EQ(Must(json.String("shape")), TinyPath("llama"));
}

// The one-for-all paper's three ways, for three tasks: what memory has, and what a pass computes.
TEST(NpuReport, AdaptersOfSeveralTasksCostTheBytesAndTimeOfTheirMode) {
  const std::vector<std::string> flags = {"--device=8gen3:static", "--shape=llama-3.2-1b", "--prompt=128", "--decode=8", "--context=1024"};
  const auto report = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = flags;
    all.insert(all.end(), more.begin(), more.end());
    return Json(all);
  };
  const JsonValue plain = report({}), sixteen = report({"--adapter_rank=16"});
  EXPECT_FALSE(plain.Has("lora"));
  const double without = At(plain, "pass_milliseconds", "1");
  const JsonValue json = report({"--lora_ranks=8,8,16"}), ways = Must(json.Array("lora"));
  ASSERT_EQ(ways.size(), 4);   // Graphs of two ranks.
  const JsonValue input = ways[0], mask = ways[1], small = ways[2], large = ways[3];
  for (const auto& [way, name, rank] : {std::tuple(input, "input", 16), {mask, "mask", 32}, {small, "graph", 8}, {large, "graph", 16}}) {
    EXPECT_EQ(Must(way.String("lora_mode")), name);
    EXPECT_EQ(Must(way.Int("rank")), rank);
    EXPECT_EQ(Must(way.Int("graphs")), std::string(name) == "graph" ? 3 : 1);
    EXPECT_GT(Must(way.Double("row_milliseconds")), without);
  }
  const int64_t numbers = 16 * (2 * 2048 + 2 * (2048 + 512) + 2 * 2048 + 3 * (2048 + 8192));   // 16 layers, of rank 1.
  EXPECT_EQ(Must(mask.Int("bytes")), 2 * 32 * numbers);
  EXPECT_EQ(Must(large.Int("bytes")), 2 * 32 * numbers);
  EXPECT_EQ(Must(input.Int("bytes")), 2 * 48 * numbers);
  EXPECT_EQ(Must(input.Int("padding_bytes")), 2 * 16 * numbers);
  EXPECT_EQ(Must(mask.Int("padding_bytes")), 0);
  EXPECT_EQ(Must(mask.Double("switch_milliseconds")), 0);
  EXPECT_GT(Must(input.Double("switch_milliseconds")), 0);
  EXPECT_EQ(Must(large.Double("switch_milliseconds")), 1) << "as the profile has it for graphs that share weights";
  EXPECT_LT(Must(small.Double("row_milliseconds")), Must(large.Double("row_milliseconds")));
  EXPECT_EQ(Must(input.Double("row_milliseconds")), Must(large.Double("row_milliseconds")));
  EXPECT_LT(Must(large.Double("row_milliseconds")), Must(mask.Double("row_milliseconds")));
  // The rest of the report is by --lora_mode.
  EXPECT_EQ(Must(json.String("lora_mode")), "graph");
  EXPECT_EQ(At(json, "pass_milliseconds", "1"), At(sixteen, "pass_milliseconds", "1"));
  EXPECT_GT(At(report({"--lora_mode=mask", "--lora_ranks=8,8,16"}), "pass_milliseconds", "1"), At(sixteen, "pass_milliseconds", "1"));
  EXPECT_EQ(Must(report({"--lora_ranks=16,16"}).Array("lora"))[0].Int("padding_bytes").value(), 0);
  const Ended shown = Report({"--device=8gen3:static", "--shape=llama-3.2-1b", "--lora_ranks=4"});
  EXPECT_TRUE(absl::StrContains(shown.output, "\nadapters by ")) << shown.output;
}

// Graphs with weights of their own are loaded whole.
TEST(NpuReport, AnotherTasksGraphIsALoadWhereWeightsAreNotShared) {
  const JsonValue json = Json({"--device=8gen3:unshared", "--shape=qwen2.5-0.5b", "--lora_ranks=8,8"});
  EXPECT_EQ(Must(Must(json.Array("lora"))[2].Double("switch_milliseconds")), Must(json.Double("load_milliseconds")));
}

TEST(NpuReport, NamesAndCountsThatMeanNothingAreWrongUsage) {
  const std::pair<const char*, const char*> wrong[] = {
      {"--shape=llama-9", "--shape: "}, {"--device=9gen9", "--device: "}, {"--device=8gen3:dynamic", "--device: "},
      {"--recipe=int5", "--recipe: "}, {"--device=8gen3:static:none", "--device: "},
      {"--prompt=0", "--prompt: found 0, expected 1 to "}, {"--prompt=many", "--prompt: "}, {"--decode=-1", "--decode: found -1"},
      {"--rows=4,1", "--rows: "}, {"--context=100", "--context: found 100, expected at least 640"},
      {"--chunk_rows=9999", "--chunk_rows: "}, {"--adapter_rank=-1", "--adapter_rank: "},
      {"--model=x.gguf", "--shape: found beside --model"},
      {"--lora_mode=mask", "--lora_mode: found without --lora_ranks, expected both"},
      {"--lora_ranks=8,x", "--lora_ranks: found 8,x, expected ranks, with commas between"},
      {"--lora_ranks=0", "--lora_ranks: found 0, expected 1 to 1024"},
      {"--lora_ranks=8", "--lora_ranks: found with style operators, expected static or unshared"}};
  for (const auto& [flag, error] : wrong) {
    const Ended ended = Report({"--shape=qwen3-0.6b", flag});
    EXPECT_EQ(ended.code, 2) << flag << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, error)) << ended.errors;
    EXPECT_EQ(ended.output, "");
  }
}

TEST(NpuReport, LinesAreAnsweredInTheirOrderAndBadOnesNamed) {
  const Ended ended = Report({"--jsonl", "--shape=qwen3-0.6b"}, "{\"rows\": [1, 2]}\n\n{\"row\": 1}\n{\"device\": \"8elite\"}\n[1]\n");
  EXPECT_EQ(ended.code, 1);
  const std::vector<std::string> lines = absl::StrSplit(ended.output, '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_GT(At(Must(JsonValue::Parse(lines[0], "")), "pass_milliseconds", "2"), 0);
  EXPECT_TRUE(absl::StrContains(lines[1], "row: found a field that is not known")) << lines[1];
  EXPECT_EQ(Must(Must(JsonValue::Parse(lines[2], "")).String("device")), "8elite");
  EXPECT_TRUE(absl::StrContains(lines[3], "found no object, expected an object")) << lines[3];
}

}  // namespace
}  // namespace tessera
