// Whole requests by costs that a hand can add up: parts, switching, drafts, models that draft, energy, and what is refused.
#include "tessera/apps/lab/papers/sdnpu/phone_request.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/papers/figures/phone_costs.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/double_booking.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

// The papers' example of switching: six layers, 1 s each on the prefill graph of 8 rows, 0.5 s on the decode graph of 4, 2 s to load.
RequestCosts HandCosts() {
  return {.layers = 6,
          .call_seconds = 0,
          .load_seconds = 0,
          .load_seconds_per_layer = 2,
          .draft_seconds = 0.25,
          .calibrate_seconds = 0.125,
          .idle_watts = 1,
          .cpu_watts = 2,
          .flash_watts = 0.5,
          .layer_run = [](int rows, int64_t) -> absl::StatusOr<RunCost> { return rows <= 4 ? RunCost{3, 6} : RunCost{6, 12}; },
          .head_run = [](int) -> absl::StatusOr<RunCost> { return RunCost{0.5, 1}; },
          .cpu_pass = [](int rows, int64_t) -> absl::StatusOr<RunCost> { return RunCost{1 + 0.1 * rows, 3}; }};
}

RequestSetup HandSetup(SwitchRule rule) { return {.rule = rule, .blocks = 6, .prefill_rows = 8, .decode_rows = 4}; }

const std::vector<RecordedPass>& HandPasses() {
  static const std::vector<RecordedPass> passes = {{3, 1}, {2, 2}};   // 2 and 3 tokens.
  return passes;
}

RequestWork HandWork() { return {.prompt_tokens = 16, .tokens = 6, .passes = HandPasses()}; }

TEST(PhoneRequest, HeaderExample) {
  const std::vector<RecordedPass> passes(20, {.drafted = 8, .accepted = 3});
  const std::unique_ptr<PhoneCosts> phone = Must(PhoneCosts::Open(Must(LoadDeviceProfile("8gen3")), "qwen2.5-1.5b"));
  const RequestSetup setup = {.rule = SwitchRule::kPublished, .blocks = 6, .drafting = Drafting::kRecorded};
  const RequestWork work = {.prompt_tokens = 900, .tokens = 64, .passes = passes};
  const RequestResult result = Must(SimulateRequest(phone->costs(), setup, work));
  EXPECT_GT(result.seconds.total(), result.seconds.switching);
  EXPECT_GT(result.joules, 0);
}

TEST(PhoneRequest, IsTheSumThatAHandMakes) {
  RequestSetup setup = HandSetup(SwitchRule::kPublished);
  setup.drafting = Drafting::kRecorded;
  setup.calibrates = true;
  const RequestResult result = Must(SimulateRequest(HandCosts(), setup, HandWork()));
  EXPECT_DOUBLE_EQ(result.seconds.prefill, 12 + 0.5);   // As the papers' figure 8 has it, and the head.
  EXPECT_NEAR(result.seconds.switching, 0, 1e-12);
  EXPECT_DOUBLE_EQ(result.seconds.calibration, 16 * 0.125);
  EXPECT_DOUBLE_EQ(result.seconds.drafting, 2 * 0.25);
  EXPECT_DOUBLE_EQ(result.seconds.decode, 2 * (3 + 0.5));
  EXPECT_DOUBLE_EQ(result.seconds.total(), 22);
  // Six blocks on prefill graphs, six on decode graphs twice, loads, head, calibration, passes, drafting.
  EXPECT_NEAR(result.joules, 6 * 2 + 6 * 2 * 1 + 6 * 2 * 0.5 + 1 + 2 * 3 + 2 * (6 + 1) + 2 * 0.25 * 3, 1e-12);
  EXPECT_EQ(result.passes, 2);
  EXPECT_EQ(result.valid_rows, 5);
  EXPECT_EQ(result.wasted_rows, 2);
  EXPECT_EQ(result.empty_rows, 1);
}

TEST(PhoneRequest, WaitsAsTheRuleSays) {
  const std::pair<SwitchRule, double> waits[] = {{SwitchRule::kPadded, 0}, {SwitchRule::kSynchronous, 12}, {SwitchRule::kPublished, 0}};
  for (const auto& [rule, waited] : waits) {
    const RequestResult result = Must(SimulateRequest(HandCosts(), HandSetup(rule), HandWork()));
    EXPECT_NEAR(result.seconds.switching, waited, 1e-12) << SwitchRuleName(rule);
    EXPECT_NEAR(result.seconds.prefill, 12.5, 1e-12) << SwitchRuleName(rule);
  }
  const RequestResult naive = Must(SimulateRequest(HandCosts(), HandSetup(SwitchRule::kNaive), HandWork()));
  EXPECT_NEAR(naive.seconds.prefill + naive.seconds.switching, 19.5, 1e-12);
}

