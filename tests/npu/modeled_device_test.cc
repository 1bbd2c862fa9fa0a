#include "tessera/npu/modeled/modeled_device.h"

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tessera/npu/hmx/hmx_device.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/paired_run.h"

namespace tessera {
namespace {

ModeledDevice::Options OptionsOf(const char* style, Timeline* timeline = nullptr) {
  return {.profile = LoadDeviceProfile("8gen3").value(), .style = ExecutionStyleByName(style).value(),
          .context = 1024, .timeline = timeline};
}

Graph Block(std::optional<TileScheme> scheme) {
  Graph graph;
  const BufferId k = graph.AddInput("key", 32), v = graph.AddInput("value", 32), q = graph.AddInput("query", 64);
  graph.Add(StoreKeyValue{.key = k, .value = v});
  const BufferId mixed = graph.AddScratch("mixed", 64);
  graph.Add(Attention{.query = q, .y = mixed, .heads = 4, .scale = 0.25f});
  graph.Add(Linear{.x = mixed, .products = {{.weight = graph.AddMatrix({"out", BlockFormat::kQ4_0, 96, 64}, scheme),
                                             .y = graph.AddOutput("y", 96)}}});
  return graph;
}

PairedRun NewRun() { return PairedRun(Block(TileScheme{}), {.kv_heads = 2, .head_size = 16, .slots = 64, .row_capacity = 32}); }

TEST(ModeledDevice, HeaderExample) {
  PairedRun run = NewRun();
  ThreadPool pool(2);
  VirtualClock clock;
  HmxDevice numbers(pool, {});
  ModeledDevice device(numbers, clock, OptionsOf("static"));
  run.On(device, Chain(3));
  EXPECT_GT(clock.NowNanos(), 0);
  EXPECT_GT(device.spent().joules, 0);
  EXPECT_EQ(device.name(), "8gen3");
}

TEST(ModeledDevice, BitsMatchTheOtherDevice) {
  PairedRun run = NewRun();
  ThreadPool pool(2);
  HmxDevice numbers(pool, {});
  const RowOutputs expected = run.On(numbers, Chain(20));
  for (const char* style : {"operators", "static", "unshared"}) {
    VirtualClock clock;
    ModeledDevice device(numbers, clock, OptionsOf(style));
    run.ForgetCaches();
    const RowOutputs found = run.On(device, Chain(20));
    for (size_t r = 0; r < expected.size(); ++r) EXPECT_TRUE(SameBits(found[r], expected[r])) << style << " row " << r;
  }
}

// A product with a place for an adapter.
Graph AdaptedProduct() {
  Graph graph;
  const BufferId x = graph.AddInput("x", 64);
  graph.Add(Linear{.x = x, .products = {{.weight = graph.AddMatrix({"w", BlockFormat::kQ4_0, 64, 64}, TileScheme{}),
                                         .y = graph.AddOutput("y", 64), .adapter = 0}}});
  graph.adapters = 1;
  return graph;
}

// What two rows take, each of which has one of these or none.
int64_t NanosWith(const ModeledDevice::Options& options, const AdapterProduct* first, const AdapterProduct* second) {
  PairedRun run(AdaptedProduct(), {.row_capacity = 4});
  ThreadPool pool(1);
  HmxDevice numbers(pool, {});
  VirtualClock clock;
  ModeledDevice device(numbers, clock, options);
  std::vector<TestRow> rows = Chain(2);
  rows[0].adapters = first, rows[1].adapters = second;
  run.On(device, rows);
  return clock.NowNanos();
}

TEST(ModeledDevice, AdaptersCostTheRanksOfRowsOrOfGraphs) {
  const std::vector<uint16_t> halves(64 * 512, 0x2000);
  const auto adapter = [&](int rank) {
    return AdapterProduct{.a = halves.data(), .b = halves.data(), .rank = rank, .scale = 1, .format = BlockFormat::kF16};
  };
  const AdapterProduct small = adapter(8), large = adapter(512);
  ModeledDevice::Options options = OptionsOf("static");
  const int64_t none = NanosWith(options, nullptr, nullptr), few = NanosWith(options, &small, &small),
                many = NanosWith(options, &large, &large);
  EXPECT_LT(none, few);
  EXPECT_LT(few, many);
  options.adapter_ranks = {512};
  EXPECT_EQ(NanosWith(options, nullptr, nullptr), many) << "inputs are multiplied, whatever is in them";
  EXPECT_EQ(NanosWith(options, &small, &small), many);
  options.masks_adapters = true;
  const int64_t masked = NanosWith(options, &large, &large);
  EXPECT_LT(many, masked);
  EXPECT_EQ(NanosWith(options, &small, nullptr), masked) << "a mask chooses for each row";
}

TEST(ModeledDevice, RowsOfARunHaveOneAdapter) {
  const std::vector<uint16_t> halves(64 * 8, 0x2000);
  const AdapterProduct one = {.a = halves.data(), .b = halves.data(), .rank = 8, .scale = 1, .format = BlockFormat::kF16}, other = one;
  const CompiledGraph compiled = Must(Compile(AdaptedProduct(), {.row_capacity = 4}));
  ThreadPool pool(1);
  HmxDevice numbers(pool, {});
  for (const AdapterProduct* const second : {&other, static_cast<const AdapterProduct*>(nullptr)}) {
    VirtualClock clock;
    ModeledDevice device(numbers, clock, OptionsOf("static"));
    const std::unique_ptr<LoadedGraph> loaded = Must(device.Load(compiled));
    const AdapterProduct* const adapters[] = {&one, second};
    const absl::Status status = device.Submit(*loaded, {.rows = 2, .adapters = adapters});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "found rows with different adapters in one run")) << status;
    EXPECT_EQ(clock.NowNanos(), 0);
  }
}

