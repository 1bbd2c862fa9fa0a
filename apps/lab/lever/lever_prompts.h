// The prompts of tessera_lever: four public evaluation sets, in their own JSONL forms.
//
//   ASSIGN_OR_RETURN(const std::vector<PromptCategory> sets, ReadLeverPrompts("tests/data/speculation", "gsm8k,mbpp", /*most=*/16));
//   sets[0].name;        // "gsm8k"
//   sets[0].prompts;     // at most 16 texts, those that come first in the file
//
// The folder holds gsm8k_test.jsonl, humaneval.jsonl, mbpp.jsonl and mt_bench.jsonl, or those that are asked for. Errors name the file, the
// line and the field. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/bench/spec/spec_bench_prompts.h"

namespace tessera {

// categories: names separated by commas, in whose order the sets come, or "all". WrongUsage (categories, found, expected) for another name,
// or one that is there twice.
absl::StatusOr<std::vector<PromptCategory>> ReadLeverPrompts(const std::string& folder, const std::string& categories, int most);

}  // namespace tessera
