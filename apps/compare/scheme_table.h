// Compares ways to quantize a model's layers: bits per weight, the error of weights, and the change of the logits over a text.
//
//   ASSIGN_OR_RETURN(const std::vector<WeightRecipe> recipes, RecipesOfTable("int4-tile;int4-common"));      // or "all"
//   return ShowSchemeTable(options, recipes, /*importance=*/nullptr, text);                                  // --table
//
// Each recipe runs on the path of a phone NPU's arithmetic. The yardstick is the same path with FP16 weights (recipe fp16), so arithmetic
// is no part of the differences. Block formats (Q4_0, T2) are products of the CPU, with rows of 8 bits. Bits and errors concern the layers'
// matrices. Head and embedding stay in the file's format. Statistics of activations (model/files/importance.h) help to search the scales of
// some recipes. Such a recipe then has a second row, "int4-tile with statistics". Errors: the errors of engines. Threads: one at a time.
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

// Parses recipes separated by semicolons; "all": the recipes of docs/tiles.md. InvalidArgument (found, expected) for a text that is no
// recipe, and for an empty list.
absl::StatusOr<std::vector<WeightRecipe>> RecipesOfTable(absl::string_view list);

// Writes the table to standard output. importance: may be null; borrowed. WrongUsage (statistics) for statistics that would change no row.
// REQUIRES: CheckWindowFlags is OK. The path, recipe, importance and device of `options` are ignored.
absl::Status ShowSchemeTable(const EngineOptions& options, absl::Span<const WeightRecipe> recipes, const Importance* importance,
                             const std::string& text);

}  // namespace tessera
