#include "tessera/runtime/engine/memory_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/exit_map_file.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TEST(MemoryPlanner, HeaderExample) {
  const PackedModel packed(TinyModelBuilder({}));
  const auto engine = Must(Engine::Open({.model_path = packed.path()}));
  int64_t streamed = -1;
  const auto run = [&]() -> absl::Status {
    const MemoryPlanner& planner = engine->planner();
    ASSIGN_OR_RETURN(const EngineMemory all, planner.Plan());
    ASSIGN_OR_RETURN(const BudgetPlan plan, planner.PlanBudget(int64_t{1} << 30));
    EXPECT_GE(plan.memory.weights, all.weights);
    streamed = plan.weights.streamed_bytes;
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(streamed, 0) << "all of it is pinned";
}

TEST(MemoryPlanner, CountsTheMapOfFirstLayersApartFromTheirWeights) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.gguf"), map = folder.Path("map");
  TinyModelBuilder({}).WriteTo(path);
  WriteExitMap(map, 64, [](int row, int column) { return row == column ? 1.0f : 0.0f; });
  const auto plain = Must(Engine::Load({.model_path = path, .first = {.layers = 1}}));
  const auto mapped = Must(Engine::Load({.model_path = path, .first = {.layers = 1, .map = map}}));
  const EngineMemory without = Must(plain->planner().Plan()), with = Must(mapped->planner().Plan());
  EXPECT_EQ(without.exit_map, 0);
  EXPECT_GE(with.exit_map, 64 * 64 * 4);
  EXPECT_EQ(with.weights, without.weights);
  EXPECT_EQ(with.Total(), mapped->memory().Total());
  EXPECT_EQ(Must(mapped->planner().PlanBudget(int64_t{1} << 40)).memory.exit_map, 0) << "the process has it already";
}

// The least budget that is not refused, to the byte.
int64_t LeastAccepted(const MemoryPlanner& planner) {
  int64_t refused = 0, accepted = int64_t{1} << 40;
  while (accepted - refused > 1) {
    const int64_t middle = refused + (accepted - refused) / 2;
    (planner.PlanBudget(middle).ok() ? accepted : refused) = middle;
  }
  return accepted;
}

// A planner of its own, for a packed model without an engine.
class PlanOfAWorkload : public testing::Test {
 protected:
  MemoryPlanner Planner(Workload workload, std::optional<int64_t> process = 3000) const {
    MemoryPlanner::Inputs inputs;
    inputs.context = 64;
    inputs.rows = 32;
    inputs.cache = {.layers = 2, .heads = 2, .head_size = 16, .slots = 96};   // More than a text has.
    inputs.graphs = 1000;
    inputs.hidden_states = 2000;
    inputs.process = process;
    inputs.workload = std::move(workload);
    return MemoryPlanner(*model_, inputs);
  }
  int64_t row() const { return model_->logit_row_bytes(); }

 private:
  const PackedModel packed_{TinyModelBuilder({})};
  const std::unique_ptr<LoadedModel> model_ = Must(LoadedModel::Open(packed_.path(), {}));
};

TEST_F(PlanOfAWorkload, IsTheSumOfItsParts) {
  const auto drafting = [](int context, int vocabulary) { return 3 * context + vocabulary; };
  const auto requests = [](int context) { return int64_t{1000} * context; };
  const MemoryPlanner planner = Planner({.logit_rows = 3, .drafting_bytes = drafting, .request_bytes = requests});
  EXPECT_EQ(planner.logits(), 3 * row());
  EXPECT_EQ(planner.drafting(), 3 * 64 + kTinyVocabulary);
  const EngineMemory memory = Must(planner.Plan());
  EXPECT_EQ(memory.graphs, 1000);
  EXPECT_EQ(memory.hidden_states, 2000);
  const BudgetPlan plan = Must(planner.PlanBudget(int64_t{1} << 40));
  EXPECT_EQ(plan.requests, 64'000);
  EXPECT_EQ(plan.Total(), 3000 + plan.logits + plan.drafting + plan.requests + plan.reserve + memory.cache + 1000 + 2000 +
                              plan.weights.bytes);
}

TEST_F(PlanOfAWorkload, KeepsRoomForAdapters) {
  const MemoryPlanner without = Planner({.logit_rows = 3}), with = Planner({.logit_rows = 3, .adapter_room = 70000});
  const BudgetPlan plan = Must(with.PlanBudget(int64_t{1} << 40));
  EXPECT_EQ(plan.adapters, 70000);
  EXPECT_EQ(plan.Total(), Must(without.PlanBudget(int64_t{1} << 40)).Total() + 70000);
  EXPECT_EQ(LeastAccepted(with), LeastAccepted(without) + 70000);
}

TEST_F(PlanOfAWorkload, IsRefusedWithUnknownProcessMemory) {
  const MemoryPlanner planner = Planner({}, std::nullopt);
  const absl::Status status = planner.PlanBudget(int64_t{1} << 40).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("memory budget: found no /proc/self/status"), std::string::npos) << status;
  EXPECT_TRUE(planner.Plan().ok()) << "without a budget nothing of it is needed";
}

