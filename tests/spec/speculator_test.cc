#include "tessera/spec/speculator.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tessera/spec/prompt_lookup.h"

namespace tessera {
namespace {

TEST(Speculator, HeaderExample) {
  const std::vector<TokenId> text = {1, 2, 3, 4, 1, 2};
  CostProfile costs;
  costs.AddPass({.rows = 1}, 0.004);
  costs.AddPass({.rows = 16}, 0.005);
  costs.AddHead(1, 0.001);
  Speculator speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), {.max_rows = 16, .costs = &costs});
  speculator.Begin(text);
  const TokenTree tree = speculator.Propose({.rows = 512, .depth = 4000});
  EXPECT_EQ(tree[0].token, 2);
  EXPECT_EQ(tree.size(), 5);
  const Verdict verdict = {.path = {0, 1}, .emitted = {3, 9}};
  speculator.Commit(tree, verdict, {.pass_seconds = 0.004, .first_rows = 1, .first_seconds = 0.001});
  EXPECT_EQ(speculator.Propose({.rows = 512, .depth = 4000})[0].token, 9);
}

class Failing : public Drafter {
 public:
  absl::string_view name() const override { return "failing"; }
  void Begin(absl::Span<const TokenId> text) override {}
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override { return absl::InternalError("no idea"); }
  void Commit(const TokenTree& tree, const Verdict& verdict) override {}
  int64_t bytes() const override { return 0; }
};

TEST(Speculator, ADrafterThatFailsCostsNoText) {
  Speculator speculator(std::make_unique<Failing>(), {});
  speculator.Begin({{1}});
  EXPECT_EQ(speculator.Propose({.rows = 8, .depth = 8}).size(), 1);
}

TEST(Speculator, KeepsToTheRoomThereIs) {
  Speculator speculator(std::make_unique<PromptLookup>(PromptLookup::Options()), {.max_rows = 16, .weigh_costs = false});
  speculator.Begin({{1, 2, 3, 4, 1, 2}});
  EXPECT_EQ(speculator.Propose({.rows = 3, .depth = 9}).size(), 3);
  EXPECT_EQ(speculator.Propose({.rows = 9, .depth = 1}).size(), 2);
  EXPECT_EQ(speculator.Propose({.rows = 1, .depth = 9}).size(), 1);
  EXPECT_EQ(speculator.Propose({.rows = 9, .depth = 0}).size(), 1);
}

}  // namespace
}  // namespace tessera
