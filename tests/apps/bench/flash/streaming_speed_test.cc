// tessera_bench streaming on a small packed model: its figures add up, and they are compared with the right targets.
#include "tessera/apps/bench/flash/streaming_speed.h"

#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/match.h"
#include "tessera/apps/bench/flash/streaming_speed_text.h"
#include "tessera/apps/bench/models/random_model.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

// Eight layers of 2 MB each, so that a part is streamed whatever share is in memory. Packed once for all tests here.
const std::string& PackedModel() {
  static const TemporaryFolder folder;
  static const std::string path = [] {
    const std::string gguf = folder.Path("model.gguf"), packed = folder.Path("model.tsr");
    ThreadPool pool(2);
    const RandomModel model({.shape = {.name = "small", .width = 512, .layers = 8, .heads = 8, .kv_heads = 4, .head_size = 64,
                                       .feed_forward = 2048, .vocabulary = 512, .tied_head = true}});
    CHECK(model.Write(gguf, pool).ok());
    const Ended ended = RunProgram("tessera_pack", {gguf, packed});
    CHECK_EQ(ended.code, 0) << ended.errors;
    return packed;
  }();
  return path;
}

TEST(StreamedPasses, AreHeldAgainstTheGreaterOfComputingAndReading) {
  StreamedPasses passes = {.streamed_bytes = 500, .probe = 100, .compute_seconds = 1};
  EXPECT_EQ(passes.ReadAtProbe(), 5);
  EXPECT_DOUBLE_EQ(passes.Balance(), 0.2);
  EXPECT_TRUE(passes.BoundByReading());
  EXPECT_EQ(passes.MostOverLeast(), 1.08);
  EXPECT_EQ(passes.LeastOfProbe(), 0.95);
  passes.compute_seconds = 25;
  EXPECT_DOUBLE_EQ(passes.Balance(), 0.2);
  EXPECT_FALSE(passes.BoundByReading());
  EXPECT_EQ(passes.MostOverLeast(), 1.08);
  EXPECT_EQ(passes.LeastOfProbe(), 0) << "the device has to wait for computing";
  passes.compute_seconds = 4.5;
  EXPECT_EQ(passes.MostOverLeast(), 1.25);
  passes.compute_seconds = 3.5;
  EXPECT_EQ(passes.MostOverLeast(), 0);
}

