#include "tessera/apps/bench/spec/published_baselines.h"

#include <algorithm>

#include "tessera/spec/drafters/history/history_format.h"

namespace tessera {
namespace {

void AddPath(absl::Span<const TokenId> tokens, const DraftBudget& budget, TokenTree& tree) {
  const size_t most = std::min(
      {tokens.size(), static_cast<size_t>(std::max(budget.max_nodes, 0)), static_cast<size_t>(std::max(budget.max_depth, 0))});
  int node = TokenTree::kRoot;
  for (const TokenId token : tokens.first(most)) {
    if (token == kSeparator) return;
    node = tree.Add(node, token, 0.5f);
  }
}

}  // namespace

absl::Status PublishedPromptLookup::Propose(const DraftBudget& budget, TokenTree& tree) {
  const absl::Span<const TokenId> text = text_;
  for (size_t key = options_.longest_key; key >= 1; --key) {
    for (size_t begin = 0; begin + key < text.size() && begin + key + options_.length <= text.size(); ++begin) {
      if (text.subspan(begin, key) != text.last(key)) continue;
      AddPath(text.subspan(begin + key, options_.length), budget, tree);
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

PublishedSuffixAutomaton::PublishedSuffixAutomaton(const Options& options, absl::Span<const std::vector<TokenId>> corpus)
    : options_(options), text_({.max_tokens = options.max_tokens}), corpus_({.max_tokens = options.max_tokens}) {
  for (const std::vector<TokenId>& document : corpus) {
    for (const TokenId token : document) corpus_.Extend(token);
    corpus_.Extend(kSeparator);
  }
}

void PublishedSuffixAutomaton::Append(absl::Span<const TokenId> tokens) {
  for (const TokenId token : tokens) {
    text_.Extend(token);
    in_corpus_ = corpus_.Move(in_corpus_, token);
  }
}

void PublishedSuffixAutomaton::Begin(absl::Span<const TokenId> text) {
  text_.Clear();
  in_corpus_ = {};
  Append(text);
}

void PublishedSuffixAutomaton::Commit(const TokenTree& /*tree*/, const Verdict& verdict) { Append(verdict.emitted); }

int PublishedSuffixAutomaton::WithRoom(int state, int length) const {
  const int before_root = static_cast<int>(text_.tokens().size()) - 1;   // The tokens that the authors' automaton holds at this time.
  while (text_[state].link > SuffixAutomaton::kRoot && before_root - text_[state].earliest < length) state = text_[state].link;
  return state;
}

absl::Status PublishedSuffixAutomaton::Propose(const DraftBudget& budget, TokenTree& tree) {
  const SuffixAutomaton::Cursor in_text = text_.Match();
  const bool from_text = in_text.length >= in_corpus_.length - options_.corpus_bias;
  const int match = from_text ? in_text.length : in_corpus_.length;
  if (match == 0 || (from_text ? match : match - options_.corpus_bias) < options_.threshold) return absl::OkStatus();
  const int length = options_.length_by_match ? std::min(60, 1 + 4 * match) : options_.length - 1;
  const SuffixAutomaton& from = from_text ? text_ : corpus_;
  const int end = from_text ? text_[WithRoom(in_text.state, length + 1)].earliest : corpus_[in_corpus_.state].earliest;
  absl::Span<const TokenId> source = from.tokens();
  if (from_text) source.remove_suffix(1);
  AddPath(source.subspan(end, length), budget, tree);
  return absl::OkStatus();
}

}  // namespace tessera
