#include "tessera/apps/compare/scheme_table.h"

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/text/text_windows.h"
#include "tessera/apps/compare/comparison_table.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/weight_errors.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {
namespace {

constexpr char kYardstick[] = "fp16";
// Tile groups next to the same codes in common groups, other codes, fewer scales, few bits, whole recipes.
constexpr char kAll[] =
    "int8-tile;int4-tile;int4-common;nf4-tile;nf4-common;fp4-tile;iq4_nl-tile;iq4_nl-common;int8-channel;int4-channel;int4-tensor;"
    "T3;T2;001;ggml-hexagon;qnn;qnn-a8";

// A line of the table: a recipe, perhaps with statistics.
struct Row {
  const WeightRecipe& recipe;
  const Importance* importance;   // Null: none.
};

absl::StatusOr<std::unique_ptr<Engine>> Load(EngineOptions options, const std::string& recipe, const Importance* importance) {
  options.compute.path = ComputePath::kNpu;
  options.compute.recipe = recipe;
  options.compute.importance = importance;
  return Engine::Load(options);
}

struct LayerWeights { double bits = 0, error = 0; };

absl::StatusOr<LayerWeights> WeightsOf(Engine& engine) {
  const LoadedModel& model = engine.model();
  std::vector<WrittenMatrix> matrices = MatricesOf(engine.config(), model.layout());
  std::erase_if(matrices, [](const WrittenMatrix& matrix) { return !absl::StartsWith(matrix.tensor, "blk."); });
  RETURN_IF_ERROR(
      MeasureErrors(model.gguf(), model.weights(), model.layout(), CoreOf(engine).pool(), nullptr, absl::MakeSpan(matrices)));
  WrittenMatrix all;
  for (const WrittenMatrix& matrix : matrices) {
    all.weights += matrix.weights;
    all.bytes += matrix.bytes;
    all.squares += matrix.squares;
    all.squared_errors += matrix.squared_errors;
  }
  return LayerWeights{all.BitsPerWeight(), all.RelativeError()};
}

// Returns whether statistics reach each of the layers' matrices that has scales, and at least one matrix.
bool IsSearched(const Engine& engine, const WeightRecipe& recipe) {
  const LoadedModel& model = engine.model();
  bool searched = false;
  for (const WrittenMatrix& matrix : MatricesOf(engine.config(), model.layout())) {
    if (!absl::StartsWith(matrix.tensor, "blk.")) continue;
    const GgufTensor& tensor = *model.gguf().FindTensor(matrix.tensor);
    const BlockFormat format = tensor.format->format;
    const WeightForm form = recipe.FormOf(matrix.tensor, engine.config().tied_head, format, tensor.shape[0]);
    const ScaleSearch search = ScaleSearchOf(form, format);
    if (search == ScaleSearch::kNotSearched) return false;
    searched |= search == ScaleSearch::kSearched;
  }
  return searched;
}

absl::StatusOr<std::vector<Row>> RowsOf(const Engine& engine, absl::Span<const WeightRecipe> recipes, const Importance* importance) {
  std::vector<Row> rows;
  for (const WeightRecipe& recipe : recipes) {
    rows.push_back({recipe, nullptr});
    if (importance != nullptr && IsSearched(engine, recipe)) rows.push_back({recipe, importance});
  }
  if (importance == nullptr || rows.size() > recipes.size()) return rows;
  return WrongUsage("statistics", "with a table of schemes whose scales are not searched", "one with another, such as int4-tile");
}

absl::StatusOr<ComparedWay> Compare(Session& yardstick, const EngineOptions& options, const Row& row, const TextWindows& windows,
                                    const std::function<void(int64_t tokens)>& on_tokens) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Load(options, row.recipe.text(), row.importance));
  ASSIGN_OR_RETURN(const LayerWeights weights, WeightsOf(*engine));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine->NewSession());
  const std::string name = absl::StrCat(row.recipe.name(), row.importance == nullptr ? "" : " with statistics");
  ComparedWay way = {.name = name, .yardstick = kYardstick, .bits_per_weight = weights.bits, .weight_error = weights.error};
  RETURN_IF_ERROR(CompareLogits(yardstick, *session, windows, way.comparison, on_tokens));
  return way;
}

absl::StatusOr<std::string> TableOf(const EngineOptions& options, absl::Span<const WeightRecipe> recipes, const Importance* importance,
                                    const std::string& text) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> yardstick, Load(options, kYardstick, /*importance=*/nullptr));
  ASSIGN_OR_RETURN(const std::vector<Row> rows, RowsOf(*yardstick, recipes, importance));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, yardstick->NewSession());
  ASSIGN_OR_RETURN(const TextWindows windows, WindowsOf(yardstick->tokenizer(), text));
  int64_t done = 0;
  Progress progress("tokens", static_cast<int64_t>(rows.size() * windows.size()) * (FLAGS_window - 1));
  ComparisonTable table("scheme");
  for (const Row& row : rows) {
    const auto on_tokens = [&](int64_t tokens) { progress.Update(done += tokens); };
    ASSIGN_OR_RETURN(ComparedWay way, Compare(*session, options, row, windows, on_tokens));
    table.Add(std::move(way));
  }
  return FLAGS_json ? table.ToJson() : table.ToString();
}

}  // namespace

absl::StatusOr<std::vector<WeightRecipe>> RecipesOfTable(absl::string_view list) {
  std::vector<WeightRecipe> recipes;
  for (const absl::string_view text : absl::StrSplit(list == "all" ? kAll : list, ';')) {
    ASSIGN_OR_RETURN(WeightRecipe recipe, WeightRecipe::Parse(text));
    recipes.push_back(std::move(recipe));
  }
  return recipes;
}

absl::Status ShowSchemeTable(const EngineOptions& options, absl::Span<const WeightRecipe> recipes, const Importance* importance,
                             const std::string& text) {
  ASSIGN_OR_RETURN(const std::string shown, TableOf(options, recipes, importance, text));   // The progress line is gone by then.
  return WriteOutput(shown);
}

}  // namespace tessera
