#include "tessera/spec/drafters/token_recycling.h"

#include <algorithm>
#include <queue>

#include "absl/container/flat_hash_map.h"
#include "glog/logging.h"

namespace tessera {
namespace {

// Chosen by tokens per pass over recorded texts. No constant changes the result by more than 1 % within a factor of two.
constexpr float kNewest = 0.3f;         // Share of a new row in the stored mean.
constexpr float kWithBefore = 0.7f;     // Weight of the entry with the token before; the rest is for the token alone.
constexpr float kLater = 0.3f;          // Chance that a likely token comes a little later.
constexpr float kLeastLikely = 0.01f;   // The least probability of a path that is drafted.

struct Candidate {
  float path_probability;
  int parent;
  TopToken next;
  int order;                            // Among equal ones the first comes first.
  bool operator<(const Candidate& other) const {
    return path_probability != other.path_probability ? path_probability < other.path_probability : order > other.order;
  }
};

void AddShare(const TopTokens& from, float share, TopTokens& into) {
  for (const TopToken& entry : from) {
    const auto found = std::find_if(into.begin(), into.end(), [&](const TopToken& one) { return one.token == entry.token; });
    if (found == into.end()) {
      into.push_back({entry.token, share * entry.probability});
    } else {
      found->probability += share * entry.probability;
    }
  }
}

// Adds a row to a mean in which older rows weigh less.
void AddNewest(const TopTokens& newest, float share, TopTokens& mean) {
  for (TopToken& old : mean) old.probability *= 1 - kNewest;
  TopTokens both = mean;   // With more than kRanks entries, `mean` would move to the heap, and stay there.
  AddShare(newest, share, both);
  std::stable_sort(both.begin(), both.end(), [](const TopToken& a, const TopToken& b) { return a.probability > b.probability; });
  mean.assign(both.begin(), both.begin() + std::min<size_t>(both.size(), TokenRecycling::kRanks));
}

}  // namespace

struct TokenRecycling::Places : absl::flat_hash_map<Context, int> {};

TokenRecycling::TokenRecycling(const Options& options) : options_(options), places_(std::make_unique<Places>()) {
  CHECK_GT(options.max_contexts, 0);
  filed_.reserve(options.max_contexts);   // A list that grew would take twice the room, and more for a moment.
}

TokenRecycling::~TokenRecycling() = default;

void TokenRecycling::File(TokenId before, TokenId token, const TopTokens& top) {
  if (top.empty()) return;
  FileUnder(ContextOf(kAny, token), top);
  if (before != kAny) FileUnder(ContextOf(before, token), top);
}

void TokenRecycling::FileUnder(Context context, const TopTokens& top) {
  const auto [place, is_new] = places_->try_emplace(context, static_cast<int>(filed_.size()));
  if (!is_new) {
    AddNewest(top, kNewest, filed_[place->second].next);
    return;
  }
  if (static_cast<int>(filed_.size()) < options_.max_contexts) {
    filed_.emplace_back();
  } else {
    place->second = static_cast<int>(oldest_);
    places_->erase(filed_[oldest_].context);
    oldest_ = (oldest_ + 1) % filed_.size();
  }
  Filed& filed = filed_[place->second];
  filed.context = context;
  filed.next.clear();
  AddNewest(top, 1, filed.next);
}

const TopTokens* TokenRecycling::Find(Context context) const {
  const auto found = places_->find(context);
  return found == places_->end() ? nullptr : &filed_[found->second].next;
}

TopTokens TokenRecycling::After(TokenId before, TokenId token) const {
  const TopTokens* const with_before = Find(ContextOf(before, token));
  const TopTokens* const alone = Find(ContextOf(kAny, token));
  TopTokens after;
  if (with_before != nullptr) AddShare(*with_before, kWithBefore, after);
  if (alone != nullptr) AddShare(*alone, with_before != nullptr ? 1 - kWithBefore : 1, after);
  return after;
}

void TokenRecycling::Begin(absl::Span<const TokenId> text) {
  text_.assign(text.begin(), text.end());
  before_root_ = text.size() > 1 ? text[text.size() - 2] : kAny;
  nearly_.clear();
}

void TokenRecycling::LearnPrompt(int first, absl::Span<const TopTokens> top) {
  CHECK(first >= 0 && first + top.size() <= text_.size()) << "no part of the text";
  for (size_t i = 0; i < top.size(); ++i) {
    const size_t place = first + i;
    File(place == 0 ? kAny : text_[place - 1], text_[place], top[i]);
  }
}

absl::Status TokenRecycling::Propose(const DraftBudget& budget, TokenTree& tree) {
  std::priority_queue<Candidate> queue;
  int order = 0;
  const auto add = [&](int node, const TopTokens& after, float path_probability) {
    if (tree[node].depth >= budget.max_depth) return;
    for (TopToken next : after) {
      next.probability = std::min(next.probability, 1.0f);
      const float probability = path_probability * next.probability;
      if (probability >= kLeastLikely) queue.push({probability, node, next, order++});
    }
  };
  TopTokens first = After(before_root_, tree[TokenTree::kRoot].token);
  AddShare(nearly_, kLater, first);
  add(TokenTree::kRoot, first, 1);
  const int most = tree.size() + budget.max_nodes;
  while (!queue.empty() && tree.size() < most) {
    const Candidate best = queue.top();
    queue.pop();
    const int node = tree.Add(best.parent, best.next.token, best.next.probability);
    add(node, After(tree[best.parent].token, best.next.token), best.path_probability);
  }
  return absl::OkStatus();
}

void TokenRecycling::Commit(const TokenTree& tree, const Verdict& verdict) {
  std::vector<TokenId>().swap(text_);
  const auto before = [&](int node) { return node == TokenTree::kRoot ? before_root_ : tree[tree[node].parent].token; };
  const int known = std::min(static_cast<int>(verdict.top.size()), tree.size());
  for (int node = 0; node < known; ++node) File(before(node), tree[node].token, verdict.top[node]);
  const size_t emitted = verdict.emitted.size();
  for (size_t i = 0; i < std::min(verdict.path.size(), emitted); ++i) {
    if (verdict.path[i] < known) AddNewest(verdict.top[verdict.path[i]], 1, nearly_);
    const auto came = [&](const TopToken& one) { return one.token == verdict.emitted[i]; };
    nearly_.erase(std::remove_if(nearly_.begin(), nearly_.end(), came), nearly_.end());
  }
  if (emitted > 0) before_root_ = emitted > 1 ? verdict.emitted[emitted - 2] : tree[TokenTree::kRoot].token;
}

// A table doubles when 7/8 full. For a moment both the old and the new one exist.
int64_t TokenRecycling::MostBytes(const Options& options, int64_t tokens) {
  constexpr int64_t kPlaceBytes = sizeof(std::pair<Context, int>) + 1;
  const int64_t filed = options.max_contexts, table = 3 * (filed * 8 / 7 + 8) * kPlaceBytes;
  return filed * static_cast<int64_t>(sizeof(Filed)) + table + tokens * static_cast<int64_t>(sizeof(TokenId));
}

int64_t TokenRecycling::bytes() const {
  return static_cast<int64_t>(text_.capacity() * sizeof(TokenId) + filed_.capacity() * sizeof(Filed) +
                              places_->capacity() * (sizeof(std::pair<Context, int>) + 1));
}

}  // namespace tessera
