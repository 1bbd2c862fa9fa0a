#include "tessera/runtime/draft/eagle_expander.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/tests/fakes/eagle_builder.h"
#include "tessera/tests/fakes/tiny_engine.h"
#include "tessera/tests/fakes/written_text.h"

namespace tessera {
namespace {

// An engine whose passes are for the listener alone. It has the weights of the one that writes.
class Teller {
 public:
  explicit Teller(const TinyModel& model) : engine_(TinyEngine(model, {.compute = {.threads = 1}})) {}
  Engine& engine() { return *engine_; }

  // Computes the text, and tells of its tokens from the one numbered `first` on.
  void Tell(absl::Span<const TokenId> text, int first, LayerListener& listener) {
    EngineCore& core = CoreOf(*engine_);
    const EngineCore::Hold hold = Must(core.TryHold());
    CachedText cached(core.cache());
    cached.Append(text);
    cached.MakeExtendable();
    const int count = static_cast<int>(text.size());
    Must(core.MakeRoom(count));
    std::vector<PassRow> rows;
    Must(cached.PlaceNext(count, /*adapter=*/nullptr, rows));
    Pass pass = Must(core.Begin(rows, /*cancel=*/nullptr));
    const ListeningRows listening[] = {{&listener, first, count - first}};
    Must(TellLayers(pass, listening));
    Must(pass.Finish({}).status());
    std::vector<int> all(static_cast<size_t>(count - first));
    std::iota(all.begin(), all.end(), 0);
    listener.EndPass(first, text.subspan(static_cast<size_t>(first)), all);
  }

 private:
  const std::unique_ptr<Engine> engine_;
};

std::shared_ptr<const EagleHead> HeadFor(Engine& engine, const EagleSizes& sizes) {
  const EagleBuilder builder(sizes);
  const std::string bytes = builder.File();
  const auto file = Must(SafetensorsFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "head"));
  return Must(EagleHead::Read(*file, builder.Config(), "head.json", engine.config()));
}

const TinyModel kLetters = {.writes_letters = true};
const EagleSizes kLetterHead = {.vocabulary = 26, .first_token = 'a', .step = 1};

// A drafter that is told of its text, token by token, as it becomes one.
class ToldDrafter : public ExpandingDrafter {
 public:
  // listener: the expander.
  ToldDrafter(LayerListener& listener, std::unique_ptr<Expander> expander, std::unique_ptr<TreePolicy> policy, Teller& teller)
      : ExpandingDrafter(std::move(expander), std::move(policy), {}), listener_(listener), teller_(teller) {}

  void Begin(absl::Span<const TokenId> text) override {
    text_.assign(text.begin(), text.end());
    teller_.Tell(absl::MakeConstSpan(text_).first(text_.size() - 1), 0, listener_);
    ExpandingDrafter::Begin(text);
  }
  void Commit(const TokenTree& tree, const Verdict& verdict) override {
    const int first = static_cast<int>(text_.size()) - 1;
    text_.insert(text_.end(), verdict.emitted.begin(), verdict.emitted.end());
    teller_.Tell(absl::MakeConstSpan(text_).first(text_.size() - 1), first, listener_);
    ExpandingDrafter::Commit(tree, verdict);
  }

 private:
  LayerListener& listener_;
  Teller& teller_;
  std::vector<TokenId> text_;
};

TEST(EagleExpander, HeaderExample) {
  Teller teller(kLetters);
  const TemporaryFolder folder;
  EagleBuilder(kLetterHead).WriteTo(folder.Path("eagle.safetensors"));
  const Engine* const engine = &teller.engine();
  const std::vector<TokenId> text = {'h', 'e', 'l', 'l', 'o'};
  const auto run = [&]() -> absl::StatusOr<int> {
    ASSIGN_OR_RETURN(const auto head, EagleHead::Open(folder.Path("eagle.safetensors"), engine->config()));
    auto expander = std::make_unique<EagleExpander>(head, EagleExpander::OptionsFor(CoreOf(*engine)));
    LayerListener* const listener = expander.get();
    ASSIGN_OR_RETURN(auto policy, MakeTreePolicy("chain:tokens=3", {}));
    ExpandingDrafter drafter(std::move(expander), std::move(policy), {});
    teller.Tell(absl::MakeConstSpan(text).first(4), 0, *listener);
    drafter.Begin(text);
    TokenTree tree(text.back());
    RETURN_IF_ERROR(drafter.Propose({.max_nodes = 8}, tree));
    return tree.size();
  };
  EXPECT_EQ(Must(run()), 4);
}

TEST(EagleExpander, TextsEqualTheModelsWhateverTheHeadProposes) {
  Teller teller(kLetters);
  const std::unique_ptr<Engine> engine = TinyEngine(kLetters, {.compute = {.threads = 1}});
  const SamplingOptions greedy = {.temperature = 0}, sampled = {.temperature = 0.8f, .seed = 5};
  PromptWriter writer(*engine, {'a', 'n', 'd'});
  for (const SamplingOptions& sampling : {greedy, sampled}) {
    const WrittenText plain = writer.Write(sampling, {.max_tokens = 24}, nullptr);
    for (const char* tree : {"chain:tokens=4", "eagle2:width=4,depth=3,nodes=12"}) {
      auto expander = std::make_unique<EagleExpander>(HeadFor(*engine, kLetterHead), EagleExpander::OptionsFor(CoreOf(teller.engine())));
      EagleExpander& head = *expander;
      auto drafter = std::make_unique<ToldDrafter>(head, std::move(expander), Must(MakeTreePolicy(tree, {})), teller);
      const ToldDrafter& seen = *drafter;
      Speculator speculator(std::move(drafter), {.max_rows = 16, .weigh_costs = false});
      EXPECT_EQ(writer.WriteWith(sampling, {.max_tokens = 24}, &speculator), plain) << tree;
      EXPECT_GT(seen.account().rows, 10) << tree;
      EXPECT_GT(head.tree_rows(), 10) << tree;
      EXPECT_GT(speculator.report().rows, speculator.report().steps) << tree;
    }
  }
}

// What a fresh draft says of the text that was told from `first` on.
TopTokens Fresh(Teller& teller, const std::shared_ptr<const EagleHead>& head, absl::Span<const TokenId> text, int first) {
  EagleExpander expander(head, EagleExpander::OptionsFor(CoreOf(teller.engine())));
  teller.Tell(text.first(text.size() - 1), first, expander);
  Must(expander.Begin(text));
  return Must(expander.Expand(TokenTree(text.back()), {TokenTree::kRoot}, 8))[0];
}

void ExpectSame(const TopTokens& a, const TopTokens& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].token, b[i].token) << i;
    EXPECT_EQ(a[i].probability, b[i].probability) << i;
  }
}

