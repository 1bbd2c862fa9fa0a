#include "tessera/spec/policies/prune_rule.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/elementary.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/policies/internal/parameters.h"

namespace tessera {
namespace {

constexpr int kMostRows = 512;   // In a pass.

absl::Status CheckNumber(absl::string_view field, double found, bool may_be_zero) {
  if (std::isfinite(found) && (found > 0 || (may_be_zero && found == 0))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " of pruning: found ", found, ", expected a number ", may_be_zero ? "of at least 0" : "above 0"));
}

// Sets the values of the children of one node.
void AddValues(const TokenTree& tree, const CandidateSet& set, const PruneOptions& options, std::vector<float>& values) {
  CHECK_EQ(set.tokens.size(), set.scores.size()) << "candidates of node " << set.node;
  std::vector<int> nodes;
  double largest = -HUGE_VAL;
  for (size_t i = 0; i < set.tokens.size(); ++i) {
    nodes.push_back(tree.Child(set.node, set.tokens[i]));
    if (nodes[i] != TokenTree::kNone || options.with_shadow_tokens) largest = std::max(largest, static_cast<double>(set.scores[i]));
  }
  const auto weight = [&](size_t i) { return elementary::Exp((set.scores[i] - largest) / options.temperature); };
  double sum = 0;
  for (size_t i = 0; i < set.tokens.size(); ++i) {
    if (nodes[i] != TokenTree::kNone || options.with_shadow_tokens) sum += weight(i);
  }
  for (size_t i = 0; i < set.tokens.size(); ++i) {
    if (nodes[i] == TokenTree::kNone) continue;
    const double value = weight(i) / sum;
    values[nodes[i]] = std::isfinite(value) ? static_cast<float>(value) : 1;
  }
}

// Returns, by node, whether the threshold and the first safeguard keep the node.
std::vector<bool> ByThreshold(const TokenTree& tree, const std::vector<float>& values, const PruneOptions& options) {
  std::vector<bool> kept(values.size(), true);
  const bool falls = !options.with_safeguards || !options.keep_ancestors;
  for (int node = 1; node < tree.size(); ++node) {
    kept[node] = values[node] >= options.threshold && (!falls || kept[tree[node].parent]);
  }
  for (int node = tree.size() - 1; node > 0; --node) {
    if (kept[node]) kept[tree[node].parent] = true;
  }
  return kept;
}

void KeepBackbone(const TokenTree& tree, const std::vector<float>& values, std::vector<bool>& kept) {
  std::vector<int> best(values.size(), TokenTree::kNone);   // Child of each node; of equal ones the first.
  for (int node = 1; node < tree.size(); ++node) {
    int& so_far = best[tree[node].parent];
    if (so_far == TokenTree::kNone || values[node] > values[so_far]) so_far = node;
  }
  for (int node = TokenTree::kRoot; node != TokenTree::kNone; node = best[node]) kept[node] = true;
}

void KeepNearRoot(const TokenTree& tree, const std::vector<float>& values, int count, std::vector<bool>& kept) {
  std::vector<int> children;
  for (int node = 1; node < tree.size(); ++node) {
    if (tree[node].parent == TokenTree::kRoot) children.push_back(node);
  }
  std::stable_sort(children.begin(), children.end(), [&](int a, int b) { return values[a] > values[b]; });
  for (size_t i = 0; i < std::min(children.size(), static_cast<size_t>(count)); ++i) kept[children[i]] = true;
}

int LeavesOf(const TokenTree& tree, const std::vector<bool>& kept) {
  std::vector<bool> leaf = kept;
  for (int node = 1; node < tree.size(); ++node) {
    if (kept[node]) leaf[tree[node].parent] = false;
  }
  return static_cast<int>(std::count(leaf.begin(), leaf.end(), true));
}

}  // namespace

absl::Status CheckPruneOptions(const PruneOptions& options) {
  RETURN_IF_ERROR(CheckNumber("threshold", options.threshold, /*may_be_zero=*/true));
  RETURN_IF_ERROR(CheckNumber("temperature", options.temperature, /*may_be_zero=*/false));
  RETURN_IF_ERROR(CheckNumber("keep_near_root", options.keep_near_root, /*may_be_zero=*/true));
  RETURN_IF_ERROR(CheckNumber("least_rows_left", options.least_rows_left, /*may_be_zero=*/true));
  RETURN_IF_ERROR(CheckNumber("least_leaves_left", options.least_leaves_left, /*may_be_zero=*/true));
  return CheckNumber("least_rows_dropped", options.least_rows_dropped, /*may_be_zero=*/true);
}

absl::StatusOr<PruneOptions> ParsePruneOptions(absl::string_view text, const PruneOptions& from) {
  PruneOptions options = from;
  Parameters parameters("pruning", "", text);
  parameters.TakeNumber("threshold", /*may_be_zero=*/true, options.threshold);
  parameters.TakeNumber("tau", /*may_be_zero=*/false, options.temperature);
  parameters.Take("near_root", 0, kMostRows, options.keep_near_root);
  parameters.Take("rows_left", 0, kMostRows, options.least_rows_left);
  parameters.Take("leaves_left", 0, kMostRows, options.least_leaves_left);
  parameters.Take("rows_dropped", 0, kMostRows, options.least_rows_dropped);
  parameters.Take("ancestors", options.keep_ancestors);
  RETURN_IF_ERROR(parameters.Done());
  RETURN_IF_ERROR(CheckPruneOptions(options));
  return options;
}

bool MayPrune(const TokenTree& tree, const PruneOptions& options) {
  int most_dropped = tree.size() - 1;
  if (options.with_safeguards) most_dropped = tree.Leaves() == 1 ? 0 : tree.size() - 2;   // A child of the root stays at least.
  return options.threshold > 0 && most_dropped >= std::max(options.least_rows_dropped, 1);
}

std::vector<float> EdgeValues(const TokenTree& tree, absl::Span<const CandidateSet> sets, const PruneOptions& options) {
  std::vector<float> values(static_cast<size_t>(tree.size()), 1.0f);
  for (const CandidateSet& set : sets) AddValues(tree, set, options, values);
  return values;
}

std::vector<int> PruneTree(const TokenTree& tree, absl::Span<const CandidateSet> sets, const PruneOptions& options) {
  std::vector<int> all(static_cast<size_t>(tree.size()));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<float> values = EdgeValues(tree, sets, options);
  std::vector<bool> kept = ByThreshold(tree, values, options);
  if (options.with_safeguards) {
    KeepBackbone(tree, values, kept);
    KeepNearRoot(tree, values, options.keep_near_root, kept);
  }
  const int left = static_cast<int>(std::count(kept.begin(), kept.end(), true));
  if (tree.size() - left < std::max(options.least_rows_dropped, 1)) return all;
  if (options.with_safeguards && (left < options.least_rows_left || LeavesOf(tree, kept) < options.least_leaves_left)) return all;
  std::vector<int> stay;
  for (const int node : all) {
    if (kept[node]) stay.push_back(node);
  }
  return stay;
}

}  // namespace tessera
