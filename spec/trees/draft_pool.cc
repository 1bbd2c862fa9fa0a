#include "tessera/spec/trees/draft_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr float kMostSum = 1.01f;   // Probabilities are estimates: a little more than 1 together is no fault.

}  // namespace

DraftPool::DraftPool(TokenId root, Expander& expander, const Options& options)
    : expander_(expander), options_(options), tree_(root), entries_(1) {
  CHECK_GE(options.candidates, 1);
  CHECK_GE(expander.most_rows(), 1) << "expander " << expander.name();
}

absl::Status DraftPool::Expand(absl::Span<const int> nodes) {
  const auto most = static_cast<size_t>(expander_.most_rows());
  for (size_t begin = 0; begin < nodes.size(); begin += most) RETURN_IF_ERROR(ExpandBatch(nodes.subspan(begin, most)));
  return absl::OkStatus();
}

absl::Status DraftPool::ExpandBatch(absl::Span<const int> nodes) {
  for (const int node : nodes) {
    CHECK(node >= 0 && node < tree_.size() && !expanded(node)) << "node " << node;
    CHECK(node == TokenTree::kRoot || expanded(TokenTree::kRoot)) << "the root comes first";
  }
  ASSIGN_OR_RETURN(std::vector<TopTokens> said, expander_.Expand(tree_, nodes, options_.candidates));
  if (said.size() != nodes.size()) {
    return absl::InternalError(
        absl::StrCat("draft ", expander_.name(), ": found answers for ", said.size(), " nodes, expected ", nodes.size()));
  }
  for (size_t i = 0; i < nodes.size(); ++i) RETURN_IF_ERROR(CheckSaid(nodes[i], said[i]));
  for (size_t i = 0; i < nodes.size(); ++i) AddChildren(nodes[i], std::move(said[i]));
  seconds_ += std::max(expander_.Seconds(static_cast<int>(nodes.size())), 0.0);
  passes_ += 1;
  rows_ += static_cast<int64_t>(nodes.size());
  return absl::OkStatus();
}

absl::Status DraftPool::CheckSaid(int node, const TopTokens& said) const {
  const auto wrong = [&](absl::string_view found, absl::string_view expected) {
    return absl::InternalError(absl::StrCat("draft ", expander_.name(), ": node ", node, ": found ", found, ", expected ", expected));
  };
  if (said.size() > static_cast<size_t>(options_.candidates)) {
    return wrong(absl::StrCat(said.size(), " candidates"), absl::StrCat("at most ", options_.candidates));
  }
  float sum = 0;
  for (size_t i = 0; i < said.size(); ++i) {
    const float probability = said[i].probability;
    if (!(probability >= 0 && probability <= 1)) return wrong(absl::StrCat("probability ", probability), "0 to 1");
    if (said[i].token < 0) return wrong(absl::StrCat("token ", said[i].token), "0 or more");
    if (i > 0 && probability > said[i - 1].probability) return wrong("a likelier candidate behind another", "the likeliest first");
    for (size_t before = 0; before < i; ++before) {
      if (said[before].token == said[i].token) return wrong(absl::StrCat("token ", said[i].token, " twice"), "it once");
    }
    sum += probability;
  }
  if (sum > kMostSum) return wrong(absl::StrCat("probabilities of ", sum, " together"), "at most 1");
  return absl::OkStatus();
}

// Makes draws after different nodes independent. Otherwise the draws after one node could decide whether another node of the same depth is
// expanded. That decision would then say something about the other node's draws, and the sequence would not have the target's distribution.
DrawKey DraftPool::DrawsOf(int node) const {
  DrawKey key = options_.draws;
  key.position += tree_[node].depth;
  for (const TokenId token : tree_.PathTo(node)) key.stream = MixBits(key.stream ^ (static_cast<uint64_t>(token) + 1));
  return key;
}

TopTokens DraftPool::Corrected(const TopTokens& said, int depth) const {
  TopTokens corrected = said;
  if (options_.reliability == nullptr) return corrected;
  const absl::InlinedVector<float, 8> chances = options_.reliability->Chances(said, depth);
  for (size_t i = 0; i < said.size(); ++i) corrected[i].probability = chances[i];
  return corrected;
}

void DraftPool::AddChildren(int node, TopTokens said) {
  while (!said.empty() && !(said.back().probability > 0)) said.pop_back();
  Entry& entry = entries_[static_cast<size_t>(node)];
  const int depth = tree_[node].depth + 1;
  entry.expanded = true;
  TopTokens children;
  if (options_.sampling.has_value()) {
    entry.drawn = DrawChildren(said, *options_.sampling, DrawsOf(node));
    for (const TokenId token : entry.drawn.tokens) {
      const TopTokens& distribution = entry.drawn.distribution;
      const auto found = std::find_if(distribution.begin(), distribution.end(), [&](const TopToken& e) { return e.token == token; });
      children.push_back({token, static_cast<float>(rho(depth)) * found->probability});
    }
  } else {
    children = Corrected(said, depth);
  }
  entry.candidates = std::move(said);
  std::vector<int> added;
  std::vector<Entry> more;
  for (const TopToken& child : children) {
    if (!(child.probability > 0)) continue;
    added.push_back(tree_.Add(node, child.token, std::min(child.probability, 1.0f)));
    more.push_back({.reached = entry.reached * tree_[added.back()].probability});
  }
  entry.children = std::move(added);
  std::move(more.begin(), more.end(), std::back_inserter(entries_));   // Last, because this moves the entry.
}

double DraftPool::SecondsOf(int nodes) const {
  const int most = expander_.most_rows();
  double seconds = nodes / most * std::max(expander_.Seconds(most), 0.0);
  if (nodes % most > 0) seconds += std::max(expander_.Seconds(nodes % most), 0.0);
  return seconds;
}

int DraftPool::BatchOf(absl::Span<const int> waiting) const {
  CHECK(!waiting.empty());
  const int most = std::min(static_cast<int>(waiting.size()), expander_.most_rows());
  double sum = 0, best_sum = 0, best_seconds = 0;
  int best = 0;
  for (int count = 1; count <= most; ++count) {
    sum += reached(waiting[static_cast<size_t>(count) - 1]);
    const double seconds = SecondsOf(count);
    if (best > 0 && sum * best_seconds <= best_sum * seconds && seconds > 0) continue;
    best = count;
    best_sum = sum;
    best_seconds = seconds;
  }
  return best;
}

std::vector<DraftPool::Step> DraftPool::Follow(absl::Span<const TokenId> emitted) const {
  std::vector<Step> steps;
  int node = TokenTree::kRoot;
  for (const TokenId token : emitted) {
    if (node == TokenTree::kNone || !expanded(node)) break;
    const TopTokens& said = candidates(node);
    const auto found = std::find_if(said.begin(), said.end(), [&](const TopToken& entry) { return entry.token == token; });
    steps.push_back({node, found == said.end() ? TokenTree::kNone : static_cast<int>(found - said.begin()), token});
    node = tree_.Child(node, token);
  }
  return steps;
}

int64_t DraftPool::bytes() const {
  int64_t bytes = static_cast<int64_t>(entries_.capacity() * sizeof(Entry) + tree_.nodes().size() * sizeof(TokenTree::Node));
  for (const Entry& entry : entries_) {
    bytes += static_cast<int64_t>(entry.children.capacity() * sizeof(int) + entry.drawn.tokens.capacity() * sizeof(TokenId));
  }
  return bytes;
}

}  // namespace tessera
