#include "tessera/spec/drafter_registry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/calibrated_tree.h"
#include "tessera/spec/draft_reuse.h"
#include "tessera/spec/prompt_lookup.h"
#include "tessera/spec/speculator.h"
#include "tessera/spec/suffix_drafter.h"
#include "tessera/spec/token_recycling.h"

namespace tessera {
namespace {

struct DrafterKind {
  const char* name;
  std::unique_ptr<Drafter> (*make)(const DraftingSize& size, const DraftingStores& stores);
  int64_t (*most_bytes)(const DraftingSize& size);
};

SuffixDrafter::Options SuffixOptions(const DraftingSize& size) {
  SuffixDrafter::Options options;
  options.max_tokens = std::min(options.max_tokens, size.context);
  return options;
}

TokenRecycling::Options RecyclingOptions(const DraftingSize& size) {
  TokenRecycling::Options options;
  options.max_contexts = std::min(options.max_contexts, 2 * size.vocabulary);
  return options;
}

const DrafterKind kKinds[] = {
    {"lookup",
     [](const DraftingSize&, const DraftingStores&) -> std::unique_ptr<Drafter> {
       return std::make_unique<PromptLookup>(PromptLookup::Options());
     },
     [](const DraftingSize& size) { return PromptLookup::MostBytes(PromptLookup::Options(), size.context); }},
    {"suffix",
     [](const DraftingSize& size, const DraftingStores& stores) -> std::unique_ptr<Drafter> {
       SuffixDrafter::Options options = SuffixOptions(size);
       options.history = stores.history;
       return std::make_unique<SuffixDrafter>(options);
     },
     [](const DraftingSize& size) { return SuffixOptions(size).max_tokens * SuffixAutomaton::kMostBytesPerToken; }},
    {"recycling",
     [](const DraftingSize& size, const DraftingStores&) -> std::unique_ptr<Drafter> {
       return std::make_unique<TokenRecycling>(RecyclingOptions(size));
     },
     [](const DraftingSize& size) { return TokenRecycling::MostBytes(RecyclingOptions(size), size.context); }},
    {"calibrated",
     [](const DraftingSize&, const DraftingStores&) -> std::unique_ptr<Drafter> { return std::make_unique<CalibratedTree>(); },
     [](const DraftingSize& size) { return CalibratedTree::MostBytes(size.context) + Speculator::MostPromptBytes(size.context); }},
    {"reuse",
     [](const DraftingSize&, const DraftingStores&) -> std::unique_ptr<Drafter> {
       return std::make_unique<DraftReuse>(DraftReuse::Options());
     },
     [](const DraftingSize&) { return DraftReuse::MostBytes(DraftReuse::Options()); }},
};

const DrafterKind& KindOf(const std::string& name) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds), [&](const DrafterKind& kind) { return kind.name == name; });
}

absl::Status UnknownName(const std::string& name, std::vector<std::string> known) {
  known.insert(known.begin(), {"auto", "none"});
  const std::string meant = NearestName(name, known);
  return absl::InvalidArgumentError(absl::StrCat("drafter: found \"", name, "\", expected one of ", absl::StrJoin(known, ", "),
                                                 meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?")));
}

}  // namespace

std::vector<std::string> DrafterNames() {
  std::vector<std::string> names;
  for (const DrafterKind& kind : kKinds) names.push_back(kind.name);
  return names;
}

absl::StatusOr<std::vector<std::string>> ParseDrafterList(absl::string_view list) {
  const std::vector<std::string> known = DrafterNames();
  if (list == "auto") return known;
  if (list == "none") return std::vector<std::string>();
  std::vector<std::string> names = absl::StrSplit(list, ',');
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(known.begin(), known.end(), *name) == known.end()) return UnknownName(*name, known);
    if (std::find(names.begin(), name, *name) != name) {
      return absl::InvalidArgumentError(absl::StrCat("drafter: found \"", *name, "\" twice, expected it once"));
    }
  }
  return names;
}

absl::StatusOr<std::vector<std::unique_ptr<Drafter>>> MakeDrafters(absl::string_view list, const DraftingSize& size,
                                                                   const DraftingStores& stores) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ParseDrafterList(list));
  std::vector<std::unique_ptr<Drafter>> drafters;
  for (const std::string& name : names) drafters.push_back(KindOf(name).make(size, stores));
  return drafters;
}

absl::StatusOr<int64_t> DraftingBytes(absl::string_view list, const DraftingSize& size) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ParseDrafterList(list));
  int64_t bytes = 0;
  for (const std::string& name : names) bytes += KindOf(name).most_bytes(size);
  return bytes;
}

}  // namespace tessera
