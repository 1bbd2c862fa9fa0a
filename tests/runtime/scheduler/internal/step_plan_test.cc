// The rows of a step: those of running texts, and parts of prompts by what the last pass with such a part took.
#include "tessera/runtime/scheduler/internal/step_plan.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

class StepPlanTest : public testing::Test {
 protected:
  // row_capacity: 0: as by default.
  explicit StepPlanTest(int row_capacity = 0)
      : engine_(TinyEngine({.layers = 1, .writes_letters = true},
                           {.compute = {.threads = 1, .row_capacity = row_capacity}, .cache = {.context = 1024}})) {
    for (int i = 0; i < 3; ++i) costs_.AddPass({.rows = 1}, 0.005);
  }

  std::unique_ptr<Stream> Reading(int tokens, uint64_t seed) {
    auto stream = Must(Stream::Create(CoreOf(*engine_), {.prompt = RandomTokens(tokens, seed), .sampling = {.temperature = 0}}));
    stream->Start(/*begun=*/nullptr);
    return stream;
  }

  // Its prompt is one token, which is computed here.
  std::unique_ptr<Stream> Writing() {
    EngineCore& core = CoreOf(*engine_);
    auto stream = Reading(1, 5);
    std::vector<PassRow> rows;
    Must(core.cache().MakeRoom(1));
    Must(stream->PlaceChunk(1, rows));
    Pass pass = Must(core.Begin(rows, nullptr));
    const int row = 0;
    const HiddenRows done = Must(pass.Finish({&row, 1}));
    std::vector<float> logits(static_cast<size_t>(engine_->config().vocabulary));
    const TensorView<float> view(logits.data(), 1, engine_->config().vocabulary);
    Must(core.runner().Logits(done, stream->WantsLogits(1), view));
    Must(stream->Give(view, {}));
    stream->Settle(absl::OkStatus(), {});
    return stream;
  }

  int PromptRowsOf(const std::vector<Stream*>& streams) {
    const StepPlan plan = PlanStep(CoreOf(*engine_), streams, costs_, {.most_gap = 2});
    EXPECT_EQ(plan.rows(), plan.prompt_rows() + plan.shape().rows);
    return plan.prompt_rows();
  }

  const std::unique_ptr<Engine> engine_;
  CostProfile costs_;
};

TEST_F(StepPlanTest, APromptIsReadInPartsAsLargeAsTheLastPassAllows) {
  const auto writing = Writing(), reading = Reading(700, 6);
  const std::vector<Stream*> streams = {writing.get(), reading.get()};
  EXPECT_EQ(PromptRowsOf(streams), 6) << "a guess";
  costs_.AddPromptPass(7, 0.005);
  EXPECT_NEAR(PromptRowsOf(streams), 13, 1) << "twice the rows, in twice the time at most";
  costs_.AddPromptPass(200, 0.010);
  EXPECT_NEAR(PromptRowsOf(streams), 199, 1) << "as large as can be";
  for (int i = 0; i < 3; ++i) costs_.AddPromptPass(200, 0.025);
  EXPECT_LT(PromptRowsOf(streams), 60) << "too large";
  costs_.AddPromptPass(200, 0.0001);
  EXPECT_NEAR(PromptRowsOf(streams), 399, 1) << "no pass is expected to take less than without";
}

TEST_F(StepPlanTest, WithoutATextThatIsWrittenAPassIsFilled) {
  costs_.AddPromptPass(200, 0.5);
  const auto first = Reading(300, 6), second = Reading(700, 7);
  EXPECT_EQ(PromptRowsOf({first.get(), second.get()}), CoreOf(*engine_).runner().row_capacity());
}

class StepPlanOfFewRows : public StepPlanTest {
 protected:
  StepPlanOfFewRows() : StepPlanTest(/*row_capacity=*/2) {}
};

TEST_F(StepPlanOfFewRows, MoreTextsThanRowsTakeTurns) {
  const auto first = Writing(), second = Writing(), third = Writing();
  const std::vector<Stream*> streams = {first.get(), second.get(), third.get()};
  const std::vector<std::vector<int>> expected = {{0, 1}, {1, 2}, {2, 0}, {0, 1}};
  for (size_t turn = 0; turn < expected.size(); ++turn) {
    std::vector<int> numbers;
    for (const StepPart& part : PlanStep(CoreOf(*engine_), streams, costs_, {.turn = turn}).parts) numbers.push_back(part.stream);
    EXPECT_EQ(numbers, expected[turn]) << turn;
  }
}

}  // namespace
}  // namespace tessera