// Times of runs over the same rows.
std::vector<int64_t> TimesOf(Device& numbers, const char* style, PairedRun& run, int rows) {
  VirtualClock clock;
  ModeledDevice device(numbers, clock, OptionsOf(style));
  std::vector<int64_t> times;
  for (int i = 0; i < 3; ++i) {
    run.ForgetCaches();
    run.On(device, Chain(rows));
    times.push_back(clock.NowNanos());
  }
  return times;
}

TEST(ModeledDevice, TimeIsTheSameInEachRunAndWhateverThreadsCompute) {
  PairedRun run = NewRun();
  ThreadPool one(1), two(2);
  HmxDevice first(one, {}), second(two, {.kv_block = 32});
  for (const char* style : {"operators", "static", "unshared"}) {
    EXPECT_EQ(TimesOf(first, style, run, 9), TimesOf(second, style, run, 9)) << style;
  }
}

// Long runs leave the phone's arithmetic out, and keep its clock: the other device has no tiles, and the costs are those of tiles.
TEST(ModeledDevice, TimeIsTheSameByTheFastPathsArithmetic) {
  PairedRun in_tiles = NewRun(), plain(Block({}), {.kv_heads = 2, .head_size = 16, .slots = 64, .row_capacity = 32});
  ThreadPool pool(1);
  HmxDevice phone(pool, {});
  HostDevice host(pool);
  for (const char* style : {"operators", "static", "unshared"}) {
    VirtualClock phone_clock, fast_clock;
    ModeledDevice::Options options = OptionsOf(style);
    ModeledDevice exact(phone, phone_clock, options);
    options.tile_of = [](const GraphWeight&) { return std::optional<TileScheme>(TileScheme{}); };
    ModeledDevice fast(host, fast_clock, options);
    in_tiles.On(exact, Chain(7));
    plain.On(fast, Chain(7));
    EXPECT_EQ(phone_clock.NowNanos(), fast_clock.NowNanos()) << style;
    EXPECT_GT(fast_clock.NowNanos(), 0);
  }
}

TEST(ModeledDevice, OnlyByMailboxDoFewerRowsCostLess) {
  PairedRun run = NewRun();
  ThreadPool pool(1);
  HmxDevice numbers(pool, {});
  EXPECT_LT(TimesOf(numbers, "operators", run, 1)[0], TimesOf(numbers, "operators", run, 32)[0]);
  EXPECT_EQ(TimesOf(numbers, "static", run, 1)[0], TimesOf(numbers, "static", run, 32)[0]);
}

// No part works for two operators at once, and none before its operator begins.
void ExpectEachPartHasOneJob(const Timeline& timeline) {
  std::map<Resource, int64_t> ends;
  for (const TimelineEvent& event : timeline.Events()) {
    if (event.zone != Zone::kOperator) continue;
    EXPECT_LE(event.begin_ns, event.end_ns);
    EXPECT_GE(event.begin_ns, ends[event.resource]) << ResourceName(event.resource) << " has two jobs";
    ends[event.resource] = event.end_ns;
  }
  EXPECT_FALSE(ends.empty());
}

TEST(ModeledDevice, PartsArePlacedOneAfterTheOtherOnTheTimeline) {
  PairedRun run = NewRun();
  ThreadPool pool(1);
  HmxDevice numbers(pool, {});
  for (const char* style : {"operators", "static", "unshared"}) {
    VirtualClock clock;
    Timeline timeline({.clock = &clock});
    ModeledDevice device(numbers, clock, OptionsOf(style, &timeline));
    for (int i = 0; i < 4; ++i) {
      run.ForgetCaches();
      run.On(device, Chain(7));
    }
    ExpectEachPartHasOneJob(timeline);
    double busy = 0;
    for (const double seconds : device.spent().seconds) busy += seconds;
    EXPECT_GT(busy, 0);
    EXPECT_LE(device.spent().run_seconds, static_cast<double>(clock.NowNanos()) * 1e-9 + 1e-6);
  }
}