TEST(PhoneRequest, PassesCostTheRunsOfTheirGraph) {
  const RequestResult padded = Must(SimulateRequest(HandCosts(), HandSetup(SwitchRule::kPadded), HandWork()));
  EXPECT_DOUBLE_EQ(padded.seconds.decode, 5 * 6.5);   // Without drafts, on the prefill graph.
  EXPECT_EQ(padded.empty_rows, 5 * 7);
  const std::vector<RecordedPass> passes = {{5, 0}};   // Six rows: two runs of the decode graph.
  RequestSetup setup = HandSetup(SwitchRule::kSynchronous);
  setup.drafting = Drafting::kRecorded;
  const RequestResult twice = Must(SimulateRequest(HandCosts(), setup, {.prompt_tokens = 16, .tokens = 2, .passes = passes}));
  EXPECT_DOUBLE_EQ(twice.seconds.decode, 2 * 3 + 0.5);
  EXPECT_EQ(twice.empty_rows, 2);
}

// Rows of each run that hold something: those of a chunk or sub-chunk of the prompt, then those of a pass.
TEST(PhoneRequest, CostsMayDependOnTheRowsThatAreThere) {
  std::vector<std::pair<int, int>> asked;
  RequestCosts costs = HandCosts();
  costs.held_run = [&](int rows, int held, int64_t) -> absl::StatusOr<RunCost> {
    asked.emplace_back(rows, held);
    return RunCost{held / 4.0, 0};
  };
  const std::vector<RecordedPass> passes = {{5, 0}, {1, 1}};   // Six rows, then two.
  RequestSetup setup = HandSetup(SwitchRule::kSynchronous);
  setup.drafting = Drafting::kRecorded;
  const RequestResult result = Must(SimulateRequest(costs, setup, {.prompt_tokens = 14, .tokens = 4, .passes = passes}));
  const std::vector<std::pair<int, int>> expected = {{8, 8}, {8, 6}, {4, 4}, {4, 4}, {4, 4}, {4, 2}, {4, 2}, {4, 4}, {4, 2}};
  EXPECT_EQ(asked, expected);
  EXPECT_DOUBLE_EQ(result.seconds.decode, 6 / 4.0 + 2 / 4.0 + 2 * 0.5);
}

TEST(PhoneRequest, EachBlockHasACallOfItsOwn) {
  RequestCosts costs = HandCosts();
  costs.call_seconds = 0.125;
  const RequestResult result = Must(SimulateRequest(costs, HandSetup(SwitchRule::kPadded), HandWork()));
  EXPECT_DOUBLE_EQ(result.seconds.prefill, 12.5 + 2 * 6 * 0.125);
  EXPECT_DOUBLE_EQ(result.seconds.decode, 5 * (6.5 + 6 * 0.125));
}

TEST(PhoneRequest, TheCpuDecodesWithoutSwitching) {
  RequestSetup setup = HandSetup(SwitchRule::kPadded);
  setup.decode = ComputePlace::kCpu;
  const RequestResult plain = Must(SimulateRequest(HandCosts(), setup, HandWork()));
  EXPECT_EQ(plain.seconds.switching, 0);
  EXPECT_NEAR(plain.seconds.decode, 5 * 1.1, 1e-12);
  setup.drafting = Drafting::kRecorded;
  const RequestResult drafted = Must(SimulateRequest(HandCosts(), setup, HandWork()));
  EXPECT_NEAR(drafted.seconds.decode, 1.4 + 1.3, 1e-12);
  EXPECT_EQ(drafted.empty_rows, 0);
}

