// A whole model as a draft: it says what a session of that model says, and computes nothing twice.
#include "tessera/runtime/draft/model_expander.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/draft/draft_vocabulary.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/runtime/session/session.h"
#include "tessera/spec/drafters/expanding_drafter.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/failing_source.h"
#include "tessera/tests/fakes/ticking_clock.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

const TinyModel kDraft = {.seed = 5};

std::shared_ptr<Engine> Draft(EngineOptions options = {}) {
  if (options.compute.threads == 0) options.compute.threads = 1;
  return TinyEngine(kDraft, std::move(options));
}

// What a session says after a text.
TopTokens After(Engine& engine, absl::Span<const TokenId> text, int most) {
  const auto session = Must(engine.NewSession());
  Must(session->Append(text));
  return TopTokensOf(session->logits(), most);
}

void ExpectSame(const TopTokens& found, const TopTokens& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].token, expected[i].token) << i;
    EXPECT_EQ(found[i].probability, expected[i].probability) << i;
  }
}

std::vector<TokenId> Joined(std::vector<TokenId> text, absl::Span<const TokenId> more) {
  text.insert(text.end(), more.begin(), more.end());
  return text;
}

TEST(ModelExpander, HeaderExample) {
  const TemporaryFolder folder;
  TinyModelBuilder(kDraft).WriteTo(folder.Path("small.gguf"));
  ThreadPool pool(2);
  const auto engine = TinyEngine({.seed = 9}, {.compute = {.pool = &pool}});
  const Engine& target = *engine;
  const CostProfile costs;
  std::unique_ptr<Drafter> made;
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::shared_ptr<Engine> draft, Engine::Load({.model_path = folder.Path("small.gguf"), .compute = {.pool = &pool}}));
    RETURN_IF_ERROR(CheckSameVocabulary(target.model(), draft->model()));
    ASSIGN_OR_RETURN(auto expander, ModelExpander::Create(draft, {.vocabulary = target.config().vocabulary}));
    ASSIGN_OR_RETURN(auto policy, MakeTreePolicy("lever", {.profile = &costs}));
    auto drafter = std::make_unique<ExpandingDrafter>(std::move(expander), std::move(policy), ExpandingDrafter::Options());
    made = std::move(drafter);
    return absl::OkStatus();
  };
  Must(run());
  EXPECT_EQ(made->name(), "draft");
  made->Begin({{1, 2, 3}});
  TokenTree tree(3);
  Must(made->Propose({.max_nodes = 7}, tree));
}

struct Kind {
  TinyModel model;
  EngineOptions options;
};

std::vector<Kind> Kinds() {
  return {{kDraft, {.compute = {.threads = 2}}},
          {{.tied = true, .formats = {BlockFormat::kQ4_0, BlockFormat::kQ8_0}, .seed = 6},
           {.compute = {.threads = 1, .row_capacity = 7}, .hooks = Hooks({.scatter_seed = 3})}},
          {{.architecture = "gemma3", .layers = 6, .context = 512, .window = 24, .seed = 7},
           {.compute = {.threads = 1, .row_capacity = 16}, .cache = {.context = 512}}}};
}

// Asks for nodes at random, each below one that was asked for, and compares each answer.
void GrowAtRandom(ModelExpander& expander, Engine& alone, const std::vector<TokenId>& text, SeededRandom& random, TokenTree& tree) {
  constexpr size_t kMostNodes = 14;
  std::vector<int> expanded;
  for (int pass = 0; pass < 4; ++pass) {
    std::vector<int> nodes;
    for (int node = 0; node < tree.size(); ++node) {
      const bool asked = std::find(expanded.begin(), expanded.end(), node) != expanded.end();
      const bool has_room = static_cast<int>(nodes.size()) < expander.most_rows() && expanded.size() + nodes.size() < kMostNodes;
      if (!asked && has_room && (node == TokenTree::kRoot || random.Below(2) == 0)) nodes.push_back(node);
    }
    if (nodes.empty()) continue;
    const std::vector<TopTokens> said = Must(expander.Expand(tree, nodes, 3));
    ASSERT_EQ(said.size(), nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
      ExpectSame(said[i], After(alone, Joined(text, tree.PathTo(nodes[i])), 3));
      for (const TopToken& next : said[i]) tree.Add(nodes[i], next.token, next.probability);
      expanded.push_back(nodes[i]);
    }
  }
}

