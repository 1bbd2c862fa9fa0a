// tessera_bench roofline, rows and attention, and what they count: the work of a pass, the bound of n rows, the drawn curve.
#include "tessera/apps/bench/passes/roofline.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/models/random_model.h"
#include "tessera/apps/bench/passes/attention_time.h"
#include "tessera/apps/bench/passes/rows_curve.h"
#include "tessera/apps/show/svg_plot.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/matmul_kernels.h"
#include "tessera/runtime/plan/machine_probe.h"
#include "tessera/runtime/plan/pass_work.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/ticking_clock.h"

namespace tessera {
namespace {

std::unique_ptr<Engine> Load(const std::string& path) { return *Engine::Load({.model_path = path, .compute = {.threads = 1}}); }

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

double AllProducts(const PassWork& work) {
  double sum = 0;
  for (double products : work.products) sum += products;
  return sum;
}

TEST(PassWorks, ProductsAreTwoPerWeightAndRowWithOneHeadRowAndOnlyWantedRowsInTheLastLayer) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("work.gguf");
  ThreadPool pool(1);
  const RandomShape shape = *RandomShapeByName("tiny");
  const RandomModel model({.shape = shape, .format = BlockFormat::kQ4_0, .head_format = BlockFormat::kQ8_0});
  ASSERT_EQ(model.Write(path, pool), absl::OkStatus());
  const auto engine = Load(path);
  const double norms = (2.0 * shape.layers + 1) * shape.width, head = static_cast<double>(shape.width) * shape.vocabulary;
  const double layers = static_cast<double>(model.parameters()) - norms - head;
  const double keys_and_values = 2.0 * shape.width * shape.kv_heads * shape.head_size;
  for (const auto& [rows, wanted] : {std::pair(1, 1), std::pair(3, 3), std::pair(3, 1)}) {
    const PassWork work = PassWorkOf(*engine, {.rows = rows, .wanted = wanted, .depth = 10});
    const double left_out = (rows - wanted) * (layers / shape.layers - keys_and_values);  // In the last layer.
    EXPECT_EQ(work.products[static_cast<int>(BlockFormat::kQ4_0)], 2 * (rows * layers - left_out));
    EXPECT_EQ(work.products[static_cast<int>(BlockFormat::kQ8_0)], 2 * head);
    EXPECT_EQ(AllProducts(work), 2 * (rows * layers - left_out + head));
    EXPECT_EQ(work.weight_bytes, layers * 18 / 32 + head * 34 / 32 + norms * 4);
    EXPECT_EQ(work.kv_bytes, (10.0 + rows) * shape.layers * 2 * shape.kv_heads * shape.head_size * 2);
  }
  std::filesystem::remove(path);
}

TEST(PassWorks, AttentionCountsTheVisiblePositionsOfEachRowWindowsIncluded) {
  const auto engine = Load(TinyPath("gemma3"));
  const ModelConfig& config = engine->config();
  for (int depth : {0, 7, 100}) {
    double expected = 0;
    for (const LayerConfig& layer : config.layers) {
      for (int position = depth; position < depth + 5; ++position) {
        for (int other = 0; other <= position; ++other) {
          if (layer.window == 0 || position - other < layer.window) expected += 4.0 * config.heads * config.head_size;
        }
      }
    }
    EXPECT_EQ(PassWorkOf(*engine, {.rows = 5, .wanted = 5, .depth = depth}).attention, expected) << depth;
  }
}

TEST(PassWorks, RowsThatAreNotWantedDoNotAttendInTheLastLayer) {
  const auto engine = Load(TinyPath("gemma3"));
  const ModelConfig& config = engine->config();
  const double a_pair = 4.0 * config.heads * config.head_size;
  const LayerConfig& last = config.layers.back();
  for (int depth : {0, 100}) {
    double left_out = 0;
    for (int position = depth; position < depth + 4; ++position) {
      left_out += a_pair * (last.window > 0 ? std::min(last.window, position + 1) : position + 1);
    }
    EXPECT_EQ(PassWorkOf(*engine, {.rows = 5, .wanted = 1, .depth = depth}).attention,
              PassWorkOf(*engine, {.rows = 5, .wanted = 5, .depth = depth}).attention - left_out);
  }
}

TEST(PassWorks, SecondsFollowThePeakOfEachFormat) {
  PassWork work;
  work.products[static_cast<int>(BlockFormat::kQ4_1)] = 100;
  work.products[static_cast<int>(BlockFormat::kF16)] = 30;
  EXPECT_DOUBLE_EQ(work.ProductSeconds(/*int8=*/50, /*fp32=*/10, /*reachable=*/false), 5);
  EXPECT_DOUBLE_EQ(work.ProductSeconds(50, 10, /*reachable=*/true), 2 / 0.68 + 3);
}

// All that is read or computed between two looks at the clock takes a millisecond.
TEST(MachineProbes, RatesAreOfAllThatWasReadAndComputed) {
  ThreadPool pool(1);
  const TickingClock clock(1'000'000);
  const int64_t bytes = 16 * PeakLoops::kReadStep;
  const MachineProbe probe = *MachineProbe::Create(pool, BestKernelPath(), bytes, clock);
  const PeakLoops& loops = MatMulKernelsFor(BestKernelPath()).peaks;
  const auto operations = [](int64_t products) { return 2e3 * static_cast<double>(products); };
  EXPECT_NEAR(probe.Read() / (1e3 * static_cast<double>(bytes)), 1, 1e-9);
  EXPECT_NEAR(probe.Int8() / operations(loops.int8(MachineProbe::kRounds)), 1, 1e-9);
  EXPECT_NEAR(probe.Fp32() / operations(loops.fp32(MachineProbe::kRounds)), 1, 1e-9);
}

// Both threads look at the clock before the first barrier, one of them after the last.
TEST(MachineProbes, ABarrierTakesItsShareOfTheTimeOfAll) {
  ThreadPool pool(2);
  const TickingClock clock(1000 * MachineProbe::kBarriers);
  const MachineProbe probe = *MachineProbe::Create(pool, BestKernelPath(), PeakLoops::kReadStep, clock);
  const double nanos = probe.BarrierNanos();
  EXPECT_TRUE(std::abs(nanos - 1000) < 1 || std::abs(nanos - 2000) < 1) << nanos;
}

TEST(MachineProbes, EndByAClockThatStandsStillOrGoesBack) {
  ThreadPool pool(1);
  for (const int64_t tick : {0, -1'000'000}) {
    const TickingClock clock(tick);
    const MachineProbe probe = *MachineProbe::Create(pool, BestKernelPath(), PeakLoops::kReadStep, clock);
    for (const double figure : {probe.Read(), probe.Int8(), probe.Fp32(), probe.BarrierNanos()}) {
      EXPECT_TRUE(std::isfinite(figure) && figure > 0) << figure;
    }
  }
}

TEST(RowsCurves, TheListIsChecked) {
  EXPECT_EQ(*ParseRows("1,2,40"), (std::vector<int>{1, 2, 40}));
  EXPECT_EQ(ParseRows("default")->back(), 64);
  for (const char* wrong : {"", "2,3", "1,1", "1,3,2", "0", "1,x", "1,,2", "1,513"}) {
    const absl::Status status = ParseRows(wrong).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << wrong;
    EXPECT_EQ(status.message().rfind("rows: found", 0), 0u) << status;
  }
}

TEST(RowsCurves, AreReadBackAsWritten) {
  RowsCurve curve;
  curve.points = {{.rows = 1, .seconds = 0.5, .bound_seconds = 0.6}, {.rows = 4, .seconds = 0.75, .bound_seconds = 0.7}};
  JsonWriter json;
  json.BeginObject();
  WriteRowsCurve(json, curve);
  json.EndObject();
  const TemporaryFolder folder;
  const std::string path = folder.Path("curve.json");
  ASSERT_EQ(WriteFileAtomically(path, json.text()), absl::OkStatus());
  const NamedCurve read = *ReadCurve(path);
  EXPECT_EQ(read.name, "tessera");
  EXPECT_EQ(read.points, (std::vector<std::pair<double, double>>{{1, 0.5}, {4, 0.75}}));
  EXPECT_TRUE(curve.points[0].Holds());
  EXPECT_FALSE(curve.points[1].Holds());
  for (const char* wrong : {"{}", "{\"name\": \"x\", \"rows\": [{\"rows\": 0, \"seconds\": 1}]}", "[", "{\"name\": \"x\", \"rows\": 3}"}) {
    ASSERT_EQ(WriteFileAtomically(path, wrong), absl::OkStatus());
    EXPECT_FALSE(ReadCurve(path).ok()) << wrong;
  }
  std::filesystem::remove(path);
}

TEST(SvgPlots, HaveACurveALegendAndPointsInsideThePicture) {
  const Plot plot = {"a < b & c", "rows", "ms", {{"ours", {{1, 2}, {64, 130}}}, {"bound", {{1, 3}, {64, 150}}, true}}};
  const std::string svg = PlotSvg(plot);
  EXPECT_EQ(Count(svg, "<polyline"), 2u);
  EXPECT_EQ(Count(svg, "<circle"), 2u) << "the dashed curve has no marks";
  EXPECT_EQ(Count(svg, "stroke-dasharray"), 2u) << "curve and legend";
  EXPECT_NE(svg.find(">a &lt; b &amp; c<"), std::string::npos);
  EXPECT_NE(svg.find(">bound<"), std::string::npos);
  EXPECT_NE(svg.find("points=\"73.9,383.4 700.0,86.4 \""), std::string::npos) << svg;
  EXPECT_EQ(PlotSvg({}).find("nan"), std::string::npos);
}

TEST(SvgPlots, TheLegendIsWhereNoCurveRuns) {
  EXPECT_NE(PlotSvg({"", "", "", {{"rises", {{1, 1}, {64, 100}}}}}).find("<text x=\"110.0\" y=\"56.0\""), std::string::npos);
  EXPECT_NE(PlotSvg({"", "", "", {{"falls", {{1, 100}, {10, 2}, {64, 1}}}}}).find("<text x=\"653.0\" y=\"56.0\""), std::string::npos);
  EXPECT_NE(PlotSvg({"", "", "", {{"both", {{1, 100}, {64, 100}}}}}).find("<text x=\"110.0\" y=\"56.0\""), std::string::npos);
}

TEST(BenchCommands, RooflineHasALineForEachDepth) {
  const Ended ended = RunProgram("tessera_bench roofline", {"--model=" + TinyPath("llama"), "--json", "--repetitions=1", "--threads=2",
                                                            "--prompt_tokens=16", "--generate_tokens=4", "--depth=32"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue roofline = *Json(ended.output).Object("roofline");
  const JsonValue lines = *roofline.Array("lines");
  std::vector<std::string> found;
  for (int64_t i = 0; i < lines.size(); ++i) {
    found.push_back(absl::StrCat(*lines[i].String("figure"), " ", *lines[i].Int("depth")));
    EXPECT_GT(*lines[i].Double("limit"), 0) << found.back();
    EXPECT_GE(*lines[i].Double("measured"), 0) << found.back();
  }
  EXPECT_EQ(found, (std::vector<std::string>{"generation 0", "generation 32", "prompt 0", "attention 32"}));
  EXPECT_EQ(roofline.Array("attention_of_pass")->size(), 1);
  EXPECT_GT(*roofline.Object("read_bytes_per_second")->Double("median"), 1e8);
}

TEST(AttentionTimes, TheListIsChecked) {
  EXPECT_EQ(*ParseDepths("128,4096"), (std::vector<int>{128, 4096}));
  EXPECT_EQ(*ParseDepths("default"), (std::vector<int>{128, 1024, 4096, 8192}));
  for (const char* wrong : {"", "0", "2,1", "x", "1048577"}) {
    EXPECT_EQ(ParseDepths(wrong).status().message().rfind("depths: found", 0), 0u) << wrong;
  }
}

TEST(AttentionTimes, HeaderExample) {
  const auto run = []() -> absl::Status {
    const auto engine = Load(TinyPath("llama"));
    ASSIGN_OR_RETURN(const std::vector<int> depths, ParseDepths("7,64"));
    ASSIGN_OR_RETURN(const std::vector<AttentionTime> all,
                     MeasureAttention(*engine, depths, {.token_pairs = 8, .prompt_pairs = 3, .prompt_tokens = 16}));
    EXPECT_EQ(all.size(), 4u);
    for (const AttentionTime& at : all) {
      EXPECT_EQ(at.rows, &at < &all[2] ? 1 : 16);
      EXPECT_GT(at.seconds, at.attention_seconds);
      EXPECT_LE(at.lower, at.attention_seconds);
      EXPECT_LE(at.attention_seconds, at.upper);
    }
    EXPECT_EQ(Count(AttentionText(all), "\n"), 6u);
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
}

TEST(BenchCommands, PassesAfterOthersTakeTurnsWithPassesAfterNone) {
  for (const int prompt : {0, 8}) {
    const Ended ended = RunProgram("tessera_bench attention", {"--model=" + TinyPath("llama"), "--depths=16,100", "--json",
                                                               "--repetitions=1", "--generate_tokens=3", "--threads=1",
                                                               absl::StrCat("--prompt_tokens=", prompt)});
    ASSERT_EQ(ended.code, 0) << ended.errors;
    const JsonValue all = *Json(ended.output).Array("attention");
    ASSERT_EQ(all.size(), prompt > 0 ? 4 : 2);
    EXPECT_EQ(*all[1].Int("depth"), 100);
    EXPECT_EQ(*all[all.size() - 1].Int("rows"), std::max(1, prompt));
    EXPECT_GT(*all[1].Double("seconds"), *all[1].Double("attention_seconds"));
  }
}

TEST(BenchCommands, RowsAreTimedAndDrawnBesideAPeer) {
  const TemporaryFolder folder;
  const std::string plot = folder.Path("rows.svg"), peer = folder.Path("peer.json");
  ASSERT_EQ(WriteFileAtomically(peer, R"({"name": "other", "rows": [{"rows": 1, "seconds": 0.001}, {"rows": 8, "seconds": 0.004}]})"),
            absl::OkStatus());
  const Ended ended = RunProgram("tessera_bench rows", {"--model=" + TinyPath("llama"), "--rows=1,2,8", "--json", "--repetitions=1",
                                                        "--threads=1", "--plot=" + plot, "--peer_curve=" + peer});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  const JsonValue rows = *Json(ended.output).Array("rows");
  ASSERT_EQ(rows.size(), 3);
  EXPECT_EQ(*rows[2].Int("rows"), 8);
  EXPECT_EQ(*rows[0].Double("ratio"), 1);
  for (int64_t i = 0; i < rows.size(); ++i) EXPECT_GT(*rows[i].Double("bound_seconds"), 0);
  const std::string svg = *ReadFileToString(plot, 1 << 20);
  EXPECT_EQ(Count(svg, "<polyline"), 3u);
  EXPECT_NE(svg.find(">other<"), std::string::npos);
  std::filesystem::remove(plot);
  std::filesystem::remove(peer);
}

TEST(BenchCommands, RefuseFlagsThatCannotBeMeasured) {
  struct Case { std::string command; std::vector<std::string> flags; std::string error; };
  for (const Case& c : {Case{"attention", {"--depths=2,1"}, "--depths: found"},
                        Case{"attention", {"--generate_tokens=0"}, "--generate_tokens: found 0"},
                        Case{"rows", {"--peer_curve=x"}, "--peer_curve: found without --plot"},
                        Case{"rows", {"--rows=2"}, "--rows: found 2 first"},
                        Case{"roofline", {"--prompt_tokens=0"}, "--prompt_tokens: found 0"}}) {
    std::vector<std::string> arguments = c.flags;
    arguments.push_back("--model=" + TinyPath("llama"));
    const Ended ended = RunProgram("tessera_bench " + c.command, arguments);
    EXPECT_EQ(ended.code, 2) << c.command << c.flags[0];
    EXPECT_EQ(ended.errors.rfind("tessera_bench " + c.command + ": " + c.error, 0), 0u) << ended.errors;
  }
}

}  // namespace
}  // namespace tessera
