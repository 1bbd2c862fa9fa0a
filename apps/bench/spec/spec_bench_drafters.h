// Drafters for benchmarks only: one that knows the sequence, and one that is never right.
//
//   auto oracle = std::make_unique<OracleDrafter>();
//   oracle->Know(plain_text);                                       // tokens after the prompt, drafted as they are
//   auto chooser = std::make_unique<OracleDrafter>(std::make_unique<CompositeDrafter>(std::move(drafters)));
//   chooser->Know(plain_text);                                      // drafted as far as one of `drafters` drafts them
//
// Threads: see Drafter.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tessera/spec/drafters/composite_drafter.h"

namespace tessera {

// Drafts one path: the known continuation. With other drafters, OracleDrafter drafts the continuation only as far as the others propose the
// same tokens. So the gain equals the other drafters' gain with advance knowledge of the right guesses.
class OracleDrafter : public Drafter {
 public:
  OracleDrafter() : OracleDrafter(nullptr) {}
  explicit OracleDrafter(std::unique_ptr<CompositeDrafter> others) : others_(std::move(others)) {}

  // Sets the tokens after the prompt of the sequence that the next Begin starts. Empty: nothing is known, nothing is drafted.
  void Know(std::vector<TokenId> text) { text_ = std::move(text); }

  absl::string_view name() const override { return others_ == nullptr ? "oracle" : "chooser"; }
  DrafterNeeds needs() const override { return others_ == nullptr ? DrafterNeeds() : others_->needs(); }
  void Begin(absl::Span<const TokenId> text) override;
  void LearnPrompt(int first, absl::Span<const TopTokens> top) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  LayerListener* listener() override { return others_ == nullptr ? nullptr : others_->listener(); }
  const PlacedForecasts* forecasts() const override { return others_ == nullptr ? nullptr : others_->forecasts(); }
  int64_t bytes() const override;

 private:
  const std::unique_ptr<CompositeDrafter> others_;   // Null: none.
  std::vector<TokenId> text_;
  size_t emitted_ = 0;
};

// Drafts one path as long as allowed, with high estimates, of tokens that hardly ever come: the ids that follow the last token's id.
class WrongDrafter : public Drafter {
 public:
  explicit WrongDrafter(int vocabulary) : vocabulary_(vocabulary) {}

  absl::string_view name() const override { return "wrong"; }
  void Begin(absl::Span<const TokenId> /*text*/) override {}
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& /*tree*/, const Verdict& /*verdict*/) override {}
  int64_t bytes() const override { return 0; }

 private:
  const int vocabulary_;
};

}  // namespace tessera