// Some way down the tree, and perhaps a token that is not in it.
std::vector<TokenId> EmitAtRandom(const TokenTree& tree, SeededRandom& random) {
  std::vector<TokenId> emitted;
  int node = TokenTree::kRoot;
  while (random.Below(4) > 0) {
    std::vector<int> children;
    for (int child = node + 1; child < tree.size(); ++child) {
      if (tree[child].parent == node) children.push_back(child);
    }
    if (children.empty()) break;
    node = children[random.Below(children.size())];
    emitted.push_back(tree[node].token);
  }
  if (random.Below(3) > 0) emitted.push_back(static_cast<TokenId>(random.Below(256)));
  return emitted;
}

TEST(ModelExpander, EveryNodeIsAnsweredAsByASessionOfTheModel) {
  for (const Kind& kind : Kinds()) {
    const std::shared_ptr<Engine> draft = TinyEngine(kind.model, kind.options);
    const auto alone = TinyEngine(kind.model, kind.options);
    const auto expander = Must(ModelExpander::Create(draft, {}));
    EXPECT_EQ(expander->most_rows(), std::min(64, CoreOf(*draft).runner().row_capacity()));
    SeededRandom random(kind.model.seed);
    std::vector<TokenId> text = RandomTokens(40, 1);
    Must(expander->Begin(text));
    for (int step = 0; step < 12; ++step) {
      SCOPED_TRACE(testing::Message() << kind.model.architecture << ", step " << step);
      TokenTree tree(text.back());
      GrowAtRandom(*expander, *alone, text, random, tree);
      const std::vector<TokenId> emitted = EmitAtRandom(tree, random);
      Must(expander->Commit(tree, emitted));
      text = Joined(text, emitted);
    }
    EXPECT_LE(expander->bytes(), ModelExpander::MostBytes(draft->context(), draft->config().vocabulary));
  }
}

class ModelExpanderRows : public testing::Test {
 protected:
  ModelExpanderRows() : draft_(Draft()), expander_(Must(ModelExpander::Create(draft_, {}))) {}
  // Rows that this takes.
  int64_t Asks(const TokenTree& tree, int node, int most = 2) {
    const int64_t before = draft_->stats().rows;
    said_ = Must(expander_->Expand(tree, {node}, most))[0];
    return draft_->stats().rows - before;
  }
  int AddLikeliest(TokenTree& tree, int node) { return tree.Add(node, said_[0].token, 0.5f); }

  const std::shared_ptr<Engine> draft_;
  const std::unique_ptr<ModelExpander> expander_;
  TopTokens said_;
};

TEST_F(ModelExpanderRows, AcceptedTokensAreNotComputedAgain) {
  const std::vector<TokenId> text = RandomTokens(20, 1);
  Must(expander_->Begin(text));
  EXPECT_EQ(draft_->stats().rows, 0) << "nobody has asked";
  TokenTree tree(text.back());
  EXPECT_EQ(Asks(tree, TokenTree::kRoot), 20) << "the text and the root";
  EXPECT_EQ(draft_->stats().passes, 1) << "together";
  const int first = AddLikeliest(tree, TokenTree::kRoot);
  EXPECT_EQ(Asks(tree, first), 1);
  const int second = AddLikeliest(tree, first);
  EXPECT_EQ(Asks(tree, second), 1);
  const int third = AddLikeliest(tree, second);
  Must(expander_->Commit(tree, {tree[first].token, tree[second].token, tree[third].token, 7}));
  EXPECT_EQ(CoreOf(*draft_).cache().free_slots(), CoreOf(*draft_).cache().slots() - 22) << "the text before, and two";

  TokenTree next(7);
  EXPECT_EQ(Asks(next, TokenTree::kRoot), 2) << "the third, and the root";
  const int wrong = AddLikeliest(next, TokenTree::kRoot);
  EXPECT_EQ(Asks(next, wrong), 1);
  const TokenId other = (next[wrong].token + 1) % 256;
  Must(expander_->Commit(next, {other}));
  EXPECT_EQ(CoreOf(*draft_).cache().free_slots(), CoreOf(*draft_).cache().slots() - 24) << "without the wrong one";
  EXPECT_EQ(Asks(TokenTree(other), TokenTree::kRoot), 1);
}