// sd.npu (longer version), section 4.1: a pass is shared by 5.5 tokens, and each takes a run of a layer and the head.
TEST(PhoneRequest, AModelDraftsByTheFormula) {
  RequestSetup setup = HandSetup(SwitchRule::kSynchronous);
  setup.drafting = Drafting::kModel;
  setup.model_tokens = 5.5;
  const RequestWork work = {.prompt_tokens = 16, .tokens = 12};
  const RequestResult npu = Must(SimulateRequest(HandCosts(), setup, work));
  EXPECT_NEAR(npu.seconds.decode, 11 * (3 + 0.5) / 5.5, 1e-12);
  EXPECT_NEAR(npu.seconds.drafting, 11 * (3.0 / 6 + 0.5), 1e-12);
  EXPECT_NEAR(npu.passes, 2, 1e-12);
  setup.decode = ComputePlace::kCpu;
  const RequestResult cpu = Must(SimulateRequest(HandCosts(), setup, work));
  EXPECT_NEAR(cpu.seconds.decode, 11 * 1.4 / 5.5, 1e-12);
  EXPECT_NEAR(cpu.seconds.drafting, 11 * ((1.1 - 0.5) / 6 + 0.5), 1e-12);
}

TEST(PhoneRequest, AnswersOfOneTokenTakeNoPass) {
  for (const Drafting drafting : {Drafting::kNone, Drafting::kRecorded, Drafting::kModel}) {
    RequestSetup setup = HandSetup(SwitchRule::kPublished);
    setup.drafting = drafting;
    for (const int tokens : {0, 1}) {
      const RequestResult result = Must(SimulateRequest(HandCosts(), setup, {.prompt_tokens = 16, .tokens = tokens}));
      EXPECT_DOUBLE_EQ(result.seconds.total(), 12.5);
      EXPECT_EQ(result.passes, 0);
    }
  }
}

TEST(PhoneRequest, PromptsShorterThanAChunkFillOne) {
  for (const int tokens : {1, 3, 8}) {
    const RequestResult result = Must(SimulateRequest(HandCosts(), HandSetup(SwitchRule::kPadded), {.prompt_tokens = tokens}));
    EXPECT_DOUBLE_EQ(result.seconds.prefill, 6.5) << tokens;
  }
  // Switched before the prompt comes to them, blocks run their decode graphs no more often than the prompt fills them.
  RequestCosts costs = HandCosts();
  costs.load_seconds_per_layer = 0;
  const RequestResult result = Must(SimulateRequest(costs, HandSetup(SwitchRule::kPublished), {.prompt_tokens = 3}));
  EXPECT_LE(result.seconds.prefill, 6.5);
}

TEST(PhoneRequest, LayersAreCutIntoBlocksThatDifferByOne) {
  RequestSetup setup = HandSetup(SwitchRule::kSynchronous);
  setup.blocks = 4;   // 2, 2, 1 and 1 layers.
  Timeline timeline({.capacity = 1000});
  const RequestResult result = Must(SimulateRequest(HandCosts(), setup, HandWork(), &timeline));
  EXPECT_NEAR(result.seconds.switching, 12, 1e-12);
  std::vector<int64_t> loads;
  for (const TimelineEvent& event : timeline.Events()) {
    if (event.zone == Zone::kLoad) loads.push_back(event.end_ns - event.begin_ns);
  }
  EXPECT_EQ(loads, (std::vector<int64_t>{4000000000, 4000000000, 2000000000, 2000000000}));
}

// Any costs, setups and drafts.
struct Instance { RequestCosts costs; RequestSetup setup; std::vector<RecordedPass> passes; int prompt, tokens; };

Instance RandomInstance(uint64_t seed) {
  SeededRandom random(seed);
  Instance instance;
  const double layer = random.Uniform(), row = random.Uniform() / 16, head = random.Uniform() / 4, cpu = random.Uniform();
  instance.costs = {.layers = 1 + static_cast<int>(random.Below(24)),
                    .call_seconds = random.Uniform() / 100,
                    .load_seconds = random.Uniform(),
                    .load_seconds_per_layer = random.Uniform() / 4,
                    .draft_seconds = random.Uniform() / 50,
                    .calibrate_seconds = random.Uniform() / 500,
                    .idle_watts = random.Uniform(),
                    .cpu_watts = random.Uniform(),
                    .flash_watts = random.Uniform(),
                    .layer_run = [=](int rows, int64_t positions) -> absl::StatusOr<RunCost> {
                      return RunCost{layer + row * rows + 1e-5 * static_cast<double>(positions), layer};
                    },
                    .head_run = [=](int rows) -> absl::StatusOr<RunCost> { return RunCost{head * rows, head}; },
                    .cpu_pass = [=](int rows, int64_t) -> absl::StatusOr<RunCost> { return RunCost{cpu * rows, cpu}; }};
  instance.setup = {.blocks = 1 + static_cast<int>(random.Below(std::min(6, instance.costs.layers))),
                    .prefill_rows = 16 + static_cast<int>(random.Below(32)),
                    .decode_rows = 1 + static_cast<int>(random.Below(16)),
                    .decode = random.Below(4) == 0 ? ComputePlace::kCpu : ComputePlace::kNpu,
                    .drafting = static_cast<Drafting>(random.Below(3)),
                    .calibrates = random.Below(2) == 0,
                    .model_tokens = 1 + 5 * random.Uniform()};
  instance.prompt = 1 + static_cast<int>(random.Below(120));
  instance.tokens = 1;
  for (int64_t i = random.Below(20); i > 0; --i) {
    const int drafted = static_cast<int>(random.Below(20));
    instance.passes.push_back({drafted, static_cast<int>(random.Below(drafted + 1))});
    instance.tokens += instance.passes.back().accepted + 1;
  }
  return instance;
}

