// Which matrices of a model take another block format than a recipe says, since their rows are no whole blocks of that one.
//
//   const std::vector<FormInstead> instead = FormsInstead(*file, config.tied_head, recipe);
//   Say(FormsInsteadText(instead));     // "Q5_0 instead of Q4_K in 2 matrices (attn_q, ffn_up), whose rows of 576 weights are no ..."
//
// FormatForRows (weight_recipe.h) says which. Thread-safe (pure functions).
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

// In the order of the file.
std::vector<FormInstead> FormsInstead(const GgufFile& file, bool tied_head, const WeightRecipe& recipe);

// One sentence for each pair of formats, without a full stop, with "; " between; empty if there is none.
std::string FormsInsteadText(absl::Span<const FormInstead> instead);

}  // namespace tessera
