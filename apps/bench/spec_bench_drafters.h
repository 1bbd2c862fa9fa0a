// Drafters that only a benchmark has: one that knows the text, and one that is never right.
//
//   auto oracle = std::make_unique<OracleDrafter>();
//   oracle->Know(plain_text);                                       // tokens after the prompt: drafted as they are
//   auto chooser = std::make_unique<OracleDrafter>(std::make_unique<CompositeDrafter>(std::move(drafters)));
//   chooser->Know(plain_text);                                      // drafted as far as one of `drafters` does
//
// Threads: as Drafter.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tessera/spec/composite_drafter.h"

namespace tessera {

// One path: the text that is known to come; with others, as far as it is among what they draft. So it gains what they would if they
// knew which of their guesses come true.
class OracleDrafter : public Drafter {
 public:
  OracleDrafter() : OracleDrafter(nullptr) {}
  explicit OracleDrafter(std::unique_ptr<CompositeDrafter> others) : others_(std::move(others)) {}

  // From the first token after the prompt, of the text that the next Begin begins. Empty: nothing is known, nothing is drafted.
  void Know(std::vector<TokenId> text) { text_ = std::move(text); }

  absl::string_view name() const override { return others_ == nullptr ? "oracle" : "chooser"; }
  DrafterNeeds needs() const override { return others_ == nullptr ? DrafterNeeds() : others_->needs(); }
  void Begin(absl::Span<const TokenId> text) override;
  void LearnPrompt(int first, absl::Span<const TopTokens> top) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override;

 private:
  const std::unique_ptr<CompositeDrafter> others_;   // Null: none.
  std::vector<TokenId> text_;
  size_t emitted_ = 0;
};

// One path of as many tokens as it may, each sure of itself, that hardly ever come: those with the numbers after the last one's.
class WrongDrafter : public Drafter {
 public:
  explicit WrongDrafter(int vocabulary) : vocabulary_(vocabulary) {}

  absl::string_view name() const override { return "wrong"; }
  void Begin(absl::Span<const TokenId> text) override {}
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override {}
  int64_t bytes() const override { return 0; }

 private:
  const int vocabulary_;
};

}  // namespace tessera
