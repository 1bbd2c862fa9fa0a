#include "tessera/apps/lab/scale/grid/grid_methods.h"

#include <algorithm>
#include <iterator>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/quoted.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

struct Method {
  const char* name;
  std::optional<Selection> selection;
  bool asks_scorer;
};

constexpr Method kMethods[] = {
    {"one", std::nullopt, false},
    {"majority", Selection::kMajority, false},
    {"weighted", Selection::kWeighted, true},
    {"best_of_n", Selection::kBestOfN, true},
    {"beam", std::nullopt, true},
};

const Method& Named(absl::string_view name) {
  const auto same = [&](const Method& method) { return name == method.name; };
  const auto* const found = std::find_if(std::begin(kMethods), std::end(kMethods), same);
  CHECK(found != std::end(kMethods)) << name << " is no method";
  return *found;
}

}  // namespace

const std::vector<std::string>& GridMethodNames() {
  static const auto* const names = [] {
    auto* all = new std::vector<std::string>();
    for (const Method& method : kMethods) all->push_back(method.name);
    return all;
  }();
  return *names;
}

absl::StatusOr<std::vector<std::string>> GridMethodsOf(absl::string_view list) {
  const std::vector<std::string>& known = GridMethodNames();
  std::vector<std::string> methods;
  for (const absl::string_view name : absl::StrSplit(list, ',')) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return WrongUsage("methods", Quoted(name), absl::StrCat("some of ", absl::StrJoin(known, ", ")));
    }
    if (std::find(methods.begin(), methods.end(), name) != methods.end()) {
      return WrongUsage("methods", absl::StrCat(name, " again"), "each once");
    }
    methods.emplace_back(name);
  }
  return methods;
}

std::optional<Selection> SelectionOf(absl::string_view method) { return Named(method).selection; }

bool AsksScorer(absl::string_view method) { return Named(method).asks_scorer; }

std::string FigureOfScorer(absl::string_view scorer) { return std::string(scorer.substr(0, scorer.find(':'))); }

bool IsOwnFigure(absl::string_view figure) {
  constexpr absl::string_view kOwn[] = {"mean_log_probability", "self_certainty", "arithmetic", "brevity", "random"};
  return std::find(std::begin(kOwn), std::end(kOwn), figure) != std::end(kOwn);
}

}  // namespace tessera
