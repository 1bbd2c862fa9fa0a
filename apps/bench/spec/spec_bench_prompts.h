// The prompts of tessera_bench spec: read from public evaluation sets, in each set's own JSONL form, and put into words.
//
//   ASSIGN_OR_RETURN(const std::vector<PromptCategory> all, ReadPromptSets("evaluation_sets", /*most=*/48));
//   all[0].name;        // "summarization", "code", "ui", ...
//   all[0].prompts;     // at most 48 texts, those that come first in the file
//   all[0].ids;         // of their records
//
// The folder (evaluation_sets.h) holds spec_bench.jsonl, droidtask_ui.jsonl, persona_chat_reply.jsonl, humaneval.jsonl and
// gsm8k_test.jsonl; tests/data/speculation/README.md names each file's origin. Errors name the file, the line and the field. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera {

struct PromptCategory {
  std::string name;
  std::vector<std::string> prompts;
  // For each prompt the name of the prompt's record in the file, with the step's number for a screen; else the line number.
  std::vector<std::string> ids = {};
};

// Reads at most `most` prompts of each category, in the order of the files and of each file's lines.
absl::StatusOr<std::vector<PromptCategory>> ReadPromptSets(const std::string& folder, int most);

// Returns the categories of `list` (names separated by commas), or all categories for "all". InvalidArgument (--categories, found,
// expected) for another name.
absl::StatusOr<std::vector<PromptCategory>> ChooseCategories(std::vector<PromptCategory> all, const std::string& list);

}  // namespace tessera
