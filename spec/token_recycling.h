// Drafts what the model thought likely after the same token the last time it stood in a pass (token recycling: Luo et al. 2024).
//
//   TokenRecycling recycling({});
//   recycling.Begin(text);
//   recycling.Propose({.max_nodes = 15}, tree);          // a tree: likely tokens after the root, likely ones after these, ...
//   recycling.Commit(tree, verdict);                     // verdict.top: every row of the pass teaches, the rejected ones, too
//
// It needs no match in the text, so it has nearly always something to say. The published tree is fixed, 61 nodes; ours grows best first:
// the probability of a node is the product of how often the model's text took the first, the second, ... of the tokens on file, as
// counted. What is on file is the model's, not a text's: it stays from text to text.
#pragma once

#include <array>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tessera/spec/drafter.h"

namespace tessera {

class TokenRecycling : public Drafter {
 public:
  static constexpr int kRanks = 8;    // Tokens on file after a token.

  struct Options {
    int max_tokens = 1 << 16;         // That have tokens on file: 4 MB in all. Where there is no room, the first filed goes.
  };
  explicit TokenRecycling(const Options& options);

  absl::string_view name() const override { return "recycling"; }
  DrafterNeeds needs() const override { return {.top_of_rows = kRanks}; }
  void Begin(absl::Span<const TokenId> text) override;
  void LearnPrompt(int first, absl::Span<const TopTokens> top) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override;

  // Of a drafter of texts of at most so many tokens, while its tables grow, too.
  static int64_t MostBytes(const Options& options, int64_t tokens);

 private:
  struct Filed {
    TokenId token;
    std::array<TokenId, kRanks> next;  // Likeliest first; kNoToken behind the last.
  };
  static constexpr TokenId kNoToken = -1;

  const Filed* Find(TokenId token) const;
  void File(TokenId token, const TopTokens& top);
  void Count(TokenId token, TokenId next);
  float Rate(int rank) const;

  const Options options_;
  std::vector<TokenId> text_;                   // Until the first Commit: for LearnPrompt.
  absl::flat_hash_map<TokenId, int> places_;    // Of a token in filed_.
  std::vector<Filed> filed_;                    // A ring once it is full.
  size_t oldest_ = 0;
  std::array<double, kRanks> taken_;            // How often the text took the token of this rank,
  double asked_;                                // of so many times; both fade, and begin with a guess.
};

}  // namespace tessera
