// What requests cost on a phone: the same as its report says of passes, prompts and loading, and the CPU's own way.
#include "tessera/apps/lab/papers/figures/phone_costs.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/model/block_graph.h"
#include "tessera/model/files/known_shapes.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/modeled/modeled_device.h"
#include "tessera/runtime/plan/phone_report.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

std::unique_ptr<PhoneCosts> Small(const char* phone = "8gen2") {
  return Must(PhoneCosts::Open(Must(LoadDeviceProfile(phone)), "qwen2.5-0.5b"));
}

// The same phone, shape, style and recipe.
PhoneReport Report() {
  return Must(MakePhoneReport({.device = "8gen2:unshared", .shape = "qwen2.5-0.5b", .prompt = 700, .decode = 128, .rows = {1, 32}}));
}

TEST(PhoneCosts, HeaderExample) {
  const std::unique_ptr<PhoneCosts> phone = Must(PhoneCosts::Open(Must(LoadDeviceProfile("8gen3")), "qwen2.5-1.5b"));
  const RequestSetup setup;
  const RequestWork work = {.prompt_tokens = 512, .tokens = 4};
  EXPECT_GT(Must(SimulateRequest(phone->costs(), setup, work)).seconds.total(), 0);
  EXPECT_GT(phone->memory().total() + phone->cpu_copy_bytes(), phone->memory().total());
}

TEST(PhoneCosts, PassesTakeTheReportsTimeAndEnergy) {
  const PhoneReport report = Report();
  const auto phone = Small();
  const RequestCosts costs = phone->costs();
  const int rows[] = {1, 32};
  for (size_t i = 0; i < 2; ++i) {
    const RunCost layers = Must(costs.layer_run(rows[i], 700 + 64 + rows[i])), head = Must(costs.head_run(rows[i]));
    EXPECT_NEAR(layers.seconds + head.seconds + costs.call_seconds, report.passes[i].seconds, 1e-12);
    EXPECT_NEAR(layers.joules + head.joules + costs.call_seconds * costs.idle_watts, report.passes[i].joules, 1e-9);
  }
}

TEST(PhoneCosts, PromptsAndLoadsTakeTheReportsTime) {
  const PhoneReport report = Report();
  const auto phone = Small();
  const RequestResult result = Must(SimulateRequest(phone->costs(), {.rule = SwitchRule::kSynchronous}, {.prompt_tokens = 700}));
  EXPECT_NEAR(result.seconds.prefill, report.prompt.seconds, 1e-9);
  EXPECT_NEAR(result.seconds.switching, report.load_seconds, 1e-9);
}

