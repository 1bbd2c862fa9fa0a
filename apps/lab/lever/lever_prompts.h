// The prompts of tessera_lever: four public evaluation sets, in each set's own JSONL form.
//
//   ASSIGN_OR_RETURN(const std::vector<PromptCategory> sets, ReadLeverPrompts("tests/data/speculation", "gsm8k,mbpp", /*most=*/16));
//   sets[0].name;        // "gsm8k"
//   sets[0].prompts;     // at most 16 texts, those that come first in the file
//
// The folder holds gsm8k_test.jsonl, humaneval.jsonl, mbpp.jsonl and mt_bench.jsonl, or the files of the chosen sets. Errors name the file,
// the line and the field. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/bench/spec/spec_bench_prompts.h"

namespace tessera {

// Reads at most `most` prompts of each set. categories: names separated by commas, or "all". Sets are returned in the order of the names.
// WrongUsage (categories, found, expected) for another name, or for a name given twice.
absl::StatusOr<std::vector<PromptCategory>> ReadLeverPrompts(const std::string& folder, const std::string& categories, int most);

}  // namespace tessera