TEST(StreamingReports, ShowTheRequiredBoundsBesideTheFigures) {
  StreamingSpeed speed = {
      .device = "pread", .probe = 4e9, .sequential = 4e9, .probe_of_sequential = 1, .memory_read = 20e9, .weight_bytes = 1000};
  speed.alone = {{VerifyPolicy::kAlways, {3e9, 0.125}, 0.75}};
  speed.passes = {{.share = 0.5, .streamed_bytes = 500, .bytes_read = 512, .probe = 100, .pass_seconds = 5.5, .compute_seconds = 1,
                   .of_probe = 0.93, .over_least = 1.1, .first = {.seconds = 0.25, .formula = 0.2, .of_formulas = 0.85}}};
  const std::string text = StreamingSpeedText(speed);
  for (const char* part : {"--verify=always  3.00    75.0 %     12.5 %  <= 18.0 %", "93.0 %  >= 95.0 %", "1.10  <= 1.08",
                           "250.0    200.0       85.0 %  >= 80.0 %"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  }
}

TEST(BenchStreaming, ReadsTheUnpinnedWeightsInAPass) {
  const Ended ended = RunProgram("tessera_bench streaming", {"--model=" + PackedModel(), "--repetitions=1", "--threads=1", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const absl::StatusOr<JsonValue> json = JsonValue::Parse(ended.output);
  ASSERT_TRUE(json.ok()) << ended.output;
  const JsonValue streaming = *json->Object("streaming");
  for (const char* name : {"probe_bytes_per_second", "sequential_bytes_per_second", "memory_bytes_per_second"}) {
    EXPECT_GT(*streaming.Double(name), 1e6) << name;
  }
  const JsonValue budgets = *streaming.Array("budgets"), alone = *streaming.Array("alone");
  ASSERT_GT(budgets.size(), 0);
  ASSERT_EQ(alone.size(), 3);
  for (int64_t i = 0; i < alone.size(); ++i) EXPECT_GT(*alone[i].Double("bytes_per_second"), 1e6);
  for (int64_t i = 0; i < budgets.size(); ++i) {
    const JsonValue& budget = budgets[i];
    const double pass = *budget.Double("pass_seconds"), streamed = static_cast<double>(*budget.Int("streamed_bytes"));
    EXPECT_EQ(streamed + static_cast<double>(*budget.Int("pinned_bytes")), static_cast<double>(*streaming.Int("weight_bytes")));
    EXPECT_GT(streamed, 0);
    EXPECT_NEAR(*budget.Double("bytes_read"), streamed, 0.25 * (streamed + static_cast<double>(*budget.Int("ring_bytes"))));
    EXPECT_GE(pass, *budget.Double("stall_seconds"));
    const JsonValue first = *budget.Object("first_prompt");
    const double probe = *budget.Double("probe_bytes_per_second"), compute = *first.Double("compute_seconds");
    EXPECT_GE(*first.Double("pins_first_formula"), compute);
    EXPECT_GE(*first.Double("formula"), compute);
    EXPECT_LE(*first.Double("formula"), *first.Double("pins_first_formula"));
    EXPECT_GT(probe, 0);
    for (const char* name : {"pins_first_seconds", "seconds", "second_seconds", "of_formulas"}) EXPECT_GT(*first.Double(name), 0) << name;
    EXPECT_NEAR(*budget.Double("of_probe"), *budget.Double("bytes_read") / pass / *budget.Double("probe_bytes_per_second"), 0.01);
  }
}

// Flash so slow that any disk is faster, however busy.
TEST(BenchStreaming, HoldsSlowerFlashAgainstItsOwnSpeed) {
  const TemporaryFolder folder;
  std::ofstream(folder.Path("flash")) << "name: \"slow\" speed { block_bytes: 1048576 depth: 1 megabytes_per_second: 50 source: \"-\" }";
  const Ended ended = RunProgram("tessera_bench streaming", {"--model=" + PackedModel(), "--flash=" + folder.Path("flash"),
                                                             "--memory_budget=50MiB", "--repetitions=1", "--threads=1", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue streaming = *JsonValue::Parse(ended.output)->Object("streaming");
  EXPECT_EQ(*streaming.Double("probe_bytes_per_second"), 50e6);
  const JsonValue alone = *streaming.Array("alone");
  for (int64_t i = 0; i < alone.size(); ++i) EXPECT_LT(*alone[i].Double("bytes_per_second"), 60e6);
}

TEST(BenchStreaming, DoesNotCountItsOwnMemoryToABudget) {
  const Ended ended = RunProgram("tessera_bench streaming", {"--model=" + PackedModel(), "--memory_budget=50MiB", "--repetitions=1",
                                                             "--threads=1", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue budgets = *JsonValue::Parse(ended.output)->Object("streaming")->Array("budgets");
  ASSERT_EQ(budgets.size(), 1);
  EXPECT_EQ(*budgets[0].Int("budget_bytes"), 50 << 20);
}

TEST(BenchStreaming, RefusesFlagsThatCannotBeMeasured) {
  const auto error = [](const std::vector<std::string>& arguments) {
    const Ended ended = RunProgram("tessera_bench streaming", arguments);
    EXPECT_NE(ended.code, 0);
    EXPECT_EQ(ended.output, "");
    return ended.errors;
  };
  const std::string packed = "--model=" + PackedModel();
  EXPECT_TRUE(absl::StrContains(error({"--model=" + TinyPath("llama")}), "--model: found"));
  EXPECT_TRUE(absl::StrContains(error({packed, "--memory_budget=4GiB"}), "--memory_budget: found"));
  EXPECT_TRUE(absl::StrContains(error({packed, "--memory_budget=1MiB"}), ": found 1.00 MiB, expected at least"));
  EXPECT_TRUE(absl::StrContains(error({packed, "--path=reference"}), "--path: found in \"tessera_bench streaming\""));
}

}  // namespace
}  // namespace tessera
