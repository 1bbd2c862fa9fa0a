#include "tessera/spec/suffix_drafter.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace tessera {
namespace {

using Cursor = SuffixAutomaton::Cursor;

constexpr int kMostContexts = 3;        // Asked for what follows a node, from the longest match on.
constexpr int kMostFollowers = 32;      // Looked at per context.
constexpr int kLongestMatch = 64;       // In a history: more says no more.
constexpr double kLatest = 1;           // Places that the latest counts for besides itself.
constexpr double kLeastLikely = 0.003;  // The least probability of a path that is drafted.
constexpr double kMostLikely = 0.99;

// That a text goes on as it did where it was the same for this long. Counted over recorded answers: 0.33 at 1 token, 0.54 at 3, 0.74 at 7,
// 0.86 at 14, 0.97 at 40. Being too sure of a short match costs branches, so this is nearer to the counts of long ones.
double Confidence(int match) { return 1 - 0.65 * std::exp(-0.1 * match); }

// Where the text and the path down to a node stand in what is drafted from.
struct Place {
  Cursor text, history;
};

struct Follower {
  TokenId token;
  double probability;
};
using Followers = absl::InlinedVector<Follower, 16>;

struct Candidate {
  double path_probability;
  int parent;                         // In the tree.
  Place place;                        // The parent's.
  Follower follower;
  int order;                          // Among equal ones the first comes first.
  bool operator<(const Candidate& other) const {
    return path_probability != other.path_probability ? path_probability < other.path_probability : order > other.order;
  }
};

void AddTo(Followers& followers, TokenId token, double probability) {
  const auto found = std::find_if(followers.begin(), followers.end(), [&](const Follower& follower) { return follower.token == token; });
  if (found == followers.end()) {
    followers.push_back({token, probability});
  } else {
    found->probability += probability;
  }
}

// Shares `share` out among what followed a context. False if nothing did.
bool ShareOut(const SuffixAutomaton& from, int state, double share, Followers& followers) {
  Followers here;
  double places = 0;
  const int latest = from[state].latest;
  from.VisitNext(state, kMostFollowers, [&](TokenId token, int next) {
    const double count = from[next].count + (from.tokens()[latest] == token ? kLatest : 0);
    here.push_back({token, count});
    places += count;
  });
  for (const Follower& follower : here) {
    if (follower.token != kSeparator) AddTo(followers, follower.token, share * follower.probability / places);
  }
  return !here.empty();
}

// A tree that grows at its likeliest end.
class BestFirst {
 public:
  BestFirst(const SuffixAutomaton& text, const SuffixAutomaton* history, TokenTree& tree) : text_(text), history_(history), tree_(tree) {}

  void Grow(const DraftBudget& budget, const Place& root) {
    const int deepest = std::min(budget.max_depth, 1 + 4 * std::max(root.text.length, root.history.length));
    if (deepest > 0) Expand(TokenTree::kRoot, root, 1);
    for (int nodes = 0; nodes < budget.max_nodes && !candidates_.empty(); ++nodes) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      const TokenId token = best.follower.token;
      const int node = tree_.Add(best.parent, token, static_cast<float>(best.follower.probability));
      if (tree_[node].depth >= deepest) continue;
      Place place = {text_.Move(best.place.text, token), {}};
      if (history_ != nullptr) place.history = history_->Move(best.place.history, token);
      Expand(node, place, best.path_probability);
    }
  }

 private:
  void Expand(int node, const Place& place, double path_probability) {
    for (const Follower& follower : FollowersOf(place)) {
      const double probability = std::min(follower.probability, kMostLikely);
      if (path_probability * probability < kLeastLikely) continue;
      candidates_.push({path_probability * probability, node, place, {follower.token, probability}, order_++});
    }
  }

  Followers FollowersOf(Place place) const {
    Followers followers;
    double open = 1;
    for (int contexts = 0; contexts < kMostContexts;) {
      const bool from_text = place.text.length >= place.history.length;
      const SuffixAutomaton& from = from_text ? text_ : *history_;
      Cursor& cursor = from_text ? place.text : place.history;
      if (cursor.length == 0) break;
      const double confidence = Confidence(cursor.length);
      if (ShareOut(from, cursor.state, open * confidence, followers)) {
        open *= 1 - confidence;
        ++contexts;
      }
      cursor = from.Shorter(cursor);
    }
    return followers;
  }

  const SuffixAutomaton& text_;
  const SuffixAutomaton* const history_;
  TokenTree& tree_;
  std::priority_queue<Candidate> candidates_;
  int order_ = 0;
};

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
    generation_ = -1;   // followed_ counted what has gone.
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
    BestFirst(text_, nullptr, tree).Grow(budget, {text_.Match(), {}});
    return absl::OkStatus();
  }
  options_.history->Read([&](const SuffixAutomaton& history, int64_t generation) {
    FollowHistory(history, generation);
    BestFirst(text_, &history, tree).Grow(budget, {text_.Match(), in_history_});
  });
  return absl::OkStatus();
}

void SuffixDrafter::Commit(const TokenTree& /*tree*/, const Verdict& verdict) { Append(verdict.emitted); }

int64_t SuffixDrafter::bytes() const { return text_.bytes(); }

}  // namespace tessera
