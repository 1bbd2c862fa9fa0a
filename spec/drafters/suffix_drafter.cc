#include "tessera/spec/drafters/suffix_drafter.h"

#include <algorithm>
#include <vector>

#include "tessera/spec/drafters/followers_tree.h"

namespace tessera {
namespace {

constexpr int kLongestMatch = 64;       // In a history: more says no more.

}  // namespace

SuffixDrafter::SuffixDrafter(const Options& options) : options_(options), text_({.max_tokens = options.max_tokens}) {}

void SuffixDrafter::Append(absl::Span<const TokenId> tokens) {
  for (const TokenId token : tokens) {
    if (text_.Extend(token)) continue;
    const absl::Span<const TokenId> newest = text_.tokens().last(options_.max_tokens / 2);
    const std::vector<TokenId> kept(newest.begin(), newest.end());
    text_.Clear();
    for (const TokenId old : kept) text_.Extend(old);
    text_.Extend(token);
    generation_ = -1;   // followed_ counted tokens that are gone.
  }
}

void SuffixDrafter::FollowHistory(const SuffixAutomaton& history, int64_t generation) {
  const absl::Span<const TokenId> text = text_.tokens();
  if (generation != generation_) {
    generation_ = generation;
    in_history_ = {};
    followed_ = 0;
  }
  for (followed_ = std::max<int>(followed_, static_cast<int>(text.size()) - kLongestMatch);
       followed_ < static_cast<int>(text.size()); ++followed_) {
    in_history_ = history.Move(in_history_, text[followed_]);
  }
}

void SuffixDrafter::Begin(absl::Span<const TokenId> text) {
  text_.Clear();
  generation_ = -1;
  Append(text);
}

absl::Status SuffixDrafter::Propose(const DraftBudget& budget, TokenTree& tree) {
  if (options_.history == nullptr) {
    DraftFollowers({&text_, text_.Match()}, /*second=*/{}, budget, tree);
    return absl::OkStatus();
  }
  options_.history->Read([&](const SuffixAutomaton& history, int64_t generation) {
    FollowHistory(history, generation);
    DraftFollowers({&text_, text_.Match()}, {&history, in_history_}, budget, tree);
  });
  return absl::OkStatus();
}

void SuffixDrafter::Commit(const TokenTree& /*tree*/, const Verdict& verdict) { Append(verdict.emitted); }

int64_t SuffixDrafter::bytes() const { return text_.bytes(); }

}  // namespace tessera