TEST(PhoneRequest, NoResourceIsBookedTwiceAndTimeNeverGoesBack) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Instance instance = RandomInstance(seed);
    for (const SwitchRule rule : kSwitchRules) {
      instance.setup.rule = rule;
      Timeline timeline({.capacity = 1 << 16});
      const RequestWork work = {.prompt_tokens = instance.prompt, .tokens = instance.tokens, .passes = instance.passes};
      const RequestResult result = Must(SimulateRequest(instance.costs, instance.setup, work, &timeline));
      EXPECT_EQ(DoubleBooking(timeline.Events()), "") << "seed " << seed << " " << SwitchRuleName(rule);
      int64_t end = 0;
      for (const TimelineEvent& event : timeline.Events()) end = std::max(end, event.end_ns);
      EXPECT_NEAR(static_cast<double>(end) * 1e-9, result.seconds.total(), 1e-6) << "seed " << seed;
      const RequestParts& parts = result.seconds;
      for (const double part : {parts.prefill, parts.switching, parts.calibration, parts.decode, parts.drafting}) EXPECT_GE(part, 0);
    }
  }
}

TEST(PhoneRequest, ADoubleBookingIsNoticed) {
  std::vector<TimelineEvent> events = {{Zone::kPass, Resource::kNpu, 1, 0, 10}, {Zone::kPass, Resource::kNpu, 1, 10, 20},
                                       {Zone::kLoad, Resource::kFlash, 0, 5, 15}};
  EXPECT_EQ(DoubleBooking(events), "");
  events.push_back({Zone::kPass, Resource::kNpu, 1, 19, 25});
  EXPECT_TRUE(absl::StrContains(DoubleBooking(events), "booked twice")) << DoubleBooking(events);
  EXPECT_TRUE(absl::StrContains(DoubleBooking({{Zone::kPass, Resource::kNpu, 1, 10, 9}}), "goes back"));
}

TEST(PhoneRequest, OurPlanIsReadyNoLaterThanAnyOtherRule) {
  for (uint64_t seed = 100; seed < 140; ++seed) {
    Instance instance = RandomInstance(seed);
    instance.setup.decode = ComputePlace::kNpu;
    const auto ready = [&](SwitchRule rule) {
      instance.setup.rule = rule;
      const RequestResult result = Must(SimulateRequest(instance.costs, instance.setup, {.prompt_tokens = instance.prompt}));
      return result.seconds.prefill + result.seconds.switching;
    };
    for (const SwitchRule rule : {SwitchRule::kSynchronous, SwitchRule::kNaive, SwitchRule::kPublished}) {
      EXPECT_LE(ready(SwitchRule::kPlanned), ready(rule) + 1e-9) << "seed " << seed << " " << SwitchRuleName(rule);
    }
  }
}