TEST_F(ModelExpanderRows, ANodeThatBecomesTheRootIsKnown) {
  Must(expander_->Begin(RandomTokens(20, 1)));
  TokenTree tree(RandomTokens(20, 1).back());
  Asks(tree, TokenTree::kRoot);
  const int node = AddLikeliest(tree, TokenTree::kRoot);
  Asks(tree, node);
  const TopTokens after = said_;
  Must(expander_->Commit(tree, {tree[node].token}));
  TokenTree next(tree[node].token);
  EXPECT_EQ(Asks(next, TokenTree::kRoot), 0);
  ExpectSame(said_, after);
  const int child = AddLikeliest(next, TokenTree::kRoot);
  EXPECT_EQ(Asks(next, child), 1);
  Must(expander_->Commit(next, {}));
  EXPECT_EQ(Asks(next, TokenTree::kRoot), 0) << "nothing came: it is still the root";
  ExpectSame(said_, after);
  Must(expander_->Commit(next, {}));
  EXPECT_EQ(Asks(next, TokenTree::kRoot, /*most=*/5), 1) << "that is another question";
  EXPECT_EQ(said_.size(), 5u);
  Must(expander_->Commit(next, {next[child].token, 9}));
  Must(expander_->Commit(TokenTree(9), {8, 7}));   // Nobody asked.
  EXPECT_EQ(Asks(TokenTree(7), TokenTree::kRoot), 4) << "the child, 9, 8, and the root";
}

TEST_F(ModelExpanderRows, ATextWithASharedPrefixIsReadFromTheFirstDifference) {
  const std::vector<TokenId> text = RandomTokens(30, 1);
  Must(expander_->Begin(text));
  EXPECT_EQ(Asks(TokenTree(text.back()), TokenTree::kRoot), 30);
  const std::vector<TokenId> longer = Joined(text, {1, 2, 3});
  Must(expander_->Begin(longer));
  EXPECT_EQ(Asks(TokenTree(3), TokenTree::kRoot), 3);
  std::vector<TokenId> other(text.begin(), text.begin() + 20);
  other = Joined(other, {static_cast<TokenId>((text[20] + 1) % 256), 5, 6});
  Must(expander_->Begin(other));
  EXPECT_EQ(Asks(TokenTree(6), TokenTree::kRoot), 3);
  ExpectSame(said_, After(*Draft(), other, 2));
}

TEST_F(ModelExpanderRows, DestroyingTheExpanderFreesAllSlots) {
  {
    const auto other = Must(ModelExpander::Create(draft_, {}));
    Must(other->Begin(RandomTokens(20, 1)));
    TokenTree tree(RandomTokens(20, 1).back());
    Must(other->Expand(tree, {TokenTree::kRoot}, 2));
  }
  EXPECT_EQ(CoreOf(*draft_).cache().free_slots(), CoreOf(*draft_).cache().slots());
}

