// Drafts what came after the last few tokens where they stood before (prompt lookup decoding).
//
//   PromptLookup lookup({.longest_key = 3, .length = 10});
//   lookup.Begin(text);
//   lookup.Propose({.max_nodes = 10}, tree);             // one path: a copy from earlier text
//
// The latest place counts, and the longest key first. A hash from keys to places makes a step cost its tokens, not the text.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tessera/spec/drafter.h"

namespace tessera {

class PromptLookup : public Drafter {
 public:
  struct Options {
    int longest_key = 3;
    int length = 10;      // The most tokens of a draft.
  };
  explicit PromptLookup(const Options& options) : options_(options), places_(static_cast<size_t>(options.longest_key)) {}

  absl::string_view name() const override { return "lookup"; }
  void Begin(absl::Span<const TokenId> text) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override;

  // The most memory for texts of at most so many tokens, while tables grow, too.
  static int64_t MostBytes(const Options& options, int64_t tokens);

 private:
  uint64_t KeyEndingAt(size_t end, int length) const;
  void Append(TokenId token);

  const Options options_;
  std::vector<TokenId> text_;
  std::vector<absl::flat_hash_map<uint64_t, int>> places_;   // [key length - 1]: where the text went on after this key, last.
};

}  // namespace tessera