// Layers that a device loads at one time, by the phone's clock, take as long as a request waits for their block: to the digit, but for
// rounding of sums. A request counts the bytes of the output norm among its layers'.
TEST(PhoneCosts, ABlockIsLoadedInTheTimeThatADeviceTakes) {
  const ExecutionStyle style = Must(ExecutionStyleByName("unshared"));
  const WeightRecipe recipe = Must(WeightRecipe::Parse(RecipeOfStyle(style)));
  const std::unique_ptr<GgufFile> gguf = Must(OpenKnownShape("qwen2.5-0.5b"));
  const ModelConfig config = Must(ReadModelConfig(*gguf));
  const WeightLayout layout = Must(WeightLayout::Plan(*gguf, config, WeightEncoding::kPacked));
  ModeledDevice::Options options = {.profile = Must(LoadDeviceProfile("8gen2")), .style = style};
  options.tile_of = [&](const GraphWeight& weight) {
    return recipe.FormOf(weight.spec.name, config.tied_head, weight.spec.format, weight.spec.in_features).tile;
  };
  ThreadPool pool(1);
  HostDevice numbers(pool);
  VirtualClock clock;
  ModeledDevice device(numbers, clock, options);
  const CompiledGraph norm = Must(Compile(BuildOutputNormGraph(config, layout).graph, {.row_capacity = 32}));
  std::vector<CompiledGraph> layers;
  double growing = device.CostOf(norm).seconds - device.CostOf(norm).fixed_seconds;
  for (int layer = 0; layer < static_cast<int>(config.layers.size()); ++layer) {
    layers.push_back(Must(Compile(BuildLayerGraph(config, layout, layer).graph, {.row_capacity = 32})));
    growing += device.CostOf(layers.back()).seconds - device.CostOf(layers.back()).fixed_seconds;
  }
  const auto phone = Small();
  RequestCosts costs = phone->costs();
  EXPECT_EQ(costs.load_seconds, device.CostOf(layers[0]).fixed_seconds);
  EXPECT_NEAR(costs.layers * costs.load_seconds_per_layer, growing, 1e-12);

  costs.load_seconds_per_layer = device.CostOf(layers[0]).seconds - device.CostOf(layers[0]).fixed_seconds;
  for (const int blocks : {1, 4, 7, 24}) {
    const RequestSetup setup = {.rule = SwitchRule::kSynchronous, .blocks = blocks};
    const double waited = Must(SimulateRequest(costs, setup, {.prompt_tokens = 256})).seconds.switching;
    const ModeledDevice::Spent before = device.spent();
    for (size_t layer = 0, block = 0; block < static_cast<size_t>(blocks); ++block) {
      device.SplitLoads();
      const size_t end = layers.size() * (block + 1) / static_cast<size_t>(blocks);
      for (; layer < end; ++layer) Must(device.Load(layers[layer]));
    }
    EXPECT_EQ(device.spent().loads - before.loads, blocks);
    EXPECT_NEAR(device.spent().load_seconds - before.load_seconds, waited, 1e-9) << blocks << " blocks";
  }
}

TEST(PhoneCosts, AttentionOfHeldRowsIsTheSameWhereAllAre) {
  const auto phone = Small();
  const RequestCosts costs = phone->CostsOfHeldRows();
  const RunCost all = Must(costs.layer_run(32, 1000)), held = Must(costs.held_run(32, 32, 1000)), one = Must(costs.held_run(32, 1, 1000));
  EXPECT_EQ(held.seconds, all.seconds);
  EXPECT_EQ(held.joules, all.joules);
  EXPECT_LT(one.seconds, all.seconds);
  EXPECT_GT(one.seconds, Must(costs.layer_run(1, 1000)).seconds * 0.5) << "the rest of the graph costs what it did";
  EXPECT_TRUE(phone->costs().held_run == nullptr) << "unless it is asked for";
}

TEST(PhoneCosts, TheSecondAnswerIsTheFirst) {
  const auto phone = Small();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Must(phone->costs().layer_run(32, 500)).seconds, Must(Small()->costs().layer_run(32, 500)).seconds);
    EXPECT_EQ(Must(phone->costs().head_run(3)).seconds, Must(Small()->costs().head_run(3)).seconds);
  }
}

// Reading is what one row takes, multiplying what many rows take.
TEST(PhoneCosts, TheCpuTakesTheLongerOfReadingAndMultiplying) {
  const auto phone = Small();
  const DeviceProfile profile = Must(LoadDeviceProfile("8gen2"));
  const RequestCosts costs = phone->costs();
  const auto layers = [&](int rows) { return Must(costs.cpu_pass(rows, 1)).seconds - Must(costs.head_run(rows)).seconds; };
  const double reading = static_cast<double>(phone->cpu_copy_bytes()) / profile.cpu_bytes_per_second;
  EXPECT_NEAR(layers(1), reading, 0.01 * reading);
  EXPECT_GT(layers(256), 8 * reading);
  EXPECT_NEAR(layers(512), 2 * layers(256), 0.01 * layers(512));
  EXPECT_GT(Must(costs.cpu_pass(1, 4000)).seconds, Must(costs.cpu_pass(1, 1)).seconds);
}

TEST(PhoneCosts, AShapeThatIsNotKnownIsRefused) {
  EXPECT_EQ(PhoneCosts::Open(Must(LoadDeviceProfile("8gen2")), "qwen9").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tessera
