// The first layers of a model as a model of its own, from GGUF and packed files, with a map before the norm and without.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/usage_error.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/runtime/engine/loaded_model.h"
#include "tessera/tests/fakes/exit_map_file.h"
#include "tessera/tests/fakes/packed_model.h"

namespace tessera {
namespace {

// A loaded model and what runs it.
class Running {
 public:
  explicit Running(const std::string& path, const FirstLayersOptions& first = {}) : device_(pool_) {
    model_ = Must(LoadedModel::Open(path, {.weights = ModelFile::Weights::kAtOnce, .first = first}));
    Must(model_->AwaitTokenizer());
    Must(model_->LoadWeights(pool_));
    const ModelConfig& config = model_->config();
    cache_ = Must(KvCache::Create({.layers = static_cast<int>(config.layers.size()), .heads = config.kv_heads,
                                   .head_size = config.head_size, .slots = 16, .format = device_.kv_format()}));
    runner_ = Must(PassRunner::Create(config, model_->layout(), Must(CompiledModel::Create(config, model_->layout(), {.row_capacity = 8})),
                                      model_->weights(), device_, {.exit_map = model_->exit_map(), .pool = &pool_}));
  }
  const LoadedModel& model() const { return *model_; }

  // What `layer` layers have made of a token, and the logits after it.
  std::pair<std::vector<float>, std::vector<float>> Run(TokenId token, int layer) {
    const KvCache::SequenceId sequence = cache_->NewSequence();
    Must(cache_->Extend(sequence, 1));
    const KvCache::Paths paths = cache_->PathsOf(sequence, 1);
    const PassRow row = {token, paths};
    Pass pass = Must(runner_->Begin({&row, 1}, *cache_));
    Must(pass.RunTo(layer));
    const TensorView<const float> hidden = Must(pass.Hidden());
    std::vector<float> state(hidden.row(0), hidden.row(0) + hidden.columns()), logits(static_cast<size_t>(kTinyVocabulary));
    const HiddenRows done = Must(pass.Finish({0}));
    Must(runner_->Logits(done, {0}, {logits.data(), 1, kTinyVocabulary}));
    cache_->Release(sequence);
    return {state, logits};
  }

 private:
  ThreadPool pool_{1};
  HostDevice device_;
  std::unique_ptr<LoadedModel> model_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<PassRunner> runner_;
};

class FirstLayersTest : public testing::TestWithParam<bool> {   // Tied head or not.
 protected:
  const PackedTiny tiny_{{.layers = 5, .tied = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Heads, FirstLayersTest, testing::Bool());

TEST_P(FirstLayersTest, ComputeTheStatesOfTheWholeModel) {
  Running whole(tiny_.gguf());
  for (const int layers : {1, 3, 5}) {
    Running gguf(tiny_.gguf(), {.layers = layers}), packed(tiny_.packed(), {.layers = layers});
    EXPECT_EQ(gguf.model().config().layers.size(), static_cast<size_t>(layers));
    EXPECT_EQ(packed.model().config().left_out, 5 - layers);
    const auto state = whole.Run(7, layers).first;
    const auto [from_gguf, logits] = gguf.Run(7, layers);
    EXPECT_EQ(from_gguf, state);
    EXPECT_EQ(packed.Run(7, layers), std::pair(state, logits));
    if (layers == 5) EXPECT_EQ(logits, whole.Run(7, 5).second);
    else EXPECT_NE(logits, whole.Run(7, 5).second);
  }
}

TEST_P(FirstLayersTest, TakeTheMemoryOfTheirWeightsAlone) {
  const Running whole(tiny_.packed()), one(tiny_.packed(), {.layers = 1}), two(tiny_.packed(), {.layers = 2});
  const int64_t layer = two.model().weight_bytes() - one.model().weight_bytes();
  EXPECT_GT(layer, 0);
  EXPECT_EQ(whole.model().weight_bytes(), one.model().weight_bytes() + 4 * layer);
  EXPECT_EQ(Running(tiny_.gguf(), {.layers = 1}).model().weight_bytes(), one.model().weight_bytes());
}

TEST_P(FirstLayersTest, GoThroughTheMapBeforeTheNorm) {
  const std::string map = tiny_.folder().Path("map");
  const auto logits = Running(tiny_.gguf(), {.layers = 2}).Run(7, 2).second;
  WriteExitMap(map, 64, [](int row, int column) { return row == column ? 1.0f : 0.0f; }, {{"layer", "2"}});
  EXPECT_EQ(Running(tiny_.gguf(), {.layers = 2, .map = map}).Run(7, 2).second, logits);
  WriteExitMap(map, 64, [](int row, int column) { return row == (column + 1) % 64 ? 1.0f : 0.0f; });
  const auto [state, turned] = Running(tiny_.packed(), {.layers = 2, .map = map}).Run(7, 2);
  EXPECT_NE(turned, logits);
  EXPECT_EQ(state, Running(tiny_.gguf(), {.layers = 2}).Run(7, 2).first);   // The state of the layers is as it was.
}

TEST_P(FirstLayersTest, ImpossibleLayersAndMapsAreRefused) {
  const auto status = [&](const std::string& path, const FirstLayersOptions& first) {
    return LoadedModel::Open(path, {.first = first}).status();
  };
  for (const std::string& path : {tiny_.gguf(), tiny_.packed()}) {
    EXPECT_EQ(FieldOf(status(path, {.layers = 6})), "layers");
    EXPECT_EQ(status(path, {.layers = 6}).message(), "layers: found 6, expected 1 to 5, the layers of " + path + ", or 0 for all");
    EXPECT_EQ(FieldOf(status(path, {.layers = -1})), "layers");
    EXPECT_EQ(FieldOf(status(path, {.map = "map"})), "layers");
    EXPECT_TRUE(absl::IsNotFound(status(path, {.layers = 2, .map = tiny_.folder().Path("none")})));
  }
  const auto packed = Must(LoadedModel::Open(tiny_.packed(), {.first = {.layers = 2}}));
  Must(packed->AwaitTokenizer());
  const absl::Status streams = packed->file().CheckStreams(packed->layout());
  EXPECT_EQ(streams.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(streams.message().find("found the first layers alone under a memory budget"), std::string::npos) << streams;
}

}  // namespace
}  // namespace tessera
