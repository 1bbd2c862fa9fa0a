// Lists the matrices of a model that take another block format than the recipe's, since the rows are no whole blocks of the recipe's
// format.
//
//   const std::vector<FormInstead> instead = FormsInstead(*file, config.tied_head, recipe);
//   Say(FormsInsteadText(instead));     // "Q5_0 instead of Q4_K in 2 matrices (attn_q, ffn_up), whose rows of 576 weights are no ..."
//
// FormatForRows (weight_recipe.h) chooses the other format. Thread-safe (pure functions).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/weight_recipe.h"

namespace tessera {

struct FormInstead {
  std::string tensor = {};     // "blk.0.ffn_up.weight"
  BlockFormat wanted = BlockFormat::kF32, taken = BlockFormat::kF32;
  int64_t row = 0;             // Weights.
};

// Returns the matrices in the order of the file.
std::vector<FormInstead> FormsInstead(const GgufFile& file, bool tied_head, const WeightRecipe& recipe);

// Returns one sentence per pair of formats, without a full stop, separated by "; "; empty if there is none.
std::string FormsInsteadText(absl::Span<const FormInstead> instead);

}  // namespace tessera
