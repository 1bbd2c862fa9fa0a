#include "tessera/spec/token_recycling.h"

#include <algorithm>
#include <queue>

#include "glog/logging.h"

namespace tessera {
namespace {

// What counts are begun with, as if seen kGuessed times, and the number of times that is remembered.
constexpr std::array<double, TokenRecycling::kRanks> kGuess = {0.30, 0.10, 0.06, 0.04, 0.03, 0.02, 0.02, 0.01};
constexpr double kGuessed = 16, kRemembered = 512;

struct Candidate {
  float path_probability;
  int parent;
  int rank;
  TokenId token;
};
// The likeliest is the queue's top; of equal ones the first added.
struct RanksAfter {
  bool operator()(const Candidate& a, const Candidate& b) const {
    if (a.path_probability != b.path_probability) return a.path_probability < b.path_probability;
    return a.parent != b.parent ? a.parent > b.parent : a.rank > b.rank;
  }
};

}  // namespace

TokenRecycling::TokenRecycling(const Options& options) : options_(options), asked_(kGuessed) {
  CHECK_GT(options.max_tokens, 0);
  for (int rank = 0; rank < kRanks; ++rank) taken_[rank] = kGuess[rank] * kGuessed;
}

const TokenRecycling::Filed* TokenRecycling::Find(TokenId token) const {
  const auto found = places_.find(token);
  return found == places_.end() ? nullptr : &filed_[found->second];
}

// New ones first; where they are fewer than there is room for, the old ones stay behind them. Each stands once.
void TokenRecycling::File(TokenId token, const TopTokens& top) {
  if (top.empty()) return;
  const auto [found, is_new] = places_.try_emplace(token, static_cast<int>(filed_.size()));
  if (is_new && static_cast<int>(filed_.size()) < options_.max_tokens) {
    filed_.emplace_back();
  } else if (is_new) {
    found->second = static_cast<int>(oldest_);
    places_.erase(filed_[oldest_].token);
    oldest_ = (oldest_ + 1) % filed_.size();
  }
  Filed& filed = filed_[places_[token]];
  std::array<TokenId, kRanks> old = filed.next;
  if (is_new) old.fill(kNoToken);
  filed.token = token;
  filed.next.fill(kNoToken);
  auto end = filed.next.begin();
  const auto add = [&](TokenId next) {
    if (end != filed.next.end() && next != kNoToken && std::find(filed.next.begin(), end, next) == end) *end++ = next;
  };
  for (const TopToken& entry : top) add(entry.token);
  for (const TokenId next : old) add(next);
}

// That the text went on from `token` with `next`.
void TokenRecycling::Count(TokenId token, TokenId next) {
  const Filed* const filed = Find(token);
  if (filed == nullptr) return;
  const size_t rank = std::find(filed->next.begin(), filed->next.end(), next) - filed->next.begin();
  if (rank < kRanks) taken_[rank] += 1;
  asked_ += 1;
  if (asked_ < kRemembered) return;
  asked_ /= 2;
  for (double& taken : taken_) taken /= 2;
}

// Never 0: a little of the guess stays.
float TokenRecycling::Rate(int rank) const { return static_cast<float>(std::max(taken_[rank] / asked_, 1e-3)); }

void TokenRecycling::Begin(absl::Span<const TokenId> text) { text_.assign(text.begin(), text.end()); }

void TokenRecycling::LearnPrompt(int first, absl::Span<const TopTokens> top) {
  CHECK(first >= 0 && first + top.size() <= text_.size()) << "no part of the text";
  for (size_t i = 0; i < top.size(); ++i) File(text_[first + i], top[i]);
}

absl::Status TokenRecycling::Propose(const DraftBudget& budget, TokenTree& tree) {
  std::array<float, kRanks> rates;
  for (int rank = 0; rank < kRanks; ++rank) rates[rank] = Rate(rank);
  std::priority_queue<Candidate, std::vector<Candidate>, RanksAfter> queue;
  const auto expand = [&](int node, float path_probability) {
    const Filed* const filed = tree[node].depth < budget.max_depth ? Find(tree[node].token) : nullptr;
    if (filed == nullptr) return;
    for (int rank = 0; rank < kRanks && filed->next[rank] != kNoToken; ++rank) {
      queue.push({path_probability * rates[rank], node, rank, filed->next[rank]});
    }
  };
  const int most = tree.size() + budget.max_nodes;
  expand(TokenTree::kRoot, 1);
  while (!queue.empty() && tree.size() < most) {
    const Candidate next = queue.top();
    queue.pop();
    expand(tree.Add(next.parent, next.token, rates[next.rank]), next.path_probability);
  }
  return absl::OkStatus();
}

void TokenRecycling::Commit(const TokenTree& tree, const Verdict& verdict) {
  std::vector<TokenId>().swap(text_);
  for (size_t i = 0; i < std::min(verdict.path.size(), verdict.emitted.size()); ++i) Count(tree[verdict.path[i]].token, verdict.emitted[i]);
  const int known = std::min(static_cast<int>(verdict.top.size()), tree.size());
  for (int node = 0; node < known; ++node) File(tree[node].token, verdict.top[node]);
  for (const int node : verdict.path) {  // Once more: of equal tokens those count that are text now.
    if (node < known) File(tree[node].token, verdict.top[node]);
  }
}

// A table grows to twice its size when 7/8 of it are taken, and a list when it is full: for a moment there are both.
int64_t TokenRecycling::MostBytes(const Options& options, int64_t tokens) {
  constexpr int64_t kPlaceBytes = sizeof(std::pair<TokenId, int>) + 1;
  const int64_t filed = options.max_tokens;
  return 3 * (filed * static_cast<int64_t>(sizeof(Filed)) + (filed * 8 / 7 + 8) * kPlaceBytes + tokens * static_cast<int64_t>(sizeof(TokenId)));
}

int64_t TokenRecycling::bytes() const {
  return static_cast<int64_t>(text_.capacity() * sizeof(TokenId) + filed_.capacity() * sizeof(Filed) +
                              places_.capacity() * (sizeof(std::pair<TokenId, int>) + 1));
}

}  // namespace tessera
