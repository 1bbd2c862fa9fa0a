// Prompts of tessera_bench as the model receives them: dialogues, as tokens.
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
  int left_out = 0;                   // Prompts with more tokens than there is room for.
};

// Tokenizes each category's prompts, by the flags of dialogues. Leaves out prompts of more than `most` tokens, and a category without other
// prompts. Says so in a line on standard error that ends with `why`. Returns the errors of the chat template.
absl::StatusOr<std::vector<TokenizedCategory>> DialoguesOf(const Engine& engine, const std::vector<PromptCategory>& categories, int most,
                                                    absl::string_view why);

}  // namespace tessera
