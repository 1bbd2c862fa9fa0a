// Forecasts in passes: what their rows see, and where the prefix lies.
#include "tessera/runtime/engine/placed_forecasts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/half.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/spec/drafters/forecast_drafter.h"
#include "tessera/tests/fakes/forecast_file.h"
#include "tessera/tests/fakes/plain_llama.h"
#include "tessera/tests/fakes/switching_phone.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr ForecastSizes kSizes = {.slots = 5, .forecasts = 3};

EngineOptions Options(int slots = kSizes.slots) {
  EngineOptions options = {.compute = {.threads = 2, .row_capacity = 32}, .cache = {.context = 64}};
  options.workload.reserved_slots = slots;
  return options;
}

std::shared_ptr<const PlacedForecasts> PlacedIn(Engine& engine, uint64_t seed = 1, const ForecastSizes& sizes = kSizes) {
  return Must(PlacedForecasts::Place(SharedCoreOf(engine), MakeForecasts(RandomForecasts(engine.config(), sizes, seed), engine.config())));
}

TEST(PlacedForecasts, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("tiny.gguf");
  TinyModelBuilder({}).WriteTo(path);
  const ForecastSizes sizes = kSizes;
  EngineOptions options = {.model_path = path};
  options.workload.reserved_slots = sizes.slots;
  const std::unique_ptr<Engine> engine = Must(Engine::Load(options));
  const std::shared_ptr<const Forecasts> forecasts = MakeForecasts(RandomForecasts(engine->config(), sizes, 1), engine->config());
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::shared_ptr<const PlacedForecasts> placed, PlacedForecasts::Place(SharedCoreOf(*engine), forecasts));
    ForecastDrafter drafter(placed, {.forecasts = forecasts->sizes().forecasts});
    EXPECT_EQ(drafter.forecasts(), placed.get());
    return placed->CheckFits(CoreOf(*engine));
  };
  Must(run());
}

// A text, and a tree below it whose nodes may have forecasts, in one pass.
class TreePass {
 public:
  TreePass(EngineCore& core, const std::vector<TokenId>& text) : core_(core), text_(core.cache()) {
    text_.Append(text);
    const EngineCore::Hold hold = core_.AwaitHold();
    Must(core_.MakeRoom(text_.length()));
    std::vector<PassRow> rows;
    Must(text_.PlaceNext(text_.length(), nullptr, rows));
    Run(rows);
  }
  // The logits of its rows.
  std::vector<std::vector<float>> Compute(const TokenTree& tree, const TreeForecasts& forecasts, const LoraAdapter* adapter = nullptr) {
    const EngineCore::Hold hold = core_.AwaitHold();
    Must(core_.MakeRoom(tree.size() + forecasts.rows()));
    std::vector<PassRow> rows;
    Must(text_.PlaceTree(tree, adapter, rows, forecasts));
    std::vector<std::vector<float>> logits = Run(rows);
    text_.KeepPath({}, /*compact=*/true);
    return logits;
  }

 private:
  std::vector<std::vector<float>> Run(const std::vector<PassRow>& rows) {
    Pass pass = Must(core_.Begin(rows, nullptr));
    const HiddenRows done = Must(core_.FinishAll(pass));
    const int64_t vocabulary = core_.model().config().vocabulary;
    std::vector<std::vector<float>> all;
    for (int row = 0; row < static_cast<int>(rows.size()); ++row) {
      std::vector<float>& logits = all.emplace_back(static_cast<size_t>(vocabulary));
      Must(core_.runner().Logits(done, {row}, TensorView<float>(logits.data(), 1, vocabulary)));
    }
    return all;
  }

  EngineCore& core_;
  CachedText text_;
};

// Root 65 with children 66 and 67, and 68 below 66.
TokenTree SmallTree() {
  TokenTree tree(65);
  const int first = tree.Add(TokenTree::kRoot, 66, 0.5f);
  tree.Add(TokenTree::kRoot, 67, 0.25f);
  tree.Add(first, 68, 0.5f);
  return tree;
}

double Farthest(const PlainLlama::Numbers& expected, const std::vector<float>& found) {
  double farthest = 0;
  for (size_t i = 0; i < expected.size(); ++i) farthest = std::max(farthest, std::fabs(expected[i] - double{found[i]}));
  return farthest;
}

