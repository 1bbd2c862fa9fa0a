// Drafters that only a benchmark has: one that knows the text, and one that is never right.
//
//   auto oracle = std::make_unique<OracleDrafter>();
//   oracle->Know(plain_text);                                       // tokens after the prompt, drafted as they are
//   auto chooser = std::make_unique<OracleDrafter>(std::make_unique<CompositeDrafter>(std::move(drafters)));
//   chooser->Know(plain_text);                                      // drafted as far as one of `drafters` drafts them
//
// Threads: as Drafter.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tessera/spec/drafters/composite_drafter.h"

namespace tessera {

// Drafts one path: the text that is known to come. With other drafters, it drafts the text only as far as they propose it. So it gains what
// they would gain if they knew which of their guesses come true.
class OracleDrafter : public Drafter {
 public:
  OracleDrafter() : OracleDrafter(nullptr) {}
  explicit OracleDrafter(std::unique_ptr<CompositeDrafter> others) : others_(std::move(others)) {}

  // The tokens after the prompt of the text that the next Begin begins. Empty: nothing is known, nothing is drafted.
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

// Drafts one path as long as allowed, with high estimates, of tokens that hardly ever come: the ids after that of the last token.
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