TEST(PhoneRequest, AWrongCostShows) {
  using Change = std::function<void(RequestCosts&)>;
  const auto scaled = [](auto run) {
    return [run](auto... arguments) -> absl::StatusOr<RunCost> { return 1.1 * Must(run(arguments...)); };
  };
  const std::pair<const char*, Change> changes[] = {
      {"call", [](RequestCosts& costs) { costs.call_seconds += 0.01; }},
      {"load", [](RequestCosts& costs) { costs.load_seconds += 0.1; }},
      {"load per layer", [](RequestCosts& costs) { costs.load_seconds_per_layer *= 1.1; }},
      {"draft", [](RequestCosts& costs) { costs.draft_seconds *= 1.1; }},
      {"calibrate", [](RequestCosts& costs) { costs.calibrate_seconds *= 1.1; }},
      {"layers", [&](RequestCosts& costs) { costs.layer_run = scaled(costs.layer_run); }},
      {"head", [&](RequestCosts& costs) { costs.head_run = scaled(costs.head_run); }}};
  RequestSetup setup = HandSetup(SwitchRule::kSynchronous);
  setup.drafting = Drafting::kRecorded;
  setup.calibrates = true;
  const double right = Must(SimulateRequest(HandCosts(), setup, HandWork())).seconds.total();
  for (const auto& [name, change] : changes) {
    RequestCosts costs = HandCosts();
    change(costs);
    EXPECT_GT(Must(SimulateRequest(costs, setup, HandWork())).seconds.total(), right + 1e-3) << name;
  }
  setup.decode = ComputePlace::kCpu;
  RequestCosts costs = HandCosts();
  const double by_cpu = Must(SimulateRequest(costs, setup, HandWork())).seconds.total();
  costs.cpu_pass = scaled(costs.cpu_pass);
  EXPECT_GT(Must(SimulateRequest(costs, setup, HandWork())).seconds.total(), by_cpu + 1e-3);
}

void ExpectRefused(const RequestCosts& costs, const RequestSetup& setup, const RequestWork& work, const std::string& message) {
  const absl::Status status = SimulateRequest(costs, setup, work).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), message)) << status;
}

TEST(PhoneRequest, AnImpossibleRequestIsRefusedWithTheExpectedRange) {
  RequestSetup setup = HandSetup(SwitchRule::kPublished);
  ExpectRefused(HandCosts(), setup, {.prompt_tokens = 0}, "prompt tokens: found 0, expected 1 to 1048576");
  ExpectRefused(HandCosts(), setup, {.tokens = -1}, "tokens: found -1, expected 0 to 1048576");
  setup.drafting = Drafting::kRecorded;
  ExpectRefused(HandCosts(), setup, {.tokens = 7, .passes = HandPasses()}, "passes: found 6 tokens, expected at least 7");
  const std::vector<RecordedPass> wrong = {{1, 2}}, negative = {{-1, 0}};
  ExpectRefused(HandCosts(), setup, {.tokens = 2, .passes = wrong}, "accepted tokens: found 2, expected 0 to 1");
  ExpectRefused(HandCosts(), setup, {.tokens = 2, .passes = negative}, "drafted tokens: found -1, expected 0 to 4096");
  setup.blocks = 7;
  ExpectRefused(HandCosts(), setup, HandWork(), "blocks: found 7, expected 1 to 6");
  setup = HandSetup(SwitchRule::kPublished);
  setup.decode_rows = 0;
  ExpectRefused(HandCosts(), setup, HandWork(), "decode rows: found 0, expected 1 to 4096");
}

TEST(PhoneRequest, CostsThatAreNoTimesAreRefused) {
  const RequestSetup setup = HandSetup(SwitchRule::kPublished);
  for (const double wrong : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e300}) {
    RequestCosts costs = HandCosts();
    costs.layer_run = [=](int, int64_t) -> absl::StatusOr<RunCost> { return RunCost{wrong, 0}; };
    ExpectRefused(costs, setup, HandWork(), "layers seconds: found ");
    costs = HandCosts();
    costs.head_run = [=](int) -> absl::StatusOr<RunCost> { return RunCost{0.5, wrong}; };
    ExpectRefused(costs, setup, HandWork(), "joules: found ");
    costs = HandCosts();
    costs.load_seconds = wrong;
    ExpectRefused(costs, setup, HandWork(), "load seconds: found ");
  }
  RequestCosts slow = HandCosts();   // Each within its range, but not together.
  slow.layer_run = [](int, int64_t) -> absl::StatusOr<RunCost> { return RunCost{2e8, 0}; };
  ExpectRefused(slow, setup, HandWork(), "seconds: found ");
}

TEST(PhoneRequest, ErrorsOfCostsAreHandedOn) {
  RequestCosts costs = HandCosts();
  costs.head_run = [](int) -> absl::StatusOr<RunCost> { return absl::NotFoundError("no head"); };
  EXPECT_EQ(SimulateRequest(costs, HandSetup(SwitchRule::kPadded), HandWork()).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tessera
