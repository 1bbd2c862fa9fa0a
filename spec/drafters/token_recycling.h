// Drafts the tokens that the model thought likely after the same tokens in an earlier pass (after token recycling: Luo et al. 2024), and
// tokens that were nearly chosen instead of the last ones.
//
//   TokenRecycling recycling({});
//   recycling.Begin(text);
//   recycling.Propose({.max_nodes = 15}, tree);          // a tree: likely tokens after the root, likely ones after these, ...
//   recycling.Commit(tree, verdict);                     // verdict.top: learns from every row of the pass, rejected ones included
//
// Needs no match in the text, so there is nearly always a proposal. The table's keys are a token, and a token with the token before. An
// entry holds the likeliest next tokens and the mean of the probabilities, in which later rows weigh more. The published table has the last
// row's tokens after one token, and a fixed tree of 61 nodes; this tree grows best first. A token that was likely but did not come may come
// a little later ("fast, cheap": cheap was likely before fast came). So such tokens follow the root, too. The table describes the model,
// not a sequence, so the table stays from sequence to sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/spec/drafters/drafter.h"

namespace tessera {

class TokenRecycling : public Drafter {
 public:
  static constexpr int kRanks = 8;      // Tokens in the table per context.

  struct Options {
    int max_contexts = 1 << 14;         // In the table: 2 MB in all. Where there is no room, the oldest entry goes.
  };
  explicit TokenRecycling(const Options& options);
  ~TokenRecycling() override;

  absl::string_view name() const override { return "recycling"; }
  DrafterNeeds needs() const override { return {.top_of_rows = kRanks}; }
  void Begin(absl::Span<const TokenId> text) override;
  void LearnPrompt(int first, absl::Span<const TopTokens> top) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override;

  // The most memory for sequences of at most `tokens` tokens, also while tables grow.
  static int64_t MostBytes(const Options& options, int64_t tokens);

 private:
  // A token with the token before, or with any token before.
  using Context = uint64_t;
  struct Places;                        // Defined in the .cc file, which alone needs the hash table.
  struct Filed {
    Context context;
    TopTokens next;                     // Likeliest first.
  };
  static constexpr TokenId kAny = -1;
  static Context ContextOf(TokenId before, TokenId token) {
    return static_cast<uint64_t>(before) << 32 | static_cast<uint32_t>(token);
  }

  void File(TokenId before, TokenId token, const TopTokens& top);
  void FileUnder(Context context, const TopTokens& top);
  const TopTokens* Find(Context context) const;
  TopTokens After(TokenId before, TokenId token) const;

  const Options options_;
  std::vector<TokenId> text_;                       // Until the first Commit: for LearnPrompt.
  TokenId before_root_ = kAny;                      // The last but one token of the sequence.
  TopTokens nearly_;                                // Likely instead of the last tokens, likeliest first.
  const std::unique_ptr<Places> places_;            // Indexes into filed_.
  std::vector<Filed> filed_;                        // A ring once full.
  size_t oldest_ = 0;
};

}  // namespace tessera
