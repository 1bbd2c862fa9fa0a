// Two published drafters by their own rules, to measure ours against.
//
//   PublishedPromptLookup lookup({});                            // Saxena 2023: n <= 3, 10 tokens
//   PublishedSuffixAutomaton sam({.threshold = 0}, corpus);      // Hu et al. 2024, SAM decoding: 40 tokens
//
// They are as their authors have them, also where that is slower (prompt lookup reads the whole text each step) or worse (it drafts all
// tokens or none; both copy from where something stood first). Not for use: PromptLookup and SuffixDrafter are. A tree gets one
// path, cut by
// the budget. Threads: as a Drafter.
#pragma once

#include <vector>

#include "tessera/spec/drafter.h"
#include "tessera/spec/suffix_automaton.h"

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
  void Commit(const TokenTree& tree, const Verdict& verdict) override {
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
    int length = 40;                // Of a draft, its root included.
    int threshold = 5;              // A shorter match drafts nothing: it was meant for another drafter.
    int corpus_bias = 5;            // So much longer than the text's must the corpus's match be.
    bool length_by_match = false;   // Instead: min(60, 1 + 4 * match) tokens below the root, as the variant without another drafter has it.
    int max_tokens = 1 << 16;       // Of the text, and of the corpus: what is more is left out.
  };
  explicit PublishedSuffixAutomaton(const Options& options, absl::Span<const std::vector<TokenId>> corpus = {});

  absl::string_view name() const override { return "published-suffix"; }
  void Begin(absl::Span<const TokenId> text) override;
  absl::Status Propose(const DraftBudget& budget, TokenTree& tree) override;
  void Commit(const TokenTree& tree, const Verdict& verdict) override;
  int64_t bytes() const override { return text_.bytes() + corpus_.bytes(); }

 private:
  void Append(absl::Span<const TokenId> tokens);
  // The state of the text to copy from: a shorter end, where the longest leaves too little to copy.
  int WithRoom(int state, int length) const;

  const Options options_;
  SuffixAutomaton text_, corpus_;
  SuffixAutomaton::Cursor in_corpus_;
};

}  // namespace tessera
