// What each way to quantize a model's layers costs: bits per weight, the error of weights, and what changes in the logits over a text.
//
//   ASSIGN_OR_RETURN(const std::vector<WeightRecipe> recipes, RecipesOfTable("int4-tile;int4-common"));      // or "all"
//   return ShowSchemeTable(options, recipes, /*importance=*/nullptr, text);                                  // --table
//
// Each is computed on the path of a phone NPU's arithmetic and compared with the same path and FP16 weights (recipe fp16), so arithmetic is
// no part of the differences; block formats (Q4_0, T2) are products of the CPU, with rows of 8 bits. Bits and errors are those of the
// layers' matrices; head and embedding are what they are in the file. With statistics of activations (model/files/importance.h) a recipe
// whose scales they help to search has a second row, "int4-tile with statistics". Errors are those of engines. Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/files/importance.h"
#include "tessera/model/files/weight_recipe.h"
#include "tessera/runtime/engine/options.h"

namespace tessera {

// Recipes separated by semicolons; "all": those of docs/tiles.md. InvalidArgument (found, expected) for one that is none, or an empty list.
absl::StatusOr<std::vector<WeightRecipe>> RecipesOfTable(absl::string_view list);

// importance: may be null; borrowed. WrongUsage (statistics) for one with which no row would be another. REQUIRES: CheckWindowFlags is OK.
// options: path, recipe, importance and device are not looked at.
absl::Status ShowSchemeTable(const EngineOptions& options, absl::Span<const WeightRecipe> recipes, const Importance* importance,
                             const std::string& text);

}  // namespace tessera