TEST_F(PlanOfAWorkload, HasFewerRowsOfLogitsBeforeABudgetIsRefused) {
  const MemoryPlanner planner = Planner({.logit_rows = 33, .least_logit_rows = 2});
  const int64_t least = LeastAccepted(planner);
  for (const int more : {0, 1, 7, 31, 1000}) {
    const BudgetPlan plan = Must(planner.PlanBudget(least + more * row()));
    EXPECT_EQ(plan.logit_rows, std::min(2 + more, 33));
    EXPECT_EQ(plan.logits, plan.logit_rows * row());
    EXPECT_LE(plan.Total(), plan.budget);
  }
}

TEST_F(PlanOfAWorkload, HasAllRowsOfLogitsUnlessFewerAreAllowed) {
  const MemoryPlanner planner = Planner({.logit_rows = 33});
  EXPECT_EQ(Must(planner.PlanBudget(LeastAccepted(planner))).logit_rows, 33);
}

TEST_F(PlanOfAWorkload, ShrinksToPinsThatFitOrIsRefused) {
  const MemoryPlanner planner = Planner({});
  const BudgetPlan plan = Must(planner.PlanBudget(LeastAccepted(planner) + (int64_t{1} << 16)));
  const BudgetPlan same = Must(planner.Shrink(plan, plan.budget + 1));
  EXPECT_EQ(same.weights.pins.pinned, plan.weights.pins.pinned);
  EXPECT_EQ(same.budget, plan.budget);
  EXPECT_EQ(planner.Shrink(plan, 4000).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(ChooseRows, RequestedRowsAreTakenWhateverTheirScratch) {
  const auto huge = [](int) -> absl::StatusOr<int64_t> { return int64_t{1} << 40; };
  EXPECT_EQ(Must(ChooseRows(600, 8192, huge)), 600);
  EXPECT_EQ(Must(ChooseRows(600, 100, huge)), 100) << "more rows than positions cannot come";
}

TEST(ChooseRows, DefaultRowsFitTheScratchOrAreTheFewestThatKeepAPromptFast) {
  std::vector<int> asked;
  const auto of_row = [&](int64_t bytes) {
    asked.clear();
    return Must(ChooseRows(0, 8192, [&](int rows) -> absl::StatusOr<int64_t> {
      asked.push_back(rows);
      return rows * bytes;
    }));
  };
  EXPECT_EQ(of_row(kDefaultScratch / kDefaultRowCapacity), kDefaultRowCapacity);
  EXPECT_EQ(asked, std::vector<int>{kDefaultRowCapacity}) << "the size of one pass is enough to know";
  EXPECT_EQ(of_row(kDefaultScratch / 100), 96);
  EXPECT_EQ(of_row(kDefaultScratch), 64);
}

TEST(ChooseRows, AnErrorIsPassedOn) {
  const auto fails = [](int) -> absl::StatusOr<int64_t> { return absl::ResourceExhaustedError("no memory"); };
  EXPECT_EQ(ChooseRows(0, 64, fails).status(), absl::ResourceExhaustedError("no memory"));
}

}  // namespace
}  // namespace tessera