TEST(EagleExpander, TextRowsUseTheFeaturesToldByTheModel) {
  Teller teller(kLetters);
  const auto head = HeadFor(teller.engine(), kLetterHead);
  const std::vector<TokenId> text = {'t', 'h', 'e', ' ', 'c', 'a', 't', ' ', 's', 'a', 't'};
  EagleExpander expander(head, EagleExpander::OptionsFor(CoreOf(teller.engine())));
  teller.Tell(absl::MakeConstSpan(text).first(4), 0, expander);
  Must(expander.Begin(absl::MakeConstSpan(text).first(5)));
  for (size_t length = 5; length < text.size(); length += 2) {
    TokenTree tree(text[length - 1]);
    const TopTokens said = Must(expander.Expand(tree, {TokenTree::kRoot}, 8))[0];
    ASSERT_EQ(said.size(), 8u);
    ExpectSame(said, Fresh(teller, head, absl::MakeConstSpan(text).first(length), 0));
    const int right = tree.Add(TokenTree::kRoot, text[length], 0.5f), wrong = tree.Add(TokenTree::kRoot, 'q', 0.2f);
    ASSERT_EQ(Must(expander.Expand(tree, {right, wrong}, 4)).size(), 2u);
    const absl::Span<const TokenId> emitted = absl::MakeConstSpan(text).subspan(length, 2);
    teller.Tell(absl::MakeConstSpan(text).first(length + 1), static_cast<int>(length) - 1, expander);
    Must(expander.Commit(tree, emitted));
    EXPECT_EQ(expander.held(), static_cast<int>(length) - 1);   // Rows of the text alone: its first token has none.
  }
  EXPECT_EQ(expander.tree_rows(), 2 * 3);
  EXPECT_EQ(expander.text_rows(), 8);                            // Each once.
}

TEST(EagleExpander, TheSameCallsSayTheSameWhetherNodesCameTogetherOrAlone) {
  Teller teller(kLetters);
  const auto head = HeadFor(teller.engine(), kLetterHead);
  const std::vector<TokenId> text = {'o', 'n', 'e'};
  std::vector<TopTokens> said[2];
  for (const bool together : {false, true}) {
    EagleExpander expander(head, EagleExpander::OptionsFor(CoreOf(teller.engine())));
    teller.Tell(absl::MakeConstSpan(text).first(2), 0, expander);
    Must(expander.Begin(text));
    TokenTree tree('e');
    const int a = tree.Add(0, 'a', 0.5f), b = tree.Add(0, 'b', 0.3f), c = tree.Add(a, 'c', 0.5f), d = tree.Add(b, 'c', 0.5f);
    const auto expand = [&](const std::vector<int>& nodes) {
      for (TopTokens& top : Must(expander.Expand(tree, nodes, 4))) said[together].push_back(std::move(top));
    };
    if (together) expand({0}), expand({a, b}), expand({c, d});
    else expand({0}), expand({a}), expand({b}), expand({c}), expand({d});
  }
  ASSERT_EQ(said[0].size(), 5u);
  for (size_t i = 0; i < 5; ++i) ExpectSame(said[0][i], said[1][i]);
  EXPECT_NE(said[0][3][0].probability, said[0][4][0].probability);   // The same token after another one.
}