// Against a model that knows nothing of slots and paths, in double precision: the prefix, which has no position, comes before the text;
// forecast k has the position of its node and k + 1; no node sees any of it.
TEST(PlacedForecasts, RowsSeeThePrefixThePathAndTheForecastsBefore) {
  const TinyModel tiny = {.formats = {BlockFormat::kF32}};
  EngineOptions options = Options();
  options.compute.path = ComputePath::kReference;
  const auto engine = TinyEngine(tiny, options);
  const auto placed = PlacedIn(*engine);
  const std::shared_ptr<const Forecasts> forecasts = MakeForecasts(RandomForecasts(engine->config(), kSizes, 1), engine->config());
  PlainLlama plain(TinyModelBuilder(tiny).Build());
  plain.SetPrefix(forecasts);
  const std::vector<TokenId> text = RandomTokens(9, 3);
  const TokenTree tree = SmallTree();
  const std::vector<int> nodes = {0, 3};
  const auto logits = TreePass(CoreOf(*engine), text).Compute(tree, {.placed = placed.get(), .nodes = nodes, .each = kSizes.forecasts});
  ASSERT_EQ(logits.size(), 4u + 2 * 3);
  std::vector<int> path, of_node;
  for (size_t i = 0; i < text.size(); ++i) path.push_back(plain.Run({.token = text[i], .position = static_cast<int>(i), .sees = path}));
  std::vector<std::vector<int>> path_of;
  for (int node = 0; node < tree.size(); ++node) {
    std::vector<int> seen = node == TokenTree::kRoot ? path : path_of[static_cast<size_t>(tree[node].parent)];
    of_node.push_back(plain.Run({.token = tree[node].token, .position = static_cast<int>(seen.size()), .sees = seen}));
    seen.push_back(of_node.back());
    path_of.push_back(seen);
    EXPECT_LT(Farthest(plain.Logits(of_node.back()), logits[static_cast<size_t>(node)]), 1e-4) << node;
  }
  size_t row = 4;
  for (const int node : nodes) {
    std::vector<int> seen = path_of[static_cast<size_t>(node)];
    for (int k = 0; k < kSizes.forecasts; ++k, ++row) {
      const std::vector<float> embedding(forecasts->embedding(k), forecasts->embedding(k) + forecasts->width());
      const PlainLlama::Row asked = {.embedding = embedding, .position = static_cast<int>(seen.size()), .sees = seen, .sees_prefix = true};
      seen.push_back(plain.Run(asked));
      EXPECT_LT(Farthest(plain.Logits(seen.back()), logits[row]), 1e-4) << node << " " << k;
      PlainLlama::Row other = asked;
      other.sees_prefix = false;
      EXPECT_GT(Farthest(plain.Logits(plain.Run(other)), logits[row]), 1e-2) << "or the prefix is not there";
      other = asked, other.position += 1;
      EXPECT_GT(Farthest(plain.Logits(plain.Run(other)), logits[row]), 1e-3) << "or positions do not count";
    }
  }
}

// On the fast path, in both formats, with slots anywhere: nodes have the bits that they have without forecasts, and forecasts those that
// they have beside no other node.
TEST(PlacedForecasts, NoRowsBitsDependOnOtherRows) {
  for (const auto& [format, scatter] :
       {std::pair{KvFormat::kHalf, uint64_t{0}}, {KvFormat::kHalf, uint64_t{3}}, {KvFormat::kInt8, uint64_t{5}}}) {
    EngineOptions options = Options();
    options.cache.kv_format = format;
    options.hooks = Hooks({.scatter_seed = scatter});
    const auto engine = TinyEngine({.layers = 3}, options);
    const auto placed = PlacedIn(*engine);
    EngineCore& core = CoreOf(*engine);
    const std::vector<TokenId> text = RandomTokens(21, 3);
    const TokenTree tree = SmallTree();
    const std::vector<int> nodes = {0, 1, 2, 3};
    const auto together = TreePass(core, text).Compute(tree, {.placed = placed.get(), .nodes = nodes, .each = 3});
    const auto plain = TreePass(core, text).Compute(tree, {});
    for (size_t node = 0; node < 4; ++node) EXPECT_EQ(together[node], plain[node]) << node;
    for (const int node : nodes) {
      std::vector<TokenId> longer = text, path = tree.PathTo(node);   // The text up to the node, which is the root of a tree alone.
      path.insert(path.begin(), tree[TokenTree::kRoot].token);
      longer.insert(longer.end(), path.begin(), path.end() - 1);
      const std::vector<int> root = {0};
      const auto alone = TreePass(core, longer).Compute(TokenTree(tree[node].token), {.placed = placed.get(), .nodes = root, .each = 3});
      for (size_t k = 0; k < 3; ++k) EXPECT_EQ(together[4 + static_cast<size_t>(node) * 3 + k], alone[1 + k]) << node << " " << k;
    }
  }
}

