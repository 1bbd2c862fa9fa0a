#include "tessera/spec/tree_policy.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/fixed_trees.h"
#include "tessera/spec/gain_cost_tree.h"
#include "tessera/spec/ranked_trees.h"
#include "tessera/spec/sequoia_tree.h"

namespace tessera {
namespace {

constexpr int kMostTokens = 255;   // In a tree, and in a chain.
constexpr int kMostDepth = 63;
constexpr int kMostWidth = 64;

absl::Status Wrong(absl::string_view found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("tree: found ", found, ", expected ", expected));
}

// "; did you mean NAME?", or nothing.
std::string Meant(const std::string& name, const std::vector<std::string>& names) {
  const std::string nearest = NearestName(name, names);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

// Values by key, each to be taken once. The first fault is kept; what is taken after it does not count.
class Parameters {
 public:
  Parameters(absl::string_view name, absl::string_view text) : name_(name) {
    if (text.empty()) return;
    for (const absl::string_view item : absl::StrSplit(text, ',')) {
      const std::pair<std::string, std::string> entry = absl::StrSplit(item, absl::MaxSplits('=', 1));
      if (entry.first.empty() || entry.second.empty()) fault_.Update(Wrong(absl::StrCat("\"", item, "\""), "KEY=VALUE"));
      else if (!values_.insert(entry).second) fault_.Update(Wrong(absl::StrCat(name_, ":", entry.first, " twice"), "it once"));
    }
  }

  void Take(absl::string_view key, int least, int most, int& value) {
    Take(key, absl::StrCat(least, " to ", most), [&](absl::string_view text) {
      int number = 0;
      if (!absl::SimpleAtoi(text, &number) || number < least || number > most) return false;
      value = number;
      return true;
    });
  }
  // In [0, 1], or (0, 1].
  void TakeShare(absl::string_view key, bool may_be_zero, double& value) {
    Take(key, may_be_zero ? "0 to 1" : "more than 0, at most 1", [&](absl::string_view text) {
      double number = 0;
      if (!absl::SimpleAtod(text, &number) || !(number >= 0 && number <= 1) || (number == 0 && !may_be_zero)) return false;
      value = number;
      return true;
    });
  }
  void Take(absl::string_view key, bool& value) {
    int number = value ? 1 : 0;
    Take(key, 0, 1, number);
    value = number == 1;
  }
  // Numbers with x between.
  void Take(absl::string_view key, std::vector<int>& values) {
    Take(key, absl::StrCat("1 to ", kMostDepth, " numbers from 1 to ", kMostWidth, " with x between"), [&](absl::string_view text) {
      std::vector<int> numbers;
      for (const absl::string_view item : absl::StrSplit(text, 'x')) {
        int number = 0;
        if (!absl::SimpleAtoi(item, &number) || number < 1 || number > kMostWidth) return false;
        numbers.push_back(number);
      }
      if (numbers.size() > kMostDepth) return false;
      values = std::move(numbers);
      return true;
    });
  }

  // The first fault, or that of a key that nothing took.
  absl::Status Done() const {
    RETURN_IF_ERROR(fault_);
    if (values_.empty()) return absl::OkStatus();
    const std::string& key = values_.begin()->first;
    return Wrong(absl::StrCat(name_, ":", key), absl::StrCat("one of ", absl::StrJoin(known_, ", "), Meant(key, known_)));
  }

 private:
  void Take(absl::string_view key, absl::string_view expected, absl::FunctionRef<bool(absl::string_view)> parse) {
    known_.emplace_back(key);
    const auto place = values_.find(std::string(key));
    if (place == values_.end()) return;
    if (!parse(place->second)) fault_.Update(Wrong(absl::StrCat(name_, ":", key, "=", place->second), expected));
    values_.erase(place);
  }

  const std::string name_;
  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
  absl::Status fault_;
};

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
  parameters.Take("widths", options.widths);
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
    Parameters parameters(name, values);
    std::unique_ptr<TreePolicy> policy = kind.make(parameters, costs);
    RETURN_IF_ERROR(parameters.Done());
    return policy;
  }
  const std::vector<std::string> names = TreePolicyNames();
  return Wrong(absl::StrCat("\"", name, "\""), absl::StrCat("one of ", absl::StrJoin(names, ", "), Meant(name, names)));
}

}  // namespace tessera
