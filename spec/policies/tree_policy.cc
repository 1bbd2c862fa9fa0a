#include "tessera/spec/policies/tree_policy.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/policies/fixed_trees.h"
#include "tessera/spec/policies/gain_cost_tree.h"
#include "tessera/spec/policies/internal/parameters.h"
#include "tessera/spec/policies/ranked_trees.h"
#include "tessera/spec/policies/sequoia_tree.h"

namespace tessera {
namespace {

constexpr int kMostTokens = 255;   // In a tree, and in a chain.
constexpr int kMostDepth = 63;
constexpr int kMostWidth = 64;

absl::Status Wrong(absl::string_view found, absl::string_view expected) { return WrongParameter("tree", found, expected); }

using Maker = std::unique_ptr<TreePolicy> (*)(Parameters& parameters, const TreeCosts& costs);

std::unique_ptr<TreePolicy> MakeLever(Parameters& parameters, const TreeCosts& costs) {
  GainCostTree::Options options = {.costs = costs};
  parameters.Take("blocks", options.blocks);
  parameters.Take("optimistic", options.optimistic);
  return std::make_unique<GainCostTree>(options);
}

std::unique_ptr<TreePolicy> MakeChain(Parameters& parameters, const TreeCosts& /*costs*/) {
  ChainTree::Options options;
  parameters.Take("tokens", 1, kMostTokens, options.tokens);
  parameters.TakeShare("least", /*may_be_zero=*/true, options.least);
  return std::make_unique<ChainTree>(options);
}

std::unique_ptr<TreePolicy> MakeThreshold(Parameters& parameters, const TreeCosts& /*costs*/) {
  ThresholdTree::Options options;
  parameters.TakeShare("threshold", /*may_be_zero=*/false, options.threshold);
  return std::make_unique<ThresholdTree>(options);
}

std::unique_ptr<TreePolicy> MakeWidths(Parameters& parameters, const TreeCosts& /*costs*/) {
  WidthsTree::Options options;
  parameters.Take("widths", options.widths, kMostDepth, kMostWidth);
  return std::make_unique<WidthsTree>(options);
}

std::unique_ptr<TreePolicy> MakeOpt(Parameters& parameters, const TreeCosts& /*costs*/) {
  OptTree::Options options;
  parameters.Take("nodes", 1, kMostTokens, options.nodes);
  parameters.TakeShare("threshold", /*may_be_zero=*/true, options.threshold);
  parameters.Take("depth", 1, kMostDepth, options.depth);
  return std::make_unique<OptTree>(options);
}

std::unique_ptr<TreePolicy> MakeEagle2(Parameters& parameters, const TreeCosts& /*costs*/) {
  Eagle2Tree::Options options;
  parameters.Take("width", 1, kMostWidth, options.width);
  parameters.Take("depth", 0, kMostDepth, options.depth);
  parameters.Take("nodes", 1, kMostTokens, options.nodes);
  return std::make_unique<Eagle2Tree>(options);
}

std::unique_ptr<TreePolicy> MakeSequoia(Parameters& parameters, const TreeCosts& costs) {
  SequoiaTree::Options options = {.costs = costs};
  parameters.Take("nodes", 1, kMostTokens, options.nodes);
  parameters.Take("depth", 1, kMostDepth, options.depth);
  parameters.Take("branches", 1, kMostWidth, options.branches);
  return std::make_unique<SequoiaTree>(options);
}

struct Kind {
  absl::string_view name;
  Maker make;
};
constexpr Kind kKinds[] = {{"lever", MakeLever}, {"chain", MakeChain}, {"edgellm", MakeThreshold}, {"specinfer", MakeWidths},
                           {"opt_tree", MakeOpt}, {"eagle2", MakeEagle2}, {"sequoia", MakeSequoia}};

}  // namespace

std::vector<std::string> TreePolicyNames() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

absl::StatusOr<std::unique_ptr<TreePolicy>> MakeTreePolicy(absl::string_view text, const TreeCosts& costs) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  const auto& [name, values] = parts;
  if (!(costs.io_seconds >= 0) || !std::isfinite(costs.io_seconds)) {
    return Wrong(absl::StrCat(costs.io_seconds, " s of reading"), "0 or more, and finite");
  }
  for (const Kind& kind : kKinds) {
    if (kind.name != name) continue;
    if (values.empty() && text.size() > name.size()) return Wrong(absl::StrCat("\"", text, "\""), "KEY=VALUE after the colon");
    Parameters parameters("tree", absl::StrCat(name, ":"), values);
    std::unique_ptr<TreePolicy> policy = kind.make(parameters, costs);
    RETURN_IF_ERROR(parameters.Done());
    return policy;
  }
  const std::vector<std::string> names = TreePolicyNames();
  return Wrong(absl::StrCat("\"", name, "\""), absl::StrCat("one of ", absl::StrJoin(names, ", "), MeantName(name, names)));
}

}  // namespace tessera