// As the operator that stores those of a pass rounds them.
TEST(PlacedForecasts, ThePrefixIsStoredInTheCachesFormat) {
  const auto engine = TinyEngine({}, Options());
  const ForecastFile file = RandomForecasts(engine->config(), kSizes, 4);
  const auto placed = Must(PlacedForecasts::Place(SharedCoreOf(*engine), MakeForecasts(file, engine->config())));
  const KvCache::Paths prefix = placed->Prefix();
  ASSERT_EQ(prefix.size(), 1u);
  EXPECT_EQ(PathLength(prefix[0]), kSizes.slots);
  const auto numbers = [&](const std::string& name) { return ForecastFile(file).Of(name).numbers; };
  const std::vector<float> keys = numbers("prefix.keys"), values = numbers("prefix.values");
  size_t next = 0;
  for (int layer = 0; layer < 2; ++layer) {
    const KvView view = CoreOf(*engine).cache().View(layer);
    for (int i = 0; i < kSizes.slots; ++i) {
      const int slot = prefix[0][0].begin + i;
      for (int head = 0; head < 2; ++head) {
        for (int d = 0; d < 16; ++d, ++next) {
          ASSERT_EQ(view.Keys<uint16_t>(0, head)[view.KeyIndex(slot, d)], FloatToHalf(keys[next]));
          ASSERT_EQ(view.Values<uint16_t>(0, head)[view.ValueIndex(slot, d)], FloatToHalf(values[next]));
        }
      }
    }
  }
}

TEST(PlacedForecasts, SlotsAreTakenOnceAndGivenBack) {
  const auto engine = TinyEngine({}, Options());
  const KvCache& cache = CoreOf(*engine).cache();
  EXPECT_GE(cache.slots(), 64 + kSizes.slots);
  const int free = cache.free_slots();
  {
    const auto placed = PlacedIn(*engine);
    EXPECT_EQ(cache.free_slots(), free - kSizes.slots);
    std::shared_ptr<const PlacedForecasts> other = placed;
    TreePass pass(CoreOf(*engine), RandomTokens(5, 1));
    const std::vector<int> nodes = {0, 1};
    pass.Compute(SmallTree(), {.placed = placed.get(), .nodes = nodes, .each = 2});
    EXPECT_EQ(cache.free_slots(), free - kSizes.slots - 5) << "forecasts leave nothing";
  }
  EXPECT_EQ(cache.free_slots(), free);
}

TEST(PlacedForecasts, ForecastsThatDoNotFitAreRefused) {
  const auto engine = TinyEngine({}, Options()), deep = TinyEngine({.layers = 3}, Options());
  const auto heads = TinyEngine({.kv_heads = 4}, Options()), wide = TinyEngine({.width = 96}, Options());
  const auto refused = [&](Engine& of, Engine& in) {
    const auto forecasts = MakeForecasts(RandomForecasts(of.config(), kSizes, 1), of.config());
    const absl::Status status = PlacedForecasts::Place(SharedCoreOf(in), forecasts).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_EQ(refused(*deep, *engine), "forecasts: layers: found 3, expected 2, the model's");
  EXPECT_EQ(refused(*heads, *engine), "forecasts: numbers of a key: found 64, expected 32, the model's");
  EXPECT_EQ(refused(*wide, *engine), "forecasts: width: found 96, expected 64, the model's");
  EXPECT_EQ(PlacedIn(*engine)->CheckFits(CoreOf(*deep)).message(), "forecasts: found those in another engine's cache, expected this one's");
  SwitchingPhone phone(SwitchRule::kPlanned);
  EXPECT_EQ(refused(*phone.engine, *phone.engine),
            "forecasts: found an engine that switches graphs, expected one with the graphs it began with");
  const auto large = MakeForecasts(RandomForecasts(engine->config(), {.slots = 200, .forecasts = 1}, 1), engine->config());
  const int free = CoreOf(*engine).cache().free_slots();
  EXPECT_TRUE(absl::IsResourceExhausted(PlacedForecasts::Place(SharedCoreOf(*engine), large).status()));
  EXPECT_EQ(CoreOf(*engine).cache().free_slots(), free);
}

TEST(PlacedForecasts, ReservedSlotsAreChecked) {
  for (const int slots : {-1, 65537}) {
    const absl::Status status = CheckOptions(Options(slots));
    EXPECT_EQ(status.message(), absl::StrCat("reserved_slots: found ", slots, ", expected 0 to 65536"));
  }
}

}  // namespace
}  // namespace tessera
