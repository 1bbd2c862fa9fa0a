#include "tessera/spec/drafters/followers_tree.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "absl/container/inlined_vector.h"
#include "tessera/spec/drafters/history/history_format.h"

namespace tessera {
namespace {

using Cursor = SuffixAutomaton::Cursor;

constexpr int kMostContexts = 3;        // Contexts asked per node, from the longest match on.
constexpr int kMostFollowers = 32;      // Looked at per context.
constexpr double kLatest = 1;           // Places that the latest counts for besides itself.
constexpr double kLeastLikely = 0.003;  // The least probability of a path that is drafted.
constexpr double kMostLikely = 0.99;

// Returns the probability that a text continues as at an earlier place where this many last tokens were equal. Counted over recorded
// answers: 0.33 at 1 token, 0.54 at 3, 0.74 at 7, 0.86 at 14, 0.97 at 40. Being too sure of a short match costs branches, so the formula is
// nearer to the counts of long matches.
double Confidence(int match) { return 1 - 0.65 * std::exp(-0.1 * match); }

// The states, in both sources, of the sequence with the path down to a node.
struct Places {
  Cursor first, second;
};

struct Follower {
  TokenId token;
  double probability;
};
using Followers = absl::InlinedVector<Follower, 16>;

struct Candidate {
  double path_probability;
  int parent;                         // In the tree.
  Places places;                      // The parent's.
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

// Divides `share` between the tokens that followed a context. False if no token did.
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

// Grows a tree at the likeliest candidate.
class BestFirst {
 public:
  BestFirst(const SuffixAutomaton& first, const SuffixAutomaton* second, TokenTree& tree) : first_(first), second_(second), tree_(tree) {}

  void Grow(const DraftBudget& budget, const Places& root) {
    const int deepest = std::min(budget.max_depth, 1 + 4 * std::max(root.first.length, root.second.length));
    if (deepest > 0) Expand(TokenTree::kRoot, root, 1);
    for (int nodes = 0; nodes < budget.max_nodes && !candidates_.empty(); ++nodes) {
      const Candidate best = candidates_.top();
      candidates_.pop();
      const TokenId token = best.follower.token;
      const int node = tree_.Add(best.parent, token, static_cast<float>(best.follower.probability));
      if (tree_[node].depth >= deepest) continue;
      Places places = {first_.Move(best.places.first, token), {}};
      if (second_ != nullptr) places.second = second_->Move(best.places.second, token);
      Expand(node, places, best.path_probability);
    }
  }

 private:
  void Expand(int node, const Places& places, double path_probability) {
    for (const Follower& follower : FollowersOf(places)) {
      const double probability = std::min(follower.probability, kMostLikely);
      if (path_probability * probability < kLeastLikely) continue;
      candidates_.push({path_probability * probability, node, places, {follower.token, probability}, order_++});
    }
  }

  Followers FollowersOf(Places places) const {
    Followers followers;
    double open = 1;
    for (int contexts = 0; contexts < kMostContexts;) {
      const bool from_first = places.first.length >= places.second.length;
      const SuffixAutomaton& from = from_first ? first_ : *second_;
      Cursor& cursor = from_first ? places.first : places.second;
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

  const SuffixAutomaton& first_;
  const SuffixAutomaton* const second_;
  TokenTree& tree_;
  std::priority_queue<Candidate> candidates_;
  int order_ = 0;
};

}  // namespace

void DraftFollowers(const FollowersSource& first, const FollowersSource& second, const DraftBudget& budget, TokenTree& tree) {
  BestFirst(*first.texts, second.texts, tree).Grow(budget, {first.place, second.place});
}

}  // namespace tessera