// Whatever part of the model cannot be read, and whenever the engine is told to stop.
TEST(ModelExpanderErrors, AfterAnErrorTheExpanderIsUnchanged) {
  std::atomic<bool> cancel{false};
  const std::shared_ptr<Engine> draft = Draft({.compute = {.row_capacity = 8}, .cancel = &cancel});
  FailingSource source(draft->model().weights());
  CoreOf(*draft).runner().SetSource(source);
  const auto expander = Must(ModelExpander::Create(draft, {}));
  const std::vector<TokenId> text = RandomTokens(20, 1);
  Must(expander->Begin(text));
  TokenTree tree(text.back());
  int node = TokenTree::kRoot;
  for (int depth = 0; depth < 2; ++depth) {
    for (source.failing = 0; source.failing < source.units(); ++source.failing) {
      EXPECT_EQ(expander->Expand(tree, {node}, 3).status().code(), absl::StatusCode::kUnavailable) << source.failing;
    }
    source.failing = -1;
    cancel = true;
    EXPECT_EQ(expander->Expand(tree, {node}, 3).status().code(), absl::StatusCode::kCancelled);
    cancel = false;
    const TopTokens said = Must(expander->Expand(tree, {node}, 3))[0];
    ExpectSame(said, After(*Draft(), Joined(text, tree.PathTo(node)), 3));
    node = tree.Add(node, said[0].token, 0.5f);
  }
  Must(expander->Commit(tree, {tree[1].token}));
  EXPECT_EQ(CoreOf(*draft).cache().free_slots(), CoreOf(*draft).cache().slots() - 21);
  CoreOf(*draft).runner().SetSource(draft->model().weights());
}

