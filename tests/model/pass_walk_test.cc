// What a walk may do to a pass: graphs and chunks of each layer, rows that go, errors between, and several runners.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/random.h"
#include "tessera/model/pass_runner.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/failing_source.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/pass_text.h"
#include "tessera/tests/fakes/vanishing_source.h"

namespace tessera {
namespace {

const std::vector<TokenId> kTokens = {72, 101, 108, 108, 111, 44};

std::string Message(const absl::Status& status, absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
  EXPECT_EQ(status.code(), code) << status;
  return std::string(status.message());
}

// Six rows: layer 0 in three chunks by graphs of four, layer 1 in one by a graph of eight, layer 2 by default, layer 3 (of which one row is
// wanted) keys and values in two chunks and the whole layer in one.
TEST(PassWalk, EachLayerTakesTheChunksAndGraphsThatAreSaid) {
  const LoadedWeights model(TinyModelBuilder({.layers = 4}));
  Timeline timeline({});
  Machine machine(model, {.row_capacity = 8, .rows_together = 8, .timeline = &timeline, .static_graphs = 100, .graph_rows = {1, 2, 4}});
  const StaticDevice& device = static_cast<const StaticDevice&>(machine.device());
  PassText text(machine, kTokens);
  Pass pass = text.Begin();
  Must(pass.RunTo(0));
  int64_t padded = device.padded_rows();
  const auto padding = [&] { return device.padded_rows() - std::exchange(padded, device.padded_rows()); };
  Must(pass.RunTo(1, {{.chunk_rows = 2, .graph_rows = 4}}));
  EXPECT_EQ(padding(), 3 * (4 - 2));
  Must(pass.RunTo(3, {{.graph_rows = 7}, {}}));
  EXPECT_EQ(padding(), 2 * (8 - 6));
  const HiddenRows done = Must(pass.Finish({5}, {{.chunk_rows = 3}}));
  EXPECT_EQ(padding(), 2 * (4 - 3));
  EXPECT_EQ(text.LogitsOf(done, 5), Machine(model, {}).Plain(kTokens));
  std::vector<int> runs(4);
  for (const TimelineEvent& event : timeline.Events()) {
    if (event.zone == Zone::kGraphRun && event.detail >= 0 && event.detail < 4) ++runs[static_cast<size_t>(event.detail)];
  }
  EXPECT_EQ(runs, (std::vector<int>{3, 1, 1, 3}));
}

// Uneven chunks of a layer use one graph, so that a device that holds few need not swap within a layer.
TEST(PassWalk, ChunksOfALayerShareAGraph) {
  const LoadedWeights model(TinyModelBuilder({.layers = 1}));
  Machine machine(model, {.row_capacity = 8, .rows_together = 8, .static_graphs = 100, .graph_rows = {1, 2, 4}});
  const StaticDevice& device = static_cast<const StaticDevice&>(machine.device());
  PassText text(machine, absl::MakeConstSpan(kTokens).first(5));
  Pass pass = text.Begin();
  Must(pass.RunTo(0));
  const int64_t before = device.padded_rows();
  Must(pass.RunTo(1, {{.chunk_rows = 3}}));
  EXPECT_EQ(device.padded_rows() - before, (4 - 3) + (4 - 2));
}

// All rows are embeddings, and the last layer spares rows: the embeddings are there before anything is computed.
TEST(PassWalk, EmbeddingsAndSparedRowsGoTogether) {
  for (const char* architecture : kArchitectures) {
    for (const int layers : {1, 4}) {
      for (const int static_graphs : {0, 2}) {
        SCOPED_TRACE(absl::StrCat(architecture, " ", layers, " ", static_graphs));
        const LoadedWeights model(TinyModelBuilder({.architecture = architecture, .layers = layers}));
        Machine machine(model, {.row_capacity = 8, .rows_together = 8, .static_graphs = static_graphs});
        std::vector<std::vector<float>> embeddings;
        {
          PassText text(machine, kTokens);
          Pass pass = text.Begin();
          Must(pass.RunTo(0));
          for (int row = 0; row < 6; ++row) embeddings.push_back(RowOfView(Must(pass.Hidden()), row));
        }
        PassText text(machine, kTokens);
        for (size_t row = 0; row < 6; ++row) text.rows[row].embedding = embeddings[row].data();
        const HiddenRows done = Must(text.Begin().Finish({2, 5}));
        EXPECT_EQ(text.LogitsOf(done, 5), Machine(model, {}).Plain(kTokens));
        EXPECT_EQ(text.LogitsOf(done, 2), Machine(model, {}).Plain(absl::MakeConstSpan(kTokens).first(3)));
      }
    }
  }
}

// A row is read if any group of layers reads it.
TEST(PassWalk, ARowThatAWindowReadsIsNotDropped) {
  const LoadedWeights model(TinyModelBuilder({.architecture = "gemma3", .layers = 6, .window = 16}));
  Machine machine(model, {.slots = 64, .row_capacity = 8, .rows_together = 8, .windowed_sequences = 1});
  const KvCache::Paths first = {{{0, 1}}, {{0, 1}}};
  for (const KvCache::Paths& reader : {KvCache::Paths{{{5, 1}, {1, 1}}, {{0, 2}}}, KvCache::Paths{{{0, 2}}, {{5, 1}, {1, 1}}}}) {
    Pass pass = Must(machine.runner().Begin({{.token = 1, .paths = first}, {.token = 2, .paths = reader}}, machine.cache()));
    EXPECT_EQ(Message(pass.Drop({0})), "dropped row 0: found row 1, which reads it, expected no reader left");
    Must(pass.Drop({1}));
  }
}

LoraAdapter RandomAdapter(const ModelConfig& config, uint64_t seed) {
  LoraAdapter adapter = Must(LoraAdapter::Create(static_cast<int>(config.layers.size()), kLoraTargets));
  SeededRandom random(seed);
  for (int layer = 0; layer < adapter.layers(); ++layer) {
    LoraMatrices matrices = {.in = config.width, .out = config.feed_forward, .rank = 2, .scale = 1};
    for (int64_t i = 0; i < 2 * matrices.in; ++i) matrices.a.push_back(random.Uniform(-0.3f, 0.3f));
    for (int64_t i = 0; i < 2 * matrices.out; ++i) matrices.b.push_back(random.Uniform(-0.3f, 0.3f));
    Must(adapter.Set(layer, LoraTarget::kUp, std::move(matrices)));
  }
  return adapter;
}

// Two texts row by row in turn, each with an adapter of its own: one goes after some layers, the rows of the other move up with all they
// have, and later chunks begin elsewhere.
TEST(PassWalk, RowsKeepTheirAdaptersWhenOthersGo) {
  const LoadedWeights model(TinyModelBuilder({.layers = 4}));
  const LoraAdapter first = RandomAdapter(model.config(), 1), second = RandomAdapter(model.config(), 2);
  for (int layer = 0; layer <= 4; ++layer) {
    Machine machine(model, {.row_capacity = 16, .rows_together = 16});
    PassText goes(machine, kTokens), stays(machine, kTokens);
    std::vector<PassRow> rows;
    std::vector<int> dropped;
    for (size_t i = 0; i < 6; ++i) {
      goes.rows[i].adapter = &first, stays.rows[i].adapter = &second;
      dropped.push_back(static_cast<int>(rows.size()));
      rows.insert(rows.end(), {goes.rows[i], stays.rows[i]});
    }
    Pass pass = Must(machine.runner().Begin(rows, machine.cache()));
    Must(pass.RunTo(layer));
    Must(pass.Drop(dropped));
    const std::vector<LayerRun> runs(static_cast<size_t>(4 - layer), LayerRun{.chunk_rows = 4});
    const HiddenRows done = Must(pass.Finish({5, 11}, runs));
    Machine alone(model, {});
    EXPECT_EQ(stays.LogitsOf(done, 11), alone.Plain(kTokens, &second)) << layer;
    EXPECT_EQ(stays.LogitsOf(done, 5), alone.Plain(absl::MakeConstSpan(kTokens).first(3), &second)) << layer;
  }
}

TEST(PassWalk, AnAdapterOfAnotherModelIsRefused) {
  const LoadedWeights model(TinyModelBuilder({.layers = 4}));
  Machine machine(model, {});
  PassText text(machine, kTokens);
  const LoraAdapter shallow = Must(LoraAdapter::Create(3, kLoraTargets)), narrow = Must(LoraAdapter::Create(4, 2));
  const auto message = [&](const LoraAdapter& adapter) {
    text.rows[4].adapter = &adapter;
    return Message(machine.runner().Begin(text.rows, machine.cache()).status());
  };
  EXPECT_EQ(message(shallow), "row 4: layers of its adapter: found 3, expected 4");
  EXPECT_EQ(message(narrow), "row 4: placeholders of its adapter: found 2, expected 7");
}

TEST(PassWalk, PathsMustLieInTheCache) {
  const LoadedWeights model(TinyModelBuilder({.architecture = "gemma3", .layers = 6, .window = 16}));
  Machine machine(model, {.slots = 64, .row_capacity = 8, .rows_together = 8, .windowed_sequences = 1});
  const auto message = [&](const KvCache::Paths& paths) {
    return Message(machine.runner().Begin({{.token = 1, .paths = paths}}, machine.cache()).status());
  };
  EXPECT_EQ(message({{{0, 1}, {63, 2}}, {{0, 3}}}), "row 0: slots of its path: found 63 to 64, expected 0 to 63");
  EXPECT_EQ(message({{{-5, 3}}, {{0, 3}}}), "row 0: slots of its path: found -5 to -3, expected 0 to 63");
  EXPECT_EQ(message({{{kNoSlot, 4}, {0, 16}}, {{kNoSlot, 4}, {0, 16}}}), "row 0: positions without slots: found 4, expected none");
  EXPECT_EQ(message({{{0, 20}}, {{kNoSlot, 5}, {0, 15}}}),
            "row 0: positions without slots: found 5, expected 1 to 4, before the window");
  const KvCache::Paths right = {{{0, 20}}, {{kNoSlot, 4}, {0, 16}}};
  Must(Must(machine.runner().Begin({{.token = 1, .paths = right}}, machine.cache())).FinishAll());
}

TEST(PassWalk, AnErrorBetweenStopsEndsThePassAndNoMore) {
  const LoadedWeights model(TinyModelBuilder({.layers = 4}));
  VanishingSource vanishing(model.Units());
  FailingSource source(vanishing);
  Machine machine(model, {.source = &source});
  const int unit = machine.runner().model().block(machine.runner().model().layer(2)).units[0];
  {
    PassText text(machine, kTokens);
    Pass pass = text.Begin();
    Must(pass.RunTo(1));
    Must(pass.Drop({5}));
    source.failing = unit;
    EXPECT_EQ(pass.RunTo(4), absl::UnavailableError("unit cannot be read"));
    EXPECT_EQ(vanishing.live(), 0);
    EXPECT_EQ(pass.RunTo(4).code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(pass.rows().empty());
  }
  source.failing = -1;
  PassText text(machine, kTokens);
  EXPECT_EQ(text.LogitsOf(Must(text.Begin().FinishAll()), 5), Machine(model, {}).Plain(kTokens));
  EXPECT_EQ(machine.runner().work().rows, 6) << "rows of the pass that failed are not counted";
}

// Each call looks at the flags that it was given.
TEST(PassWalk, LogitsAndPassesAreCancelledApart) {
  const LoadedWeights model(TinyModelBuilder({.layers = 4}));
  Machine machine(model, {});
  PassText text(machine, kTokens);
  HiddenRows before = Must(text.Begin().FinishAll());
  Must(before.Keep());
  std::vector<float> logits(kTinyVocabulary);
  const TensorView<float> view(logits.data(), 1, kTinyVocabulary);
  std::atomic<bool> of_pass = false;
  {
    Pass pass = text.Begin(&of_pass);
    const auto of_logits = std::make_unique<std::atomic<bool>>(true);
    EXPECT_EQ(Message(machine.runner().Logits(before, {0}, view, of_logits.get()), absl::StatusCode::kCancelled), "pass: cancelled");
    Must(pass.RunTo(2));
    Must(machine.runner().Logits(before, {0}, view));
    of_pass = true;
    EXPECT_EQ(Message(pass.RunTo(3), absl::StatusCode::kCancelled), "pass: cancelled");
  }
  Must(machine.runner().Logits(before, {0}, view));
}

TEST(PassWalk, ARefusedBeginChangesNothing) {
  const LoadedWeights model(TinyModelBuilder({}));
  Timeline timeline({});
  Machine machine(model, {.timeline = &timeline});
  PassText text(machine, kTokens);
  const HiddenRows done = Must(text.Begin().FinishAll());
  const std::vector<float> expected = text.LogitsOf(done, 5);
  const size_t events = timeline.Events().size();
  std::vector<PassRow> twice = {text.rows[0], text.rows[0]}, wrong = {text.rows[0]};
  wrong[0].token = -1;
  EXPECT_FALSE(machine.runner().Begin(twice, machine.cache()).ok());
  EXPECT_FALSE(machine.runner().Begin(wrong, machine.cache()).ok());
  EXPECT_EQ(timeline.Events().size(), events);
  EXPECT_EQ(machine.runner().work().passes, 1);
  EXPECT_EQ(text.LogitsOf(done, 5), expected);
}

TEST(PassWalk, ATimelineMayGoWhileAPassIsUnderWay) {
  const LoadedWeights model(TinyModelBuilder({}));
  Machine machine(model, {});
  PassText text(machine, kTokens);
  auto timeline = std::make_unique<Timeline>(Timeline::Options{});
  machine.runner().SetTimeline(timeline.get());
  Pass pass = text.Begin();
  machine.runner().SetTimeline(nullptr);
  timeline = nullptr;
  Must(pass.FinishAll());
}

}  // namespace
}  // namespace tessera
