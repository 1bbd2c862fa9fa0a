// Two published drafters by their authors' rules, to compare Tessera's drafters with.
//
//   PublishedPromptLookup lookup({});                            // Saxena 2023: n <= 3, 10 tokens
//   PublishedSuffixAutomaton sam({.threshold = 0}, corpus);      // Hu et al. 2024, SAM decoding: 40 tokens
//
// Both follow the authors' rules even where other rules are faster or better. Prompt lookup reads the whole sequence in each step. Prompt
// lookup drafts all tokens or none. Both copy from the first occurrence. For real use there are PromptLookup and SuffixDrafter. A tree gets
// one path, cut by the budget. Threads: see Drafter.
#pragma once

#include <vector>

#include "tessera/spec/drafters/drafter.h"
#include "tessera/spec/drafters/history/suffix_automaton.h"

namespace tessera {

class PublishedPromptLookup : public Drafter {
 public:
  struct Options {
    int longest_key = 3;
    int length = 10;
  };
  explicit PublishedPromptLookup(const Options& options) : options_(options) {}

  absl::string_view name() const override { return "published-lookup"; }
  void Begin(absl::Span<const TokenId> text) override { text_.assign(text.begin(), text.end()); }
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& /*tree*/, const Verdict& verdict) override {
    text_.insert(text_.end(), verdict.emitted.begin(), verdict.emitted.end());
  }
  int64_t bytes() const override { return static_cast<int64_t>(text_.capacity() * sizeof(TokenId)); }

 private:
  const Options options_;
  std::vector<TokenId> text_;
};

class PublishedSuffixAutomaton : public Drafter {
 public:
  struct Options {
    int length = 40;                // Length of a draft, its root included.
    int threshold = 5;              // A shorter match drafts nothing: the paper leaves such a match to another drafter.
    int corpus_bias = 5;            // Tokens by which the corpus's match must be longer than the sequence's match.
    bool length_by_match = false;   // Drafts min(60, 1 + 4 * match) tokens below the root instead, as the variant without another drafter.
    int max_tokens = 1 << 16;       // Maximum tokens of the sequence, and of the corpus. Further tokens are left out.
  };
  explicit PublishedSuffixAutomaton(const Options& options, absl::Span<const std::vector<TokenId>> corpus = {});

  absl::string_view name() const override { return "published-suffix"; }
  void Begin(absl::Span<const TokenId> text) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override { return text_.bytes() + corpus_.bytes(); }

 private:
  void Append(absl::Span<const TokenId> tokens);
  // Returns the sequence's state to copy from: `state`, or a shorter suffix if fewer than `length` tokens follow the longer one.
  int WithRoom(int state, int length) const;

  const Options options_;
  SuffixAutomaton text_, corpus_;
  SuffixAutomaton::Cursor in_corpus_;
};

}  // namespace tessera
