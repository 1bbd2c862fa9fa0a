// Prompts of tessera_bench as the model is given them: dialogues, as tokens.
//
//   ASSIGN_OR_RETURN(const std::vector<TokenizedCategory> dialogues,
//                    DialoguesOf(*engine, categories, /*most=*/900, "8 of them exceed --context"));
//
// Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/bench/spec/spec_bench_prompts.h"
#include "tessera/base/token.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct TokenizedCategory {
  std::string name;
  std::vector<std::vector<TokenId>> prompts = {};
  int left_out = 0;                   // Prompts that there is no room for.
};

// Each category as a category, by the flags of dialogues. Prompts of more than `most` tokens are left out, and so is a category without any
// other, with a line on standard error that ends with `why`. Errors: those of the chat template.
absl::StatusOr<std::vector<TokenizedCategory>> DialoguesOf(const Engine& engine, const std::vector<PromptCategory>& categories, int most,
                                                    absl::string_view why);

}  // namespace tessera
