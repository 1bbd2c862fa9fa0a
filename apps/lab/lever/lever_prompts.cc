#include "tessera/apps/lab/lever/lever_prompts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/bench/spec/evaluation_sets.h"
#include "tessera/base/json.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

absl::StatusOr<std::string> OfProblem(const JsonValue& record) { return record.String("question"); }

absl::StatusOr<std::string> OfFunction(const JsonValue& record) {
  ASSIGN_OR_RETURN(const std::string prompt, record.String("prompt"));
  return absl::StrCat("Complete this function:\n\n", prompt);
}

// A task, and the tests that the answer has to pass.
absl::StatusOr<std::string> OfTask(const JsonValue& record) {
  ASSIGN_OR_RETURN(const std::string text, record.String("text"));
  ASSIGN_OR_RETURN(const std::vector<std::string> tests, record.Strings("test_list"));
  return absl::StrCat(text, " Your code should pass these tests:\n\n", absl::StrJoin(tests, "\n"));
}

// The dialogue's first question.
absl::StatusOr<std::string> OfDialogue(const JsonValue& record) {
  ASSIGN_OR_RETURN(const std::vector<std::string> turns, record.Strings("turns"));
  if (turns.empty()) return record.Error("no turns", "at least one");
  return turns[0];
}

struct PublicSet {
  const char* name;
  const char* file;
  absl::StatusOr<std::string> (*prompt)(const JsonValue& record);
};
constexpr PublicSet kSets[] = {{"gsm8k", "gsm8k_test.jsonl", OfProblem},
                              {"humaneval", "humaneval.jsonl", OfFunction},
                              {"mbpp", "mbpp.jsonl", OfTask},
                              {"mt_bench", "mt_bench.jsonl", OfDialogue}};

absl::StatusOr<std::vector<PublicSet>> ChosenSets(const std::string& categories) {
  if (categories == "all") return std::vector<PublicSet>(std::begin(kSets), std::end(kSets));
  std::vector<PublicSet> chosen;
  for (const absl::string_view name : absl::StrSplit(categories, ',')) {
    const auto same = [name](const PublicSet& set) { return set.name == name; };
    const auto found = std::find_if(std::begin(kSets), std::end(kSets), same);
    const bool again = std::any_of(chosen.begin(), chosen.end(), same);
    if (found == std::end(kSets) || again) {
      const std::string known = absl::StrJoin(kSets, ", ", [](std::string* out, const PublicSet& set) { absl::StrAppend(out, set.name); });
      return WrongUsage("categories", absl::StrCat(Quoted(name), again ? " twice" : ""), absl::StrCat("some of ", known, ", or all"));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

absl::StatusOr<PromptCategory> ReadSet(const std::string& folder, const PublicSet& set, int most) {
  ASSIGN_OR_RETURN(const EvaluationFile file, ReadEvaluationFile(folder, set.file));
  PromptCategory category = {.name = set.name, .prompts = {}};
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(file.text, '\n')) {
    ++number;
    if (static_cast<int>(category.prompts.size()) >= most) break;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    ASSIGN_OR_RETURN(const JsonValue record, JsonValue::Parse(line, absl::StrCat(file.source, ", line ", number)));
    ASSIGN_OR_RETURN(std::string prompt, set.prompt(record));
    category.prompts.push_back(std::move(prompt));
    category.ids.push_back(absl::StrCat(number));
  }
  if (category.prompts.empty()) return absl::InvalidArgumentError(absl::StrCat(file.source, ": found no prompts, expected some"));
  return category;
}

}  // namespace

absl::StatusOr<std::vector<PromptCategory>> ReadLeverPrompts(const std::string& folder, const std::string& categories, int most) {
  ASSIGN_OR_RETURN(const std::vector<PublicSet> chosen, ChosenSets(categories));
  std::vector<PromptCategory> sets;
  for (const PublicSet& set : chosen) {
    ASSIGN_OR_RETURN(sets.emplace_back(), ReadSet(folder, set, most));
  }
  return sets;
}

}  // namespace tessera
