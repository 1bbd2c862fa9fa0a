#include "tessera/spec/speculation/drafter_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "glog/logging.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/costs/estimate_mixer.h"
#include "tessera/spec/drafters/calibrated_tree.h"
#include "tessera/spec/drafters/draft_reuse.h"
#include "tessera/spec/drafters/prompt_lookup.h"
#include "tessera/spec/drafters/siblings_drafter.h"
#include "tessera/spec/drafters/suffix_drafter.h"
#include "tessera/spec/drafters/token_recycling.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {
namespace {

constexpr char kAll[] = "auto", kNoDrafter[] = "none";

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

std::vector<DrafterRegistry::Kind> BuiltInKinds(std::shared_ptr<const HistoryStore> history) {
  return {
      {"lookup", [](const DraftingSize&) { return std::make_unique<PromptLookup>(PromptLookup::Options()); },
       [](const DraftingSize& size) { return PromptLookup::MostBytes(PromptLookup::Options(), size.context); }},
      {"suffix",
       [history = std::move(history)](const DraftingSize& size) {
         SuffixDrafter::Options options = SuffixOptions(size);
         options.history = history;
         return std::make_unique<SuffixDrafter>(options);
       },
       [](const DraftingSize& size) { return SuffixOptions(size).max_tokens * SuffixAutomaton::kMostBytesPerToken; },
       /*reads_history=*/true},
      {"recycling", [](const DraftingSize& size) { return std::make_unique<TokenRecycling>(RecyclingOptions(size)); },
       [](const DraftingSize& size) { return TokenRecycling::MostBytes(RecyclingOptions(size), size.context); }},
      {"calibrated", [](const DraftingSize&) { return std::make_unique<CalibratedTree>(); },
       [](const DraftingSize& size) { return CalibratedTree::MostBytes(size.context) + Speculator::MostPromptBytes(size.context); }},
      {"reuse", [](const DraftingSize&) { return std::make_unique<DraftReuse>(DraftReuse::Options()); },
       [](const DraftingSize&) { return DraftReuse::MostBytes(DraftReuse::Options()); }},
  };
}

absl::Status Wrong(absl::string_view found, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat("drafter: found ", found, ", expected ", expected));
}

absl::Status UnknownName(const std::string& name, std::vector<std::string> known) {
  if (name == kSiblings) {
    return Wrong(absl::StrCat("\"", name, "\" where texts are written alone"), "several answers to one prompt, or other drafters");
  }
  known.insert(known.begin(), {kAll, kNoDrafter});
  const std::string meant = NearestName(name, known);
  return Wrong(absl::StrCat("\"", name, "\""), absl::StrCat("one of ", absl::StrJoin(known, ", "),
                                                             meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?")));
}

}  // namespace

DrafterRegistry DrafterRegistry::BuiltIn(std::shared_ptr<const HistoryStore> history) {
  DrafterRegistry registry;
  registry.kinds_ = BuiltInKinds(std::move(history));
  return registry;
}

DrafterRegistry::Kind DrafterRegistry::Siblings() {
  return {.name = kSiblings,
          .make = [](const DraftingSize&) { return std::make_unique<SiblingsDrafter>(); },
          .most_bytes = [](const DraftingSize&) { return static_cast<int64_t>(sizeof(SiblingsDrafter)); }};
}

absl::Status DrafterRegistry::Add(Kind kind) {
  CHECK(kind.make != nullptr && kind.most_bytes != nullptr) << "drafter " << kind.name;
  const std::string quoted = absl::StrCat("\"", kind.name, "\"");
  if (kind.name.empty() || absl::StrContains(kind.name, ',')) return Wrong(quoted, "a name without commas");
  if (kind.name == kAll || kind.name == kNoDrafter) return Wrong(quoted, "another name: a list may have this one for all, or for none");
  if (Find(kind.name) != nullptr) return Wrong(absl::StrCat(quoted, " a second time"), "each name once");
  kinds_.push_back(std::move(kind));
  return absl::OkStatus();
}

const DrafterRegistry::Kind* DrafterRegistry::Find(absl::string_view name) const {
  const auto found = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) { return kind.name == name; });
  return found == kinds_.end() ? nullptr : &*found;
}

std::vector<std::string> DrafterRegistry::Names() const {
  std::vector<std::string> names;
  for (const Kind& kind : kinds_) names.push_back(kind.name);
  return names;
}

absl::StatusOr<std::vector<std::string>> DrafterRegistry::Parse(absl::string_view list) const {
  if (list == kNoDrafter) return std::vector<std::string>();
  std::vector<std::string> names = list == kAll ? Names() : absl::StrSplit(list, ',');
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (*name == kAll || *name == kNoDrafter) {
      return Wrong(absl::StrCat("\"", list, "\""), absl::StrCat(kAll, " or ", kNoDrafter, " alone, or names of drafters"));
    }
    if (Find(*name) == nullptr) return UnknownName(*name, Names());
    if (std::find(names.begin(), name, *name) != name) return Wrong(absl::StrCat("\"", *name, "\" twice"), "it once");
  }
  if (names.size() > Estimates::kMostSources) {
    return Wrong(absl::StrCat(names.size(), " in \"", list, "\""), absl::StrCat("at most ", Estimates::kMostSources));
  }
  return names;
}

absl::StatusOr<std::vector<std::unique_ptr<Drafter>>> DrafterRegistry::Make(absl::string_view list, const DraftingSize& size) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Parse(list));
  std::vector<std::unique_ptr<Drafter>> drafters;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(drafters.emplace_back(), Find(name)->make(size));
  }
  return drafters;
}

absl::StatusOr<DrafterRegistry::BytesOf> DrafterRegistry::MostBytes(absl::string_view list) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, Parse(list));
  std::vector<BytesOf> each;
  for (const std::string& name : names) each.push_back(Find(name)->most_bytes);
  return [each = std::move(each)](const DraftingSize& size) {
    int64_t bytes = 0;
    for (const BytesOf& most_bytes : each) bytes += most_bytes(size);
    return bytes;
  };
}

bool DrafterRegistry::ReadsHistory(absl::string_view list) const {
  const absl::StatusOr<std::vector<std::string>> names = Parse(list);
  return names.ok() && std::any_of(names->begin(), names->end(), [&](const std::string& name) { return Find(name)->reads_history; });
}

}  // namespace tessera
