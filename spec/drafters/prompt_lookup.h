// Drafts the tokens that followed an earlier place of the last few tokens (prompt lookup decoding).
//
//   PromptLookup lookup({.longest_key = 3, .length = 10});
//   lookup.Begin(text);
//   lookup.Propose({.max_nodes = 10}, tree);             // one path: a copy from earlier text
//
// The latest place counts, and the longest key first. With a hash from keys to places, a step costs time for its own tokens, not for the
// text.
#pragma once

#include <memory>
#include <vector>

#include "tessera/spec/drafters/drafter.h"

namespace tessera {

class PromptLookup : public Drafter {
 public:
  struct Options {
    int longest_key = 3;
    int length = 10;      // Most tokens of a draft.
  };
  explicit PromptLookup(const Options& options);
  ~PromptLookup() override;

  absl::string_view name() const override { return "lookup"; }
  void Begin(absl::Span<const TokenId> text) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override;

  // The most memory for sequences of at most `tokens` tokens, also while tables grow.
  static int64_t MostBytes(const Options& options, int64_t tokens);

 private:
  struct Places;   // Defined in the .cc file, which alone needs the hash table.

  uint64_t KeyEndingAt(size_t end, int length) const;
  void Append(TokenId token);

  const Options options_;
  std::vector<TokenId> text_;
  const std::unique_ptr<Places> places_;
};

}  // namespace tessera
