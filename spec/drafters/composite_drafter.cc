#include "tessera/spec/drafters/composite_drafter.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "glog/logging.h"
#include "tessera/base/elapsed.h"

namespace tessera {
namespace {

// Adds another tree's nodes below the root to `all`, with corrected probabilities.
void Merge(const TokenTree& from, const Acceptance& acceptance, int source, TokenTree& all, std::vector<Estimates>& said) {
  std::vector<int> place(from.size(), TokenTree::kRoot);
  for (int node = 1; node < from.size(); ++node) {
    const TokenTree::Node& guess = from[node];
    const float probability = acceptance.Probability({guess.probability, guess.depth});
    place[node] = all.Add(place[guess.parent], guess.token, probability, source);
    said.resize(all.size());
    said[place[node]].Add(source, probability);
  }
}

// Returns the nodes that the sequence reaches most probably, parents first.
std::vector<int> Likeliest(const TokenTree& tree, const std::vector<float>& chances, const DraftBudget& budget) {
  std::vector<float> reached(tree.size(), 1);
  std::vector<int> nodes;
  for (int node = 1; node < tree.size(); ++node) {
    reached[node] = reached[tree[node].parent] * chances[node];
    if (tree[node].depth <= budget.max_depth) nodes.push_back(node);
  }
  std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) { return reached[a] > reached[b]; });
  nodes.resize(std::min<size_t>(nodes.size(), budget.max_nodes));
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace

void DraftAccount::Add(const DraftAccount& more) {
  proposed += more.proposed;
  verified += more.verified;
  accepted += more.accepted;
  for (int depth = 0; depth < kDepths; ++depth) {
    verified_at[depth] += more.verified_at[depth];
    accepted_at[depth] += more.accepted_at[depth];
  }
  calls += more.calls;
  failures += more.failures;
  failure.Update(more.failure);
  seconds += more.seconds;
}

CompositeDrafter::CompositeDrafter(std::vector<std::unique_ptr<Drafter>> drafters, const Clock& clock)
    : clock_(clock), own_(drafters.size()) {
  CHECK_LE(drafters.size(), static_cast<size_t>(Estimates::kMostSources));
  for (std::unique_ptr<Drafter>& drafter : drafters) members_.push_back({.drafter = std::move(drafter)});
}

DrafterNeeds CompositeDrafter::needs() const {
  DrafterNeeds most;
  for (const Member& member : members_) {
    if (!member.on) continue;
    const DrafterNeeds needs = member.drafter->needs();
    most.top_of_rows = std::max(most.top_of_rows, needs.top_of_rows);
    most.top_of_prompt = std::max(most.top_of_prompt, needs.top_of_prompt);
    most.forecast_rows = std::max(most.forecast_rows, needs.forecast_rows);
    most.top_of_forecasts = std::max(most.top_of_forecasts, needs.top_of_forecasts);
    most.forecast_tokens = std::max(most.forecast_tokens, needs.forecast_tokens);
  }
  return most;
}

void CompositeDrafter::Join(std::shared_ptr<SharedHistory> siblings) {
  for (Member& member : members_) member.drafter->Join(siblings);
  if (shared_ != nullptr) own_ = *shared_;
  shared_ = nullptr;
  siblings_ = std::move(siblings);
  if (siblings_ == nullptr) return;
  std::vector<absl::string_view> names;
  for (const Member& member : members_) names.push_back(member.drafter->name());
  shared_ = siblings_->LearningOf(names, own_);
}

void CompositeDrafter::Begin(absl::Span<const TokenId> text) {
  CHECK(!text.empty()) << "a text has a last token";
  for (Member& member : members_) {
    member.drafter->Begin(text);
    member.proposal = TokenTree(text.back());
    member.calls_before = member.account.calls;
  }
}

void CompositeDrafter::LearnPrompt(int first, absl::Span<const TopTokens> top) {
  for (Member& member : members_) member.drafter->LearnPrompt(first, top);
}

void CompositeDrafter::Ask(const DraftBudget& budget, TokenId root, Member& member) {
  member.proposal = TokenTree(root);
  member.propose_seconds = 0;
  if (!member.on) return;
  const double begin = Seconds();
  const absl::Status status = member.drafter->Propose(budget, member.proposal);
  if (!status.ok()) {
    member.account.failures += 1;
    member.account.failure.Update(status);
    member.proposal = TokenTree(root);
  }
  member.propose_seconds = ElapsedSeconds(begin, Seconds());
  member.account.seconds += member.propose_seconds;
  member.is_reading = member.account.calls == member.calls_before;
  member.account.calls += 1;
  member.account.proposed += member.proposal.size() - 1;
}

absl::Status CompositeDrafter::Propose(const DraftBudget& budget, TokenTree& tree) {
  all_ = TokenTree(tree[TokenTree::kRoot].token);
  said_.assign(1, Estimates());
  for (int source = 0; source < size(); ++source) {
    Ask(budget, tree[TokenTree::kRoot].token, member(source));
    Merge(member(source).proposal, learning().acceptance[static_cast<size_t>(source)], source, all_, said_);
  }
  const std::vector<float> chances = learning().mixer.Mix(all_, said_);
  std::vector<int> place(all_.size(), TokenTree::kRoot);
  for (const int node : Likeliest(all_, chances, budget)) {
    place[node] = tree.Add(place[all_[node].parent], all_[node].token, chances[node], all_[node].source);
  }
  return absl::OkStatus();
}

// Learns from every guess whose parent came true, verified or not: the tokens that came tell whether the guess came true.
void CompositeDrafter::LearnFrom(absl::Span<const TokenId> emitted, const TokenTree& proposal, Acceptance& acceptance) {
  int parent = TokenTree::kRoot;
  for (const TokenId token : emitted) {
    int next = TokenTree::kNone;
    for (int node = parent + 1; node < proposal.size(); ++node) {
      if (proposal[node].parent != parent) continue;
      acceptance.Add({proposal[node].probability, proposal[node].depth}, proposal[node].token == token);
      if (proposal[node].token == token) next = node;
    }
    if (next == TokenTree::kNone) return;
    parent = next;
  }
}

void CompositeDrafter::CountVerified(const TokenTree& tree, const Verdict& verdict, Member& member) {
  DraftAccount& account = member.account;
  std::vector<int> own(tree.size(), TokenTree::kNone);
  own[TokenTree::kRoot] = TokenTree::kRoot;
  for (int node = 1; node < tree.size(); ++node) {
    const int parent = own[tree[node].parent];
    if (parent != TokenTree::kNone) own[node] = member.proposal.Child(parent, tree[node].token);
    if (own[node] == TokenTree::kNone) continue;
    const bool accepted = std::find(verdict.path.begin(), verdict.path.end(), node) != verdict.path.end();
    const int place = std::min(tree[node].depth, DraftAccount::kDepths) - 1;
    account.verified += 1;
    account.verified_at[place] += 1;
    account.accepted += accepted ? 1 : 0;
    account.accepted_at[place] += accepted ? 1 : 0;
  }
}

void CompositeDrafter::Commit(const TokenTree& tree, const Verdict& verdict) {
  learning().mixer.Learn(all_, said_, verdict.emitted);
  all_ = TokenTree(0);   // As the members' proposals below.
  for (size_t source = 0; source < members_.size(); ++source) {
    Member& member = members_[source];
    if (member.proposal.size() > 1) {
      LearnFrom(verdict.emitted, member.proposal, learning().acceptance[source]);
      CountVerified(tree, verdict, member);
      member.proposal = TokenTree(0);   // So the next tokens are not compared with an old proposal.
    }
    const double begin = Seconds();
    member.drafter->Commit(tree, verdict);
    const double commit_seconds = ElapsedSeconds(begin, Seconds());
    member.account.seconds += commit_seconds;
    member.step_seconds = std::exchange(member.is_reading, false) ? 0 : member.propose_seconds + commit_seconds;
    member.propose_seconds = 0;
  }
}

LayerListener* CompositeDrafter::listener() {
  for (Member& member : members_) {
    if (LayerListener* const listener = member.drafter->listener(); listener != nullptr) return listener;
  }
  return nullptr;
}

const PlacedForecasts* CompositeDrafter::forecasts() const {
  for (const Member& member : members_) {
    if (const PlacedForecasts* const forecasts = member.drafter->forecasts(); forecasts != nullptr) return forecasts;
  }
  return nullptr;
}

int64_t CompositeDrafter::bytes() const {
  return std::accumulate(members_.begin(), members_.end(), static_cast<int64_t>(sizeof(*this) + members_.size() * sizeof(Member)),
                         [](int64_t sum, const Member& member) { return sum + member.drafter->bytes(); });
}

}  // namespace tessera
