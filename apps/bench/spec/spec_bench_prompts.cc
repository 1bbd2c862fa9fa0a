#include "tessera/apps/bench/spec/spec_bench_prompts.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/bench/spec/evaluation_sets.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

// A prompt without text is left out.
struct CategorizedPrompt {
  std::string category, text;
  std::string id = {};   // Empty: the number of the line.
};
using CategorizedPrompts = std::vector<CategorizedPrompt>;

// Reads the first question of each record. The questions from MT-Bench, eight categories with a few questions each, count as one category.
absl::StatusOr<CategorizedPrompts> OfSpecBench(const JsonValue& record) {
  ASSIGN_OR_RETURN(std::string category, record.String("category"));
  ASSIGN_OR_RETURN(const std::vector<std::string> turns, record.Strings("turns"));
  if (turns.empty()) return record.Error("no turns", "at least one");
  std::string id;
  if (record.Has("question_id")) {
    ASSIGN_OR_RETURN(const int64_t number, record.Int("question_id"));
    id = absl::StrCat(number);
  }
  constexpr const char* kOwn[] = {"translation", "summarization", "qa", "math_reasoning", "rag"};
  if (std::find(std::begin(kOwn), std::end(kOwn), category) == std::end(kOwn)) category = "mt_bench";
  return CategorizedPrompts{{category, turns[0], id}};
}

absl::StatusOr<std::string> OfScreen(const std::string& task, const JsonValue& step) {
  ASSIGN_OR_RETURN(const std::string history, step.String("history"));
  ASSIGN_OR_RETURN(const std::string screen, step.String("state"));
  return absl::StrCat("Task: ", task, "\nHistory:", history, "\nScreen:\n", screen,
                      "\nRepeat the element you would choose, then explain why.");
}

// `ui_steps` has all screens of a task, which an agent sees one after the other. `ui` has the screen in the middle: early enough that
// something is left to do, late enough that there is a history.
absl::StatusOr<CategorizedPrompts> OfScreens(const JsonValue& record) {
  ASSIGN_OR_RETURN(const std::string task, record.String("task"));
  ASSIGN_OR_RETURN(const std::string task_id, record.StringOr("task_id", ""));
  ASSIGN_OR_RETURN(const JsonValue steps, record.Array("steps"));
  if (steps.size() == 0) return steps.Error("no steps", "at least one");
  const auto id_of = [&](int64_t step) { return task_id.empty() ? "" : absl::StrCat(task_id, ":", step); };
  ASSIGN_OR_RETURN(std::string middle, OfScreen(task, steps[steps.size() / 2]));
  CategorizedPrompts prompts = {{"ui", std::move(middle), id_of(steps.size() / 2)}};
  for (int64_t i = 0; i < steps.size(); ++i) {
    ASSIGN_OR_RETURN(std::string prompt, OfScreen(task, steps[i]));
    prompts.push_back({"ui_steps", std::move(prompt), id_of(i)});
  }
  return prompts;
}

// Reads the first half of a conversation, which ends with a message of the other person.
absl::StatusOr<CategorizedPrompts> OfConversations(const JsonValue& record) {
  ASSIGN_OR_RETURN(const std::vector<std::string> persona, record.Strings("user2_persona"));
  ASSIGN_OR_RETURN(std::vector<std::string> lines, record.Strings("conversation"));
  if (lines.empty()) return CategorizedPrompts();  // The few prompts of the source tree.
  lines.resize(lines.size() / 2 | 1);
  return CategorizedPrompts{
      {"chat", absl::StrCat("You are User 2. About you:\n- ", absl::StrJoin(persona, "\n- "), "\n\nThe conversation so far:\n",
                            absl::StrJoin(lines, "\n"), "\n\nWrite what User 2 answers.")}};
}

absl::StatusOr<CategorizedPrompts> OfFunctions(const JsonValue& record) {
  ASSIGN_OR_RETURN(const std::string prompt, record.String("prompt"));
  return CategorizedPrompts{{"code", absl::StrCat("Complete this function:\n\n", prompt)}};
}

absl::StatusOr<CategorizedPrompts> OfProblems(const JsonValue& record) {
  ASSIGN_OR_RETURN(const std::string question, record.String("question"));
  return CategorizedPrompts{{"gsm8k", question}};
}

struct PromptSet {
  const char* file;
  absl::StatusOr<CategorizedPrompts> (*read)(const JsonValue& record);
};
constexpr PromptSet kSets[] = {{"spec_bench.jsonl", OfSpecBench},
                               {"droidtask_ui.jsonl", OfScreens},
                               {"persona_chat_reply.jsonl", OfConversations},
                               {"humaneval.jsonl", OfFunctions},
                               {"gsm8k_test.jsonl", OfProblems}};

void Add(CategorizedPrompt prompt, int most, std::vector<PromptCategory>& all) {
  auto found =
      std::find_if(all.begin(), all.end(), [&](const PromptCategory& category) { return category.name == prompt.category; });
  if (found == all.end()) found = all.insert(all.end(), {prompt.category, {}});
  if (static_cast<int>(found->prompts.size()) >= most) return;
  found->prompts.push_back(std::move(prompt.text));
  found->ids.push_back(std::move(prompt.id));
}

std::string NamesOf(const std::vector<PromptCategory>& all) {
  return absl::StrJoin(all, ", ", [](std::string* out, const PromptCategory& category) { absl::StrAppend(out, category.name); });
}

}  // namespace

absl::StatusOr<std::vector<PromptCategory>> ReadPromptSets(const std::string& folder, int most) {
  std::vector<PromptCategory> all;
  for (const PromptSet& set : kSets) {
    ASSIGN_OR_RETURN(const EvaluationFile file, ReadEvaluationFile(folder, set.file));
    int number = 0;
    for (const absl::string_view line : absl::StrSplit(file.text, '\n')) {
      ++number;
      if (absl::StripAsciiWhitespace(line).empty()) continue;
      ASSIGN_OR_RETURN(const JsonValue record, JsonValue::Parse(line, absl::StrCat(file.source, ", line ", number)));
      ASSIGN_OR_RETURN(CategorizedPrompts prompts, set.read(record));
      for (CategorizedPrompt& prompt : prompts) {
        if (prompt.id.empty()) prompt.id = absl::StrCat(number);
        Add(std::move(prompt), most, all);
      }
    }
  }
  return all;
}

absl::StatusOr<std::vector<PromptCategory>> ChooseCategories(std::vector<PromptCategory> all, const std::string& list) {
  if (list == "all") return all;
  std::vector<PromptCategory> chosen;
  for (const absl::string_view name : absl::StrSplit(list, ',')) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const PromptCategory& category) { return category.name == name; });
    if (found == all.end()) {
      return WrongUsage("categories", name, absl::StrCat("some of ", NamesOf(all), ", or all"));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace tessera
