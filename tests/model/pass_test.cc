#include "tessera/model/pass.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/base/timeline.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/pass_text.h"
#include "tessera/tests/fakes/vanishing_source.h"

namespace tessera {
namespace {

using Bits = std::vector<float>;

const std::vector<TokenId> kTokens = {72, 101, 108, 108, 111, 44};

class PassOfSixRows : public testing::Test {
 protected:
  PassOfSixRows()
      : model_(TinyModelBuilder({.layers = 4})), machine_(model_, {.row_capacity = 8, .rows_together = 8}), text_(machine_, kTokens) {}

  static std::string Message(const absl::Status& status, absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    EXPECT_EQ(status.code(), code) << status;
    return std::string(status.message());
  }

  const LoadedWeights model_;
  Machine machine_;
  PassText text_;
};

TEST_F(PassOfSixRows, HeaderExample) {
  PassRunner* const runner = &machine_.runner();
  KvCache* const cache = &machine_.cache();
  const int layers = runner->model().layers();
  std::vector<PassRow> rows = text_.rows;
  rows.resize(5);
  Bits found(kTinyVocabulary), half;
  const TensorView<float> logits(found.data(), 1, kTinyVocabulary);
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(Pass pass, runner->Begin(rows, *cache));
    RETURN_IF_ERROR(pass.RunTo(layers / 2));
    ASSIGN_OR_RETURN(const TensorView<const float> hidden, pass.Hidden());
    half = RowOfView(hidden, 2);
    RETURN_IF_ERROR(pass.Drop({3, 4}));
    ASSIGN_OR_RETURN(const HiddenRows last, pass.Finish({0, 2}));
    RETURN_IF_ERROR(runner->Logits(last, {2}, logits));
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(found, Machine(model_, {}).Plain(absl::MakeConstSpan(kTokens).first(3)));
  EXPECT_EQ(half.size(), static_cast<size_t>(machine_.config().width));
}

// After each layer, beside all rows and after rows were dropped: the states are those of the row in a pass of its own.
TEST_F(PassOfSixRows, HiddenStatesDoNotDependOnTheRowsBeside) {
  for (int layer = 0; layer <= 4; ++layer) {
    std::vector<Bits> alone;
    PassText one_by_one(machine_, kTokens), together(machine_, kTokens);
    for (const PassRow& row : one_by_one.rows) {
      Pass pass = Must(machine_.runner().Begin({row}, machine_.cache()));
      Must(pass.RunTo(layer));
      alone.push_back(RowOfView(Must(pass.Hidden()), 0));
      Must(pass.FinishAll());
    }
    Pass pass = together.Begin();
    Must(pass.RunTo(layer / 2));
    Must(pass.Drop({5}));
    Must(pass.RunTo(layer));
    Must(pass.Drop({4}));
    EXPECT_EQ(pass.layer(), layer);
    ASSERT_EQ(pass.rows(), absl::MakeConstSpan({0, 1, 2, 3}));
    for (int row = 0; row < 4; ++row) {
      EXPECT_EQ(RowOfView(Must(pass.Hidden()), row), alone[static_cast<size_t>(row)]) << layer << " " << row;
    }
  }
}

TEST_F(PassOfSixRows, ARowThatOthersReadIsNotDropped) {
  Pass pass = text_.Begin();
  EXPECT_EQ(Message(pass.Drop({2})), "dropped row 2: found row 3, which reads it, expected no reader left");
  EXPECT_EQ(Message(pass.Drop({3, 5})), "dropped row 3: found row 4, which reads it, expected no reader left");
  Must(pass.Drop({5}));
  Must(pass.Drop({3, 4}));
  EXPECT_EQ(pass.rows(), absl::MakeConstSpan({0, 1, 2})) << "what was refused has changed nothing";
}

TEST_F(PassOfSixRows, RowsThatAreNotThereAreNamed) {
  Pass pass = text_.Begin();
  Must(pass.Drop({5}));
  EXPECT_EQ(Message(pass.Drop({5})), "dropped row 0: found 5, which is dropped, expected one of the 5 that are left");
  EXPECT_EQ(Message(pass.Drop({6})), "dropped row 0: found 6, expected 0 to 5, in ascending order");
  EXPECT_EQ(Message(pass.Drop({4, 4})), "dropped row 1: found 4, expected 5 to 5, in ascending order");
  EXPECT_EQ(Message(pass.Finish({1, 5}).status()), "wanted row 1: found 5, which is dropped, expected one of the 5 that are left");
  const HiddenRows done = Must(pass.Finish({1, 4}));
  EXPECT_EQ(text_.LogitsOf(done, 4), Machine(model_, {}).Plain(absl::MakeConstSpan(kTokens).first(5)));
}

TEST_F(PassOfSixRows, LayersAndRunsOutOfRangeAreNamed) {
  Pass pass = text_.Begin();
  EXPECT_EQ(Message(pass.Hidden().status(), absl::StatusCode::kFailedPrecondition), "hidden states: found no RunTo before, expected one");
  EXPECT_EQ(Message(pass.RunTo(5)), "layer of a pass: found 5, expected 0 to 4");
  Must(pass.RunTo(2));
  EXPECT_EQ(Message(pass.RunTo(1)), "layer of a pass: found 1, expected 2 to 4");
  EXPECT_EQ(Message(pass.RunTo(4, {{.chunk_rows = 1}})), "layer runs: found 1, expected 2, one per layer, or none");
  EXPECT_EQ(Message(pass.RunTo(3, {{.graph_rows = 9}})), "graph_rows of layer 2: found 9, expected 0 to 8");
  EXPECT_EQ(Message(pass.RunTo(3, {{.graph_rows = -1}})), "graph_rows of layer 2: found -1, expected 0 to 8");
  EXPECT_EQ(Message(pass.RunTo(3, {{.chunk_rows = -1}})), "chunk_rows of layer 2: found -1, expected 0 to 8");
  const std::vector<LayerRun> runs = {{}, {.chunk_rows = 4, .graph_rows = 3}};
  EXPECT_EQ(Message(pass.Finish({0}, runs).status()), "chunk_rows of layer 3: found 4, expected 0 to 3");
  Must(pass.FinishAll());
}

// In a pass that goes in one piece, rows may come in any order, but not in smaller chunks.
TEST_F(PassOfSixRows, AChunkWhoseRowsReadLaterOnesIsRefused) {
  std::swap(text_.rows[0], text_.rows[5]);
  Pass pass = text_.Begin();
  const std::string expected =
      "row 0: slot of its path: found 0, expected no slot of a row after it, as of row 5, in a pass of more than 4";
  EXPECT_EQ(Message(pass.RunTo(1, {{.chunk_rows = 4}})), expected);
  EXPECT_EQ(Message(pass.RunTo(1, {{.graph_rows = 4}})), expected);
  Must(pass.RunTo(1, {{.chunk_rows = 6}}));
  Must(pass.FinishAll());
}

TEST_F(PassOfSixRows, OnePassAtATime) {
  {
    Pass pass = text_.Begin();
    EXPECT_EQ(Message(machine_.runner().Begin(text_.rows, machine_.cache()).status(), absl::StatusCode::kFailedPrecondition),
              "pass: found another one under way, expected it to be finished or ended");
    const Pass moved = std::move(pass);
    EXPECT_EQ(moved.rows().size(), 6u);
  }
  Pass next = text_.Begin();   // The one before has ended unfinished.
  Must(next.FinishAll());
  for (const absl::Status& status : {next.RunTo(4), next.Drop({5}), next.FinishAll().status(), next.Hidden().status()}) {
    EXPECT_EQ(Message(status, absl::StatusCode::kFailedPrecondition),
              "pass: found one that is over, expected one that is neither finished nor ended by an error");
  }
}

// The embedding of a token, given as one, is the token.
TEST_F(PassOfSixRows, AnEmbeddingStandsForAToken) {
  std::vector<Bits> embeddings;
  {
    Pass pass = text_.Begin();
    Must(pass.RunTo(0));
    for (int row = 0; row < 6; ++row) embeddings.push_back(RowOfView(Must(pass.Hidden()), row));
  }
  const Bits expected = text_.LogitsOf(Must(text_.Begin().FinishAll()), 5);
  for (size_t row : {1u, 2u, 5u}) {
    text_.rows[row].embedding = embeddings[row].data();
    text_.rows[row].token = -1;   // Not looked at.
  }
  EXPECT_EQ(text_.LogitsOf(Must(text_.Begin().FinishAll()), 5), expected);
  text_.rows[2].embedding = embeddings[4].data();
  EXPECT_NE(text_.LogitsOf(Must(text_.Begin().FinishAll()), 5), expected) << "another embedding gives other logits";
}

// Attention sees only how far positions are apart: moving all rows by as much changes roundings alone, moving one changes the result.
TEST_F(PassOfSixRows, APositionOfItsOwnTurnsARow) {
  const LoadedWeights wide(TinyModelBuilder({.layers = 4}), WeightEncoding::kFloat32);
  Machine machine(wide, {});
  PassText text(machine, kTokens);
  const Bits expected = text.LogitsOf(Must(text.Begin().FinishAll()), 5);
  const auto distance = [&] {
    const Bits found = text.LogitsOf(Must(text.Begin().FinishAll()), 5);
    double sum = 0, size = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      sum += (found[i] - expected[i]) * (found[i] - expected[i]);
      size += expected[i] * expected[i];
    }
    return std::sqrt(sum / size);
  };
  for (int row = 0; row < 6; ++row) text.rows[static_cast<size_t>(row)].position = row;
  EXPECT_EQ(distance(), 0) << "what a row has anyway";
  for (int row = 0; row < 6; ++row) text.rows[static_cast<size_t>(row)].position = 40 + row;
  EXPECT_LT(distance(), 1e-4);
  text.rows[5].position = 400;
  EXPECT_GT(distance(), 1e-2);
  text.rows[5].position = -2;
  EXPECT_EQ(Message(machine.runner().Begin(text.rows, machine.cache()).status()),
            "row 5: position: found -2, expected -1 (its own) to 1073741823");
}

// Between the calls of a walk, weights may be gone.
TEST_F(PassOfSixRows, NoLeaseIsHeldBetweenCalls) {
  VanishingSource source(model_.Units());
  Machine machine(model_, {.source = &source});
  PassText text(machine, kTokens);
  Pass pass = text.Begin();
  for (int layer = 0; layer <= 4; ++layer) {
    Must(pass.RunTo(layer));
    EXPECT_EQ(source.live(), 0) << layer;
  }
  EXPECT_EQ(text.LogitsOf(Must(pass.Finish({5})), 5), Machine(model_, {}).Plain(kTokens));
  EXPECT_EQ(source.live(), 0);
}

TEST_F(PassOfSixRows, CancellingEndsAWalk) {
  std::atomic<bool> cancel = false;
  Pass pass = text_.Begin(&cancel);
  Must(pass.RunTo(2));
  cancel = true;
  EXPECT_EQ(Message(pass.RunTo(3), absl::StatusCode::kCancelled), "pass: cancelled");
  EXPECT_EQ(pass.FinishAll().status().code(), absl::StatusCode::kFailedPrecondition) << "it is over";
  EXPECT_EQ(text_.LogitsOf(Must(text_.Begin().FinishAll()), 5), Machine(model_, {}).Plain(kTokens)) << "the next one is not cancelled";
}

TEST_F(PassOfSixRows, ATimelineHasOneEventPerPass) {
  Timeline timeline({});
  machine_.runner().SetTimeline(&timeline);
  {
    Pass pass = text_.Begin();
    Must(pass.RunTo(1));
    Must(pass.RunTo(2));
    Must(pass.FinishAll());
  }
  { const Pass unfinished = text_.Begin(); }
  std::vector<TimelineEvent> passes;
  for (const TimelineEvent& event : timeline.Events()) {
    if (event.zone == Zone::kPass) passes.push_back(event);
  }
  ASSERT_EQ(passes.size(), 2u);
  EXPECT_EQ(passes[0].detail, 6);
  EXPECT_GT(passes[0].end_ns, passes[0].begin_ns);
  machine_.runner().SetTimeline(nullptr);
}

TEST_F(PassOfSixRows, WithoutRowsNothingIsComputed) {
  VanishingSource source(model_.Units());
  Machine machine(model_, {.source = &source});
  Pass none = Must(machine.runner().Begin({}, machine.cache()));
  Must(none.RunTo(3));
  EXPECT_EQ(Must(none.Hidden()).rows(), 0);
  Must(none.FinishAll());
  PassText text(machine, kTokens);
  Pass dropped = text.Begin();
  Must(dropped.Drop({0, 1, 2, 3, 4, 5}));
  Must(dropped.FinishAll());
  EXPECT_EQ(source.leases(), 0);
}

}  // namespace
}  // namespace tessera