// Without weights of their own graphs are there at once; else a run waits until its graph is loaded, and loads follow one another.
TEST(ModeledDevice, ARunWaitsForItsGraph) {
  PairedRun run = NewRun();
  ThreadPool pool(1);
  HmxDevice numbers(pool, {});
  VirtualClock clock;
  ModeledDevice device(numbers, clock, OptionsOf("unshared"));
  const LoadCost cost = device.CostOf(run.compiled());
  EXPECT_GT(cost.seconds, 0);
  const std::unique_ptr<LoadedGraph> first = device.Load(run.compiled()).value();
  device.SplitLoads();
  const std::unique_ptr<LoadedGraph> second = device.Load(run.compiled()).value();
  device.SplitLoads();
  EXPECT_EQ(clock.NowNanos(), 0) << "loading goes on beside what else is done";
  EXPECT_NEAR(device.spent().load_seconds, 2 * cost.seconds, 1e-9);
  EXPECT_GT(first->bytes(), numbers.CostOf(run.compiled()).bytes);
  run.On(device, Chain(1));   // A third graph.
  EXPECT_GE(static_cast<double>(clock.NowNanos()) * 1e-9, 3 * cost.seconds - 1e-8);
  EXPECT_NEAR(device.spent().waited_seconds, 3 * cost.seconds, 1e-8);
}

// A block of layers is one graph on a phone.
TEST(ModeledDevice, GraphsThatAreLoadedAtOneTimeAreOneLoad) {
  PairedRun run = NewRun();
  ThreadPool pool(1);
  HmxDevice numbers(pool, {});
  VirtualClock clock;
  ModeledDevice device(numbers, clock, OptionsOf("unshared"));
  const LoadCost cost = device.CostOf(run.compiled());
  EXPECT_EQ(cost.fixed_seconds, device.profile().load_seconds);
  EXPECT_GT(cost.seconds, cost.fixed_seconds) << "bytes take time, too";
  const std::unique_ptr<LoadedGraph> first = device.Load(run.compiled()).value(), second = device.Load(run.compiled()).value();
  EXPECT_NEAR(device.spent().load_seconds, 2 * cost.seconds - cost.fixed_seconds, 1e-12);
  EXPECT_EQ(device.spent().loads, 1);
  const int64_t end = static_cast<int64_t>(std::llround(device.spent().load_seconds * 1e9));
  clock.Advance(end - 1);
  EXPECT_FALSE(first->is_ready()) << "it is there when all of the load is";
  EXPECT_FALSE(second->is_ready());
  clock.Advance(1);
  EXPECT_TRUE(first->is_ready() && second->is_ready());
}

TEST(ModeledDevice, LoadsWithWorkBetweenThemAreTwo) {
  PairedRun run = NewRun();
  ThreadPool pool(1);
  HmxDevice numbers(pool, {});
  // What is done between two loads, and the number of loads that come of it.
  using Work = std::function<void(ModeledDevice&, VirtualClock&, LoadedGraph&)>;
  const std::pair<const char*, Work> works[] = {
      {"a run that has only begun",
       [&](ModeledDevice& device, VirtualClock&, LoadedGraph& graph) { Must(device.Submit(graph, run.Prepare(device, Chain(1)))); }},
      {"the CPU's work", [](ModeledDevice& device, VirtualClock&, LoadedGraph&) { device.SpendOnCpu(1e-3, Zone::kSample); }},
      {"time", [](ModeledDevice&, VirtualClock& clock, LoadedGraph&) { clock.Advance(1); }},
      {"another block", [](ModeledDevice& device, VirtualClock&, LoadedGraph&) { device.SplitLoads(); }}};
  for (const auto& [name, work] : works) {
    VirtualClock clock;
    ModeledDevice device(numbers, clock, OptionsOf("unshared"));
    const LoadCost cost = device.CostOf(run.compiled());
    run.ForgetCaches();
    const std::unique_ptr<LoadedGraph> first = device.Load(run.compiled()).value();
    work(device, clock, *first);
    const std::unique_ptr<LoadedGraph> second = device.Load(run.compiled()).value();
    EXPECT_NEAR(device.spent().load_seconds, 2 * cost.seconds, 1e-12) << name;
    EXPECT_EQ(device.spent().loads, 2) << name;
    Must(device.Wait());
  }
}