TEST(ModelExpanderErrors, ATextAndItsTreeHaveTheDraftsContextTogether) {
  const std::shared_ptr<Engine> draft = Draft({.cache = {.context = 24}});
  const auto expander = Must(ModelExpander::Create(draft, {.name = "small"}));
  const absl::Status longer = expander->Begin(RandomTokens(25, 1));
  EXPECT_EQ(longer.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(longer.message(), "draft small: found a text of 25 tokens, expected at most 24, the draft's context");
  Must(expander->Begin(RandomTokens(20, 1)));
  TokenTree tree(RandomTokens(20, 1).back());
  Must(expander->Expand(tree, {TokenTree::kRoot}, 2));
  std::vector<int> children;
  for (TokenId token = 0; token < 6; ++token) children.push_back(tree.Add(TokenTree::kRoot, token, 0.1f));
  const std::vector<TopTokens> said = Must(expander->Expand(tree, children, 2));
  for (size_t i = 0; i < said.size(); ++i) EXPECT_EQ(said[i].size(), i < 4 ? 2u : 0u) << i;
  const int below = tree.Add(children.back(), 9, 0.1f);
  EXPECT_TRUE(Must(expander->Expand(tree, {below}, 2))[0].empty());
  Must(expander->Commit(tree, {5, 9, 3, 2}));
  EXPECT_EQ(Must(expander->Expand(TokenTree(2), {TokenTree::kRoot}, 2))[0].size(), 2u) << "the last token that fits";
  EXPECT_EQ(expander->Commit(TokenTree(2), {1}).code(), absl::StatusCode::kResourceExhausted);
  Must(expander->Begin(RandomTokens(5, 1)));
  Must(expander->Expand(TokenTree(RandomTokens(5, 1).back()), {TokenTree::kRoot}, 2));
}

TEST(ModelExpanderErrors, TokensThatTheDraftLacksAreNamed) {
  const auto expander = Must(ModelExpander::Create(Draft(), {}));
  const absl::Status status = expander->Begin({{1, 300, 2}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "draft draft: token 1: found 300, expected 0 to 264");
  Must(expander->Begin({{1, 2}}));
  EXPECT_EQ(expander->Commit(TokenTree(2), {3, -1}).message(), "draft draft: token 3: found -1, expected 0 to 264");
}

TEST(ModelExpanderErrors, NoRoomBesideOtherSessionsIsSaidAndMayPass) {
  const std::shared_ptr<Engine> draft = Draft({.cache = {.context = 32}});
  auto session = Must(draft->NewSession());
  Must(session->Append(RandomTokens(20, 2)));
  const auto expander = Must(ModelExpander::Create(draft, {}));
  Must(expander->Begin(RandomTokens(20, 1)));
  const TokenTree tree(RandomTokens(20, 1).back());
  EXPECT_EQ(expander->Expand(tree, {TokenTree::kRoot}, 2).status().code(), absl::StatusCode::kResourceExhausted);
  session = nullptr;
  Must(expander->Expand(tree, {TokenTree::kRoot}, 2));
}

TEST(ModelExpanderErrors, AnEngineThatCannotDraftIsRefused) {
  const TemporaryFolder folder;
  TinyModelBuilder(kDraft).WriteTo(folder.Path("tiny.gguf"));
  std::shared_ptr<Engine> opened = Must(Engine::Open({.model_path = folder.Path("tiny.gguf"), .compute = {.threads = 1}}));
  EXPECT_EQ(ModelExpander::Create(opened, {}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(FieldOf(ModelExpander::Create(Draft(), {.vocabulary = -1}).status()), "vocabulary");
}

TEST(ModelExpander, OnlyTokensOfTheTargetAreCandidates) {
  const auto expander = Must(ModelExpander::Create(Draft(), {.vocabulary = 100}));
  const std::vector<TokenId> text = RandomTokens(10, 1);
  Must(expander->Begin(text));
  const TopTokens said = Must(expander->Expand(TokenTree(text.back()), {TokenTree::kRoot}, 6))[0];
  const auto alone = Draft();
  const auto session = Must(alone->NewSession());
  Must(session->Append(text));
  ExpectSame(said, TopTokensOf(session->logits().first(100), 6));
}

TEST(ModelExpander, SecondsAreLearntFromPassesExceptPrompts) {
  const TickingClock clock(1'000'000);
  const std::shared_ptr<Engine> draft = Draft();
  CostProfile shared;
  const auto own = Must(ModelExpander::Create(draft, {.clock = &clock}));
  const auto other = Must(ModelExpander::Create(draft, {.costs = &shared, .clock = &clock}));
  for (ModelExpander* const expander : {own.get(), other.get()}) {
    Must(expander->Begin(RandomTokens(90, 1)));
    TokenTree tree(RandomTokens(90, 1).back());
    Must(expander->Expand(tree, {TokenTree::kRoot}, 2));
    EXPECT_EQ(expander->Seconds(1), 0) << "a prompt of 90 tokens";
    const int node = tree.Add(TokenTree::kRoot, 1, 0.5f);
    Must(expander->Expand(tree, {node}, 2));
    EXPECT_NEAR(expander->Seconds(1), 0.002, 1e-6);
    EXPECT_GT(expander->Seconds(8), 0);
    EXPECT_EQ(expander->Seconds(0), 0);
    Must(expander->Begin({{1}}));   // Makes room in the cache.
  }
  EXPECT_TRUE(shared.KnowsSteps());
  EXPECT_FALSE(own->costs().frozen());
}

// Another thread has a session of the draft: it may be refused, the draft is not.
TEST(ModelExpander, WaitsForCallsOfOtherThreads) {
  const std::shared_ptr<Engine> draft = Draft();
  const auto session = Must(draft->NewSession());
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      session->Append({1, 2}).IgnoreError();
      session->Truncate(0);
      Dawdle(100);
    }
  });
  const auto expander = Must(ModelExpander::Create(draft, {}));
  EXPECT_TRUE(expander->Begin({{1, 2, 3}}).ok());
  TokenId root = 3;
  for (int step = 0; step < 60; ++step) {
    const TokenTree tree(root);
    const auto said = expander->Expand(tree, {TokenTree::kRoot}, 2);
    EXPECT_TRUE(said.ok()) << said.status();
    root = static_cast<TokenId>(step);
    EXPECT_TRUE(expander->Commit(tree, {root}).ok());
  }
  done = true;
  other.join();
}

}  // namespace
}  // namespace tessera