TEST(EagleExpander, TokensWithoutFeaturesAreUnknown) {
  Teller teller(kLetters);
  const auto head = HeadFor(teller.engine(), kLetterHead);
  const std::vector<TokenId> text = {'f', 'r', 'o', 'm', ' ', 'a', ' ', 'f', 'i', 'l', 'e'};
  EagleExpander expander(head, EagleExpander::OptionsFor(CoreOf(teller.engine())));
  Must(expander.Begin(absl::MakeConstSpan(text).first(8)));
  TokenTree tree(text[7]);
  EXPECT_TRUE(Must(expander.Expand(tree, {TokenTree::kRoot}, 8))[0].empty());
  const int node = tree.Add(TokenTree::kRoot, 'x', 0.5f);
  EXPECT_TRUE(Must(expander.Expand(tree, {node}, 8))[0].empty());
  teller.Tell(absl::MakeConstSpan(text).first(10), 7, expander);
  Must(expander.Commit(tree, absl::MakeConstSpan(text).subspan(8)));
  const TopTokens said = Must(expander.Expand(TokenTree(text.back()), {TokenTree::kRoot}, 8))[0];
  ExpectSame(said, Fresh(teller, head, text, 7));
  EXPECT_EQ(expander.held(), 3);
  const TopTokens whole = Fresh(teller, head, text, 0);
  EXPECT_NE(said[0].probability, whole[0].probability);   // More text would say something else.
}

TEST(EagleExpander, ATextThatBeginsAsTheLastOneKeepsItsRows) {
  Teller teller(kLetters);
  const auto head = HeadFor(teller.engine(), kLetterHead);
  const std::vector<TokenId> text = {'s', 'a', 'm', 'e', ' ', 'o', 'n', 'e'}, other = {'s', 'a', 'm', 'e', ' ', 'a', 's'};
  EagleExpander expander(head, EagleExpander::OptionsFor(CoreOf(teller.engine())));
  teller.Tell(absl::MakeConstSpan(text).first(7), 0, expander);
  Must(expander.Begin(text));
  const TopTokens first = Must(expander.Expand(TokenTree('e'), {TokenTree::kRoot}, 8))[0];
  Must(expander.Begin(text));
  ExpectSame(Must(expander.Expand(TokenTree('e'), {TokenTree::kRoot}, 8))[0], first);
  EXPECT_EQ(expander.text_rows(), 7 + 1);
  teller.Tell(absl::MakeConstSpan(other).first(6), 4, expander);   // The cache had the rest.
  Must(expander.Begin(other));
  ExpectSame(Must(expander.Expand(TokenTree('s'), {TokenTree::kRoot}, 8))[0], Fresh(teller, head, other, 0));
}

TEST(EagleExpander, LongTextsAreSeenByTheirEnd) {
  Teller teller(kLetters);
  const auto head = HeadFor(teller.engine(), kLetterHead);
  EagleExpander::Options options = EagleExpander::OptionsFor(CoreOf(teller.engine()));
  options.most_tokens = 8;
  EagleExpander expander(head, options);
  std::vector<TokenId> text = RandomTokens(40, /*seed=*/3);
  teller.Tell(absl::MakeConstSpan(text).first(39), 0, expander);
  Must(expander.Begin(text));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Must(expander.Expand(TokenTree(text.back()), {TokenTree::kRoot}, 4))[0].size(), 4u);
    EXPECT_LE(expander.held(), 8);
    teller.Tell(text, static_cast<int>(text.size()) - 1, expander);
    const TokenId next = 'a' + i;
    Must(expander.Commit(TokenTree(text.back()), {next}));
    text.push_back(next);
  }
  EXPECT_LE(expander.bytes() - head->bytes(), EagleExpander::MostBytes(head->shape(), 8));
  EXPECT_GE(expander.Seconds(1), 0);
}

TEST(EagleExpander, AFailedExpansionChangesNothing) {
  Teller teller(kLetters);
  const auto head = HeadFor(teller.engine(), kLetterHead);
  const std::vector<TokenId> text = {'o', 'n', 'e'};
  EagleExpander::Options options = EagleExpander::OptionsFor(CoreOf(teller.engine()));
  bool fails = false;
  options.embeddings = [&, right = options.embeddings](absl::Span<const TokenId> tokens, TensorView<float> out) -> absl::Status {
    return fails ? absl::UnavailableError("flash") : right(tokens, out);
  };
  EagleExpander expander(head, options);
  teller.Tell(absl::MakeConstSpan(text).first(2), 0, expander);
  Must(expander.Begin(text));
  TokenTree tree('e');
  for (const int node : {0, tree.Add(0, 'a', 0.5f)}) {
    fails = true;
    EXPECT_TRUE(absl::IsUnavailable(expander.Expand(tree, {node}, 8).status()));
    fails = false;
    EXPECT_EQ(Must(expander.Expand(tree, {node}, 8))[0].size(), 8u);
  }
}

}  // namespace
}  // namespace tessera
