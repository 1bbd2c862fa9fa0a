// Drafters that only a benchmark has: one that knows the text, and one that is never right.
//
//   auto oracle = std::make_unique<OracleDrafter>();
//   oracle->Know(plain_text);                                       // tokens after the prompt: drafted as they are
//
// Threads: as Drafter.
#pragma once

#include <vector>

#include "tessera/spec/drafter.h"

namespace tessera {

// One path: the text that is known to come.
class OracleDrafter : public Drafter {
 public:
  // From the first token after the prompt, of the text that the next Begin begins. Empty: nothing is known, nothing is drafted.
  void Know(std::vector<TokenId> text) { text_ = std::move(text); }

  absl::string_view name() const override { return "oracle"; }
  void Begin(absl::Span<const TokenId> text) override { emitted_ = 1; }
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override { emitted_ += verdict.emitted.size(); }
  int64_t bytes() const override { return static_cast<int64_t>(text_.capacity() * sizeof(TokenId)); }

 private:
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
