#include "tessera/spec/drafters/expanding_drafter.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/spec/drafters/composite_drafter.h"
#include "tessera/spec/drafters/prompt_lookup.h"
#include "tessera/spec/speculation/replay.h"
#include "tessera/tests/fakes/chi_square.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/table_expander.h"
#include "tessera/tests/spec/trees/random_trees.h"

namespace tessera {
namespace {

std::unique_ptr<ExpandingDrafter> Make(DraftDistribution distribution, absl::string_view policy,
                                       const ExpandingDrafter::Options& options = {},
                                       const TreeCosts& costs = {}) {
  return std::make_unique<ExpandingDrafter>(std::make_unique<TableExpander>(std::move(distribution)), Must(MakeTreePolicy(policy, costs)),
                                            options);
}

const TableExpander& ExpanderOf(const ExpandingDrafter& drafter) { return static_cast<const TableExpander&>(drafter.expander()); }

// After each token its double, or the token after it.
DraftDistribution Doubles() {
  return [](absl::Span<const TokenId> text) {
    const TokenId last = text.back();
    return TopTokens{{(2 * last) % 97, 0.75f}, {97 + last % 2, 0.125f}};
  };
}

TEST(ExpandingDrafter, HeaderExample) {
  const CostProfile speculator_costs = Costs({0.01, 0.0101, 0.0102, 0.0103});
  const std::vector<TokenId> text = {5, 1};
  auto expander = std::make_unique<TableExpander>(Doubles());
  TokenTree tree(text.back());
  const auto run = [&]() -> absl::StatusOr<double> {
    ASSIGN_OR_RETURN(auto policy, MakeTreePolicy("lever", {.profile = &speculator_costs}));
    ExpandingDrafter drafter(std::move(expander), std::move(policy), {});
    drafter.Begin(text);
    RETURN_IF_ERROR(drafter.Propose({.max_nodes = 31}, tree));
    const Verdict verdict = {.path = {0, 1}, .emitted = {2, 9}};
    drafter.Commit(tree, verdict);
    EXPECT_GT(drafter.table().count(), 0);
    EXPECT_LT(drafter.rho(1), 1.001);
    EXPECT_LT(drafter.rho(2), 1);      // 9 was not among the candidates.
    return drafter.table().Error();
  };
  const absl::StatusOr<double> error = run();
  ASSERT_TRUE(error.ok()) << error.status();
  EXPECT_GT(*error, 0);
  EXPECT_EQ(tree[1].token, 2);
}

// A draft that knows the text drafts all of it, and computes each token once.
TEST(ExpandingDrafter, NothingThatBecameTextIsComputedTwice) {
  std::vector<TokenId> prompt = {5, 6, 1}, output;
  for (TokenId token = 2; output.size() < 60; token = (2 * token) % 97) output.push_back(token);
  const auto drafter = Make(Doubles(), "chain:tokens=5");
  const Replayed replayed = Must(Replay(*drafter, prompt, output, {.max_nodes = 5}));
  EXPECT_NEAR(replayed.tau(), 6, 0.5);
  const int64_t passes = ExpanderOf(*drafter).batches().size();
  EXPECT_EQ(drafter->account().passes, passes);
  // The prompt, and each token of the text but those after which nothing was asked. A chain of 5 expands 5 nodes: the root and 4 of its
  // own; the root of the next is read together with the token before it.
  EXPECT_LE(ExpanderOf(*drafter).computed(), static_cast<int64_t>(prompt.size() + output.size()));
}

TEST(ExpandingDrafter, EveryPolicyKeepsItsPromises) {
  SeededRandom random(2);
  const CostProfile costs = Costs(RandomPass(random, true, 32));
  for (const std::string& name : TreePolicyNames()) {
    const DraftDistribution distribution = RandomDistribution(3, 4);
    std::vector<TokenId> prompt = {3, 1}, output;
    std::vector<TokenId> text = prompt;
    for (int i = 0; i < 80; ++i) {   // Mostly what the draft thinks likely.
      output.push_back(random.Below(4) == 0 ? static_cast<TokenId>(random.Below(6)) : distribution(text)[0].token);
      text.push_back(output.back());
    }
    std::vector<double> taus;
    for (int time = 0; time < 2; ++time) {
      const auto drafter = Make(distribution, name, {}, {.profile = &costs});
      const absl::StatusOr<Replayed> replayed = Replay(*drafter, prompt, output, {.max_nodes = 15, .max_depth = 6}, /*vocabulary=*/6);
      ASSERT_TRUE(replayed.ok()) << replayed.status();
      EXPECT_GT(replayed->tau(), 1.3) << name;
      EXPECT_EQ(drafter->bytes() > 1000, true);
      taus.push_back(replayed->tau());
    }
    EXPECT_EQ(taus[0], taus[1]) << name;
  }
}

TEST(ExpandingDrafter, MergesWithDraftersThatReadTheText) {
  std::vector<std::unique_ptr<Drafter>> drafters;
  drafters.push_back(std::make_unique<PromptLookup>(PromptLookup::Options()));
  drafters.push_back(Make(Doubles(), "chain:tokens=3"));
  CompositeDrafter composite(std::move(drafters));
  composite.Begin({{1, 50, 60, 1}});
  TokenTree tree(1);
  Must(composite.Propose({.max_nodes = 31}, tree));
  const int copied = tree.Child(TokenTree::kRoot, 50), drafted = tree.Child(TokenTree::kRoot, 2);
  ASSERT_NE(copied, TokenTree::kNone);
  ASSERT_NE(drafted, TokenTree::kNone);
  EXPECT_EQ(tree[copied].source, 0);
  EXPECT_EQ(tree[drafted].source, 1);
  EXPECT_EQ(composite.account(1).failures, 0);
  composite.Commit(tree, {.path = {0, drafted}, .emitted = {2, 7}});
  EXPECT_EQ(composite.account(1).accepted, 1);
  TokenTree next(7);
  Must(composite.Propose({.max_nodes = 31}, next));
  EXPECT_NE(next.Child(TokenTree::kRoot, 14), TokenTree::kNone);   // The draft is in step with the text.
}

TEST(ExpandingDrafter, AnUncommittedProposalIsForgotten) {
  const auto drafter = Make(Doubles(), "chain:tokens=2");
  drafter->Begin({{1}});
  for (int time = 0; time < 3; ++time) {
    TokenTree tree(1);
    Must(drafter->Propose({.max_nodes = 2}, tree));
    EXPECT_EQ(tree.size(), 3);
  }
  TokenTree tree(1);
  drafter->Commit(tree, {.path = {0}, .emitted = {8}});
  TokenTree next(8);
  Must(drafter->Propose({.max_nodes = 2}, next));
  EXPECT_EQ(next[1].token, 16);
}

TEST(ExpandingDrafter, ErrorsRepeatInEveryProposalUntilTheNextText) {
  auto owned = std::make_unique<TableExpander>(Doubles());
  TableExpander& expander = *owned;
  ExpandingDrafter drafter(std::move(owned), Must(MakeTreePolicy("chain", {})), {});
  const auto propose = [&](TokenId root) {
    TokenTree tree(root);
    const absl::Status status = drafter.Propose({.max_nodes = 4}, tree);
    EXPECT_EQ(tree.size(), status.ok() ? 5 : 1);
    return status;
  };
  expander.fail_begin = absl::DataLossError("begin");
  drafter.Begin({{1}});
  EXPECT_EQ(propose(1), expander.fail_begin);
  drafter.Commit(TokenTree(1), {.path = {0}, .emitted = {2}});
  EXPECT_EQ(propose(2), expander.fail_begin);

  expander.fail_begin = absl::OkStatus();
  drafter.Begin({{1}});
  EXPECT_TRUE(propose(1).ok());
  expander.fail_commit = absl::DataLossError("commit");
  drafter.Commit(TokenTree(1), {.path = {0}, .emitted = {2}});
  expander.fail_commit = absl::OkStatus();
  EXPECT_EQ(propose(2).message(), "commit");

  drafter.Begin({{1}});
  expander.fail_expand = absl::DataLossError("expand");   // As if nothing had been asked.
  EXPECT_EQ(propose(1), expander.fail_expand);
  expander.fail_expand = absl::OkStatus();
  EXPECT_TRUE(propose(1).ok());
}

TEST(ExpandingDrafter, ReliabilityIsLearntAndMayBeLeftOut) {
  const auto probability_after = [](bool corrects) {
    const auto drafter = Make(Doubles(), "chain:tokens=1", {.corrects = corrects});
    drafter->Begin({{1}});
    for (int step = 0; step < 100; ++step) {
      TokenTree tree(1);
      Must(drafter->Propose({.max_nodes = 1}, tree));
      drafter->Commit(tree, {.path = {0}, .emitted = {1}});   // Never what was drafted.
    }
    TokenTree tree(1);
    Must(drafter->Propose({.max_nodes = 1}, tree));
    EXPECT_NEAR(drafter->rho(1), 0.2, 1e-9);
    return tree[1].probability;
  };
  EXPECT_NEAR(probability_after(true), 0.15, 1e-6);
  EXPECT_NEAR(probability_after(false), 0.75, 1e-6);
}

// Two tokens by trees that are cut to three rows: their distribution is the target's, whatever the draft's.
TEST(ExpandingDrafter, SampledTreesKeepTheTargetsDistribution) {
  constexpr int kTokens = 4, kRuns = 12000;
  const auto target = [](const std::vector<TokenId>& before) {
    std::vector<float> distribution = {0.1f, 0.2f, 0.3f, 0.4f};
    if (!before.empty()) std::swap(distribution[before[0] % kTokens], distribution[3]);
    return distribution;
  };
  const DraftDistribution draft = [](absl::Span<const TokenId> text) {
    return TopTokens{{text.back() % 2, 0.5f}, {3, 0.25f}, {2, 0.125f}};
  };
  std::vector<int64_t> counts(kTokens * kTokens);
  for (int run = 0; run < kRuns; ++run) {
    const auto drafter = Make(draft, "specinfer:widths=2x2", {.candidates = 4, .sampling = DraftSampling{.temperature = 0.7, .children = 2},
                                                              .seed = 11, .stream = static_cast<uint64_t>(run)});
    drafter->Begin({{0}});
    TokenTree tree(0);
    Must(drafter->Propose({.max_nodes = 3}, tree));
    Verification verification(tree);
    std::vector<TokenId> said;
    while (said.size() < 2) {
      const bool inside = verification.node() != TokenTree::kNone;
      const DrawnChildren* const drawn = inside ? drafter->Drawn(said) : nullptr;
      const DrawKey key = drafter->DrawKeyOf(static_cast<int>(said.size()) + 1);
      said.push_back(Must(RejectionToken(target(said), drawn == nullptr ? DrawnChildren() : *drawn, key)));
      if (inside) verification.Next({said.back()});
    }
    counts[said[0] * kTokens + said[1]] += 1;
  }
  std::vector<double> distribution;
  for (TokenId first = 0; first < kTokens; ++first) {
    for (TokenId second = 0; second < kTokens; ++second) {
      distribution.push_back(static_cast<double>(target({})[first]) * target({first})[second]);
    }
  }
  EXPECT_LT(ChiSquare(counts, distribution), MostChiSquare(counts.size()));
}

}  // namespace
}  // namespace tessera