TEST(ModeledDevice, RecordsNothingWithRecordingOff) {
  PairedRun run = NewRun();
  ThreadPool pool(1);
  HmxDevice numbers(pool, {});
  VirtualClock clock;
  Timeline timeline({.clock = &clock});
  ModeledDevice device(numbers, clock, OptionsOf("unshared", &timeline));
  device.SetRecording(false);
  run.On(device, Chain(4));
  device.SpendOnCpu(1e-3, Zone::kSample);
  EXPECT_TRUE(timeline.Events().empty());
  device.SetRecording(true);
  run.ForgetCaches();
  run.On(device, Chain(4));
  EXPECT_FALSE(timeline.Events().empty());
  ExpectEachPartHasOneJob(timeline);
}

// What the CPU does between runs: runs begin after it.
TEST(ModeledDevice, WorkOfTheCpuDelaysTheNextRun) {
  PairedRun run = NewRun();
  ThreadPool pool(1);
  HmxDevice numbers(pool, {});
  VirtualClock clock, alone_clock;
  Timeline timeline({.clock = &clock});
  ModeledDevice device(numbers, clock, OptionsOf("operators", &timeline)), alone(numbers, alone_clock, OptionsOf("operators"));
  run.On(alone, Chain(4));
  device.SpendOnCpu(0.25, Zone::kSample);
  EXPECT_EQ(clock.NowNanos(), 250'000'000);
  EXPECT_DOUBLE_EQ(device.spent().seconds[static_cast<int>(Bound::kCpu)], 0.25);
  EXPECT_DOUBLE_EQ(device.spent().joules, 0.25 * (device.profile().idle_watts + device.profile().cpu_watts));
  run.ForgetCaches();
  run.On(device, Chain(4));
  EXPECT_EQ(clock.NowNanos(), 250'000'000 + alone_clock.NowNanos());
  ExpectEachPartHasOneJob(timeline);
  const TimelineEvent first = timeline.Events()[0];
  EXPECT_EQ(first.zone, Zone::kSample);
  EXPECT_EQ(first.resource, Resource::kCpu);
  EXPECT_EQ(first.end_ns - first.begin_ns, 250'000'000);
}

// The slowest profile that is one, with the largest context: time goes on, and where it would end, runs are refused.
TEST(ModeledDevice, VirtualTimeNeverOverflowsNorGoesBack) {
  PairedRun run = NewRun();
  ThreadPool pool(1);
  HmxDevice numbers(pool, {});
  for (const char* style : {"operators", "static", "unshared"}) {
    ModeledDevice::Options options = OptionsOf(style);
    options.context = 1 << 24;
    for (const ProfileField& field : ProfileFields()) {
      const absl::string_view name = field.name, unit = field.unit;
      const bool is_time = unit == "s" || unit == "packets";
      if (name != "tcm_bytes") options.profile.*field.value = is_time ? field.most : field.least;
    }
    VirtualClock clock;
    ModeledDevice device(numbers, clock, options);
    const std::unique_ptr<LoadedGraph> graph = device.Load(run.compiled()).value();
    int64_t before = clock.NowNanos();
    for (int i = 0; i < 3; ++i) {
      run.ForgetCaches();
      run.On(device, Chain(20));
      EXPECT_GT(clock.NowNanos(), before) << style;
      before = clock.NowNanos();
    }
    EXPECT_GT(before, 1'000'000'000) << style << ": it is slow";
    // Far beyond what is left.
    for (int i = 0; i < 40; ++i) device.SpendOnCpu(1e8, Zone::kSample);
    EXPECT_GE(clock.NowNanos(), before);
    before = clock.NowNanos();
    EXPECT_GT(before, 3'200'000'000'000'000'000);
    const absl::Status status = device.Load(run.compiled()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
    device.SpendOnCpu(1e300, Zone::kSample);
    EXPECT_GE(clock.NowNanos(), before);
    EXPECT_LE(clock.NowNanos() - before, 1000) << "but for rounding";
  }
}

TEST(ModeledDevice, ErrorsOfTheOtherDeviceMoveNoClock) {
  PairedRun run = NewRun();
  ThreadPool pool(1);
  HmxDevice numbers(pool, {});
  VirtualClock clock;
  ModeledDevice device(numbers, clock, OptionsOf("operators"));
  const std::unique_ptr<LoadedGraph> graph = device.Load(run.compiled()).value();
  RunArguments arguments;
  arguments.rows = 1;   // Nothing else that the graph needs.
  EXPECT_FALSE(device.Run(*graph, arguments).ok());
  EXPECT_EQ(clock.NowNanos(), 0);
  EXPECT_EQ(device.spent().runs, 0);
}

}  // namespace
}  // namespace tessera
