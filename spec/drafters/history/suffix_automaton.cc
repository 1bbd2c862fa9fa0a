#include "tessera/spec/drafters/history/suffix_automaton.h"

#include "absl/container/flat_hash_map.h"
#include "glog/logging.h"

namespace tessera {

static_assert(sizeof(SuffixAutomaton::State) == 24, "kMostBytesPerToken");

struct SuffixAutomaton::Edges : absl::flat_hash_map<uint64_t, Edge> {};

SuffixAutomaton::SuffixAutomaton(const Options& options) : options_(options), states_(1), edges_(std::make_unique<Edges>()) {}
SuffixAutomaton::~SuffixAutomaton() = default;

void SuffixAutomaton::Clear() {
  tokens_ = std::vector<TokenId>();   // "= {}" would keep the memory with the tokens.
  states_ = std::vector<State>(1);
  *edges_ = Edges();
  last_ = kRoot;
}

int SuffixAutomaton::Next(int state, TokenId token) const {
  const auto found = edges_->find(Key(state, token));
  return found == edges_->end() ? kNone : found->second.next;
}

bool SuffixAutomaton::AddEdge(int state, TokenId token, int next) {
  if (!edges_->try_emplace(Key(state, token), Edge{next, states_[state].newest}).second) return false;
  states_[state].newest = token;
  return true;
}

int SuffixAutomaton::Clone(int state, int length) {
  const int clone = static_cast<int>(states_.size());
  states_.push_back(states_[state]);
  states_[clone].length = length;
  for (TokenId token = states_[state].newest; token != kNoToken;) {
    const Edge edge = edges_->find(Key(state, token))->second;
    edges_->emplace(Key(clone, token), edge);
    token = edge.older;
  }
  return clone;
}

int SuffixAutomaton::StateOf(int parent, TokenId token) {
  const int next = Next(parent, token), length = states_[parent].length + 1;
  if (states_[next].length == length) return next;
  const int clone = Clone(next, length);
  for (int state = parent; state != kNone; state = states_[state].link) {
    const auto edge = edges_->find(Key(state, token));
    if (edge->second.next != next) break;
    edge->second.next = clone;
  }
  states_[next].link = clone;
  return clone;
}

bool SuffixAutomaton::Extend(TokenId token) {
  const int end = Extend(last_, token);
  if (end == kNone) return false;
  last_ = end;
  return true;
}

int SuffixAutomaton::Extend(int end, TokenId token) {
  CHECK_NE(token, kNoToken);
  if (full()) return kNone;
  const int before = static_cast<int>(tokens_.size());
  for (int state = end, i = 0; state != kRoot && i < options_.most_links; state = states_[state].link, ++i) states_[state].latest = before;
  tokens_.push_back(token);
  int whole = static_cast<int>(states_.size());
  states_.push_back({.length = states_[end].length + 1, .earliest = before + 1});
  int parent = end;
  while (parent != kNone && AddEdge(parent, token, whole)) parent = states_[parent].link;
  if (parent == end) {                                       // Another text has gone on so.
    states_.pop_back();
    whole = StateOf(end, token);
  } else {
    const int link = parent == kNone ? kRoot : StateOf(parent, token);  // May move the states.
    states_[whole].link = link;
  }
  for (int state = whole, i = 0; state != kRoot && i < options_.most_links; state = states_[state].link, ++i) ++states_[state].count;
  return whole;
}

SuffixAutomaton::Cursor SuffixAutomaton::Settled(Cursor cursor) const {
  while (cursor.state != kRoot && cursor.length <= states_[states_[cursor.state].link].length) cursor.state = states_[cursor.state].link;
  return cursor;
}

SuffixAutomaton::Cursor SuffixAutomaton::Shorter(Cursor cursor) const {
  cursor = Settled(cursor);
  const int link = states_[cursor.state].link;
  return link == kNone ? Cursor() : Cursor{link, states_[link].length};
}

SuffixAutomaton::Cursor SuffixAutomaton::Match() const { return Shorter({last_, states_[last_].length}); }

SuffixAutomaton::Cursor SuffixAutomaton::Move(Cursor cursor, TokenId token) const {
  for (cursor = Settled(cursor);; cursor = Shorter(cursor)) {
    const int next = Next(cursor.state, token);
    if (next != kNone) return {next, cursor.length + 1};
    if (cursor.state == kRoot) return {};
  }
}

void SuffixAutomaton::VisitNext(int state, int most, absl::FunctionRef<void(TokenId token, int next)> visit) const {
  TokenId token = states_[state].newest;
  for (int i = 0; i < most && token != kNoToken; ++i) {
    const Edge edge = edges_->find(Key(state, token))->second;
    visit(token, edge.next);
    token = edge.older;
  }
}

int SuffixAutomaton::edges() const { return static_cast<int>(edges_->size()); }

int64_t SuffixAutomaton::bytes() const {
  return static_cast<int64_t>(tokens_.capacity() * sizeof(TokenId) + states_.capacity() * sizeof(State) +
                              edges_->capacity() * (sizeof(std::pair<uint64_t, Edge>) + 1));
}

}  // namespace tessera
