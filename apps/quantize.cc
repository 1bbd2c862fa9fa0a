// Writes a GGUF model with its matrices in other forms: smaller, and so faster where memory is the limit, or for a phone's NPU.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/cli/commands.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/text/text_windows.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/compare/scheme_table.h"
#include "tessera/apps/quantize/subcommands.h"
#include "tessera/apps/show/describe_matrices.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/file.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/progress.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/forms_instead.h"
#include "tessera/model/files/importance.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/off_grid.h"
#include "tessera/model/files/pack.h"
#include "tessera/model/files/quantize.h"
#include "tessera/model/files/weight_errors.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_quantize",
          .summary = "Writes a GGUF model with its matrices in other forms: block formats, or tiles for a phone's NPU (--path=npu). Every "
                     "generated token reads all weights: half the bytes take half the time. Matrices that have their form already are "
                     "copied. Where a K format's blocks of 256 do not fill a matrix's rows, the next format with blocks of 32 is taken, "
                     "and the table says so (Q4_K: Q5_0). What GGUF can hold becomes GGUF, unless --out ends in .tsr; all else becomes a "
                     "packed file. The file is read back, and the table says how far its weights are from the model's. An old file is "
                     "replaced, but not the model itself; tessera_perplexity shows what the smaller one has lost.",
          .examples = {"tessera_quantize --head_format=Q4_1 model.gguf smaller.gguf",
                       "tessera_quantize --format=Q4_K --head_format=Q6_K --model=model-f16.gguf --out=model-q4_k.gguf",
                       "tessera_quantize --scheme=int4-tile,ffn_down=int8-tile --statistics=text.gguf model.gguf npu.tsr",
                       "tessera_quantize --scheme=001 --dry_run model-f16.gguf",
                       "tessera_quantize --table=\"int4-tile;int4-common;001\" model.gguf < text"},
          .groups = {{"Model", {"model", "scheme", "format", "head_format", "statistics", "off_grid", "threads"},
                      {"model", "scheme", "format", "head_format", "statistics", "threads"}},
                     {"Comparing schemes", {"table", "prompt", "prompt_file", "window", "max_windows"}, {"table", "prompt_file"}},
                     {"Output", {"out", "dry_run", "json"}}},
          .plain_arguments = {"model", "out"}};
}

// What was written, or would be.
struct Written {
  std::string scheme = {};  // As WeightRecipe::text.
  int64_t bytes = 0;
  int changed = 0;          // Tensors in another form, or with other numbers.
  std::vector<std::string> left_out = {};
  std::vector<FormInstead> instead = {};
  std::vector<WrittenMatrix> matrices = {};

  double BitsPerWeight() const {
    WrittenMatrix all;
    for (const WrittenMatrix& matrix : matrices) {
      all.weights += matrix.weights;
      all.bytes += matrix.bytes;
    }
    return all.BitsPerWeight();
  }
};

// A line of progress for each stage, in MiB.
class Stages {
 public:
  std::function<void(int64_t done, int64_t total)> Stage(const std::string& label) {
    return [this, label](int64_t done, int64_t total) {
      if (shown_ == nullptr || label != label_) {
        shown_.reset();
        shown_ = std::make_unique<Progress>(label, total >> 20);
        label_ = label;
      }
      shown_->Update(done >> 20);
    };
  }

 private:
  std::string label_;
  std::unique_ptr<Progress> shown_;
};

absl::StatusOr<WeightRecipe> SchemeOfFlag(const ModelConfig& config) {
  const absl::StatusOr<WeightRecipe> recipe = WeightRecipe::Parse(FLAGS_scheme);
  RETURN_IF_ERROR(ForField("scheme", recipe.status()));
  RETURN_IF_ERROR(ForField("scheme", recipe->CheckFor(config.tied_head)));
  return recipe;
}

// --format and --head_format are rules of a recipe.
absl::StatusOr<WeightRecipe> RecipeOfFlags(const ModelConfig& config) {
  const bool scheme = !FLAGS_scheme.empty();
  RETURN_IF_ERROR(CheckNotBoth("scheme", scheme, "format", !FLAGS_format.empty()));
  RETURN_IF_ERROR(CheckNotBoth("scheme", scheme, "head_format", !FLAGS_head_format.empty()));
  if (scheme) return SchemeOfFlag(config);
  std::vector<std::string> rules;
  if (!FLAGS_format.empty()) {
    ASSIGN_OR_RETURN(const BlockFormat format, BlockFormatOfFlag("format", FLAGS_format));
    rules.push_back(InfoOf(format).name);
  }
  if (!FLAGS_head_format.empty()) {
    ASSIGN_OR_RETURN(const BlockFormat format, BlockFormatOfFlag("head_format", FLAGS_head_format));
    rules.push_back(absl::StrCat("head=", InfoOf(format).name));
    if (!config.tied_head) rules.push_back(absl::StrCat("embedding=", InfoOf(format).name));
  }
  if (rules.empty()) {
    return WrongUsage("format", "neither this flag nor --head_format, --scheme or --off_grid", "a block format such as Q4_1");
  }
  return WeightRecipe::Parse(absl::StrJoin(rules, ","));
}

absl::Status CheckOut(const std::string& path) {
  if (FLAGS_dry_run && path.empty()) return absl::OkStatus();
  if (path.empty()) return WrongUsage("out", "none", "a file to write");
  return ForFile("out", CheckWritable(path));
}

// Whether the output is a packed file: its name decides, where GGUF could hold the forms, too.
absl::StatusOr<bool> WritesPacked(const GgufFile& file, const WeightRecipe& recipe) {
  ASSIGN_OR_RETURN(const std::string not_in_gguf, QuantizedModel::NotInGguf(file, recipe));
  if (!not_in_gguf.empty() && absl::EndsWith(FLAGS_out, ".gguf")) {
    return WrongUsage("out", FLAGS_out, absl::StrCat("a name that ends in .tsr: GGUF has no ", not_in_gguf));
  }
  return !not_in_gguf.empty() || absl::EndsWith(FLAGS_out, ".tsr");
}

constexpr char kSearchedScheme[] = "a scheme whose scales are searched, such as int4-tile or Q4_K, where a matrix of the layers has scales";

// The matrices whose scales statistics help to search. Statistics that would be passed over are refused: for a layer's matrix with scales
// that are not searched, and where nothing is searched.
absl::StatusOr<std::vector<std::string>> SearchedMatrices(const GgufFile& file, const ModelConfig& config, const WeightRecipe& recipe,
                                                          absl::Span<const WrittenMatrix> matrices) {
  std::vector<std::string> searched;
  for (const WrittenMatrix& matrix : matrices) {
    const GgufTensor& tensor = *file.FindTensor(matrix.tensor);
    const BlockFormat format = tensor.format->format;
    const ScaleSearch search = ScaleSearchOf(recipe.FormOf(matrix.tensor, config.tied_head, format, tensor.shape[0]), format);
    if (search == ScaleSearch::kSearched) searched.push_back(matrix.tensor);
    if (search == ScaleSearch::kNotSearched && absl::StartsWith(matrix.tensor, "blk.")) {
      return WrongUsage("statistics", absl::StrCat("with ", matrix.form), kSearchedScheme);
    }
  }
  if (searched.empty()) return WrongUsage("statistics", absl::StrCat("with ", recipe.name()), kSearchedScheme);
  return searched;
}

// None without the flag.
absl::StatusOr<std::optional<Importance>> StatisticsOfFlag(const GgufFile& file, const ModelConfig& config) {
  if (FLAGS_statistics.empty()) return std::nullopt;
  absl::StatusOr<Importance> importance = Importance::Read(FLAGS_statistics);
  RETURN_IF_ERROR(ForFile("statistics", importance.status()));
  RETURN_IF_ERROR(importance->CheckFits(file, config));
  return std::optional<Importance>(*std::move(importance));
}

// matrices: those that will be written.
absl::StatusOr<std::optional<Importance>> ReadStatistics(const GgufFile& file, const ModelConfig& config, const WeightRecipe& recipe,
                                                         absl::Span<const WrittenMatrix> matrices) {
  if (FLAGS_statistics.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(const std::vector<std::string> searched, SearchedMatrices(file, config, recipe, matrices));
  ASSIGN_OR_RETURN(std::optional<Importance> importance, StatisticsOfFlag(file, config));
  for (const std::string& tensor : searched) {
    if (!importance->Of(tensor).empty()) return importance;
  }
  return WrongUsage("statistics", absl::StrCat(FLAGS_statistics, " without those of ", searched[0]),
                    "those of a matrix whose scales are searched");
}

// The file is in place by then.
absl::Status InReadingBack(const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(FLAGS_out, ": written, but reading it back: ", status.message()));
}

absl::StatusOr<Written> WriteGguf(const GgufFile& file, const ModelConfig& config, const WeightRecipe& recipe, int threads) {
  ASSIGN_OR_RETURN(const QuantizedModel model, QuantizedModel::Plan(file, recipe));
  Written written = {.scheme = recipe.text(), .changed = model.changed(), .left_out = model.left_out()};
  ASSIGN_OR_RETURN(written.bytes, model.FileSize());
  written.matrices = MatricesOf(config, [&](absl::string_view tensor) { return model.FormatOf(tensor); });
  ASSIGN_OR_RETURN(const std::optional<Importance> importance, ReadStatistics(file, config, recipe, written.matrices));
  if (FLAGS_dry_run) return written;
  ThreadPool pool(threads);
  Stages stages;
  RETURN_IF_ERROR(model.Write(FLAGS_out, pool, stages.Stage("quantizing"), importance.has_value() ? &*importance : nullptr));
  const absl::StatusOr<std::unique_ptr<GgufFile>> copy = GgufFile::Open(FLAGS_out);
  RETURN_IF_ERROR(InReadingBack(copy.status()));
  const absl::Status measured = MeasureErrors(file, **copy, pool, stages.Stage("comparing"), absl::MakeSpan(written.matrices));
  RETURN_IF_ERROR(InReadingBack(measured));
  return written;
}

absl::StatusOr<Written> WritePacked(const GgufFile& file, const ModelConfig& config, const WeightRecipe& recipe, int threads) {
  ASSIGN_OR_RETURN(const PackPlan plan, PackPlan::Make(file, recipe));
  Written written = {.scheme = recipe.text(), .bytes = plan.file_bytes};
  written.matrices = MatricesOf(config, plan.layout);
  for (const WrittenMatrix& matrix : written.matrices) {
    written.changed += matrix.form != file.FindTensor(matrix.tensor)->format->name;
  }
  for (const GgufUnreadTensor& tensor : file.unread_tensors()) written.left_out.emplace_back(tensor.name);
  ASSIGN_OR_RETURN(const std::optional<Importance> importance, ReadStatistics(file, config, recipe, written.matrices));
  if (FLAGS_dry_run) return written;
  ThreadPool pool(threads);
  Stages stages;
  const auto packing = stages.Stage("quantizing"), verifying = stages.Stage("verifying");
  const absl::Status packed =
      PackModel(file, plan, FLAGS_out, pool,
                [&](PackStage stage, int64_t done, int64_t total) { (stage == PackStage::kPacking ? packing : verifying)(done, total); },
                {.importance = importance.has_value() ? &*importance : nullptr})
          .status();
  RETURN_IF_ERROR(packed);
  const absl::StatusOr<std::unique_ptr<TsrReader>> reader = TsrReader::Open(FLAGS_out);
  RETURN_IF_ERROR(InReadingBack(reader.status()));
  const absl::Status measured =
      MeasureErrors(file, **reader, plan.layout, pool, stages.Stage("comparing"), absl::MakeSpan(written.matrices));
  RETURN_IF_ERROR(InReadingBack(measured));
  return written;
}

// The weights are not to be near those of the model, so no error is measured.
absl::StatusOr<Written> WriteOffGrid(const GgufFile& file, const ModelConfig& config, int threads) {
  for (const auto& [flag, value] : {std::pair("scheme", &FLAGS_scheme), std::pair("format", &FLAGS_format),
                                    std::pair("head_format", &FLAGS_head_format), std::pair("statistics", &FLAGS_statistics)}) {
    RETURN_IF_ERROR(CheckNotBoth("off_grid", true, flag, !value->empty()));
  }
  uint64_t seed = 0;
  if (!absl::SimpleAtoi(FLAGS_off_grid, &seed)) return WrongUsage("off_grid", Quoted(FLAGS_off_grid), "a whole number, 0 and up");
  RETURN_IF_ERROR(CheckOut(FLAGS_out));
  if (absl::EndsWith(FLAGS_out, ".tsr")) {
    return WrongUsage("out", FLAGS_out, "a name that does not end in .tsr: a model off the grid is a GGUF file, to be quantized");
  }
  ASSIGN_OR_RETURN(const OffGridModel model, OffGridModel::Plan(file, seed));
  Written written = {.scheme = absl::StrCat("off the grid, seed ", seed), .changed = model.changed(), .left_out = model.left_out()};
  ASSIGN_OR_RETURN(written.bytes, model.FileSize());
  written.matrices = MatricesOf(config, [&](absl::string_view tensor) { return model.FormatOf(tensor); });
  if (FLAGS_dry_run) return written;
  ThreadPool pool(threads);
  Stages stages;
  RETURN_IF_ERROR(model.Write(FLAGS_out, pool, stages.Stage("writing")));
  return written;
}

absl::StatusOr<Written> Write(const GgufFile& file, int threads) {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  if (!FLAGS_off_grid.empty()) return WriteOffGrid(file, config, threads);
  ASSIGN_OR_RETURN(const WeightRecipe recipe, RecipeOfFlags(config));
  RETURN_IF_ERROR(CheckOut(FLAGS_out));
  ASSIGN_OR_RETURN(const bool packed, WritesPacked(file, recipe));
  absl::StatusOr<Written> written = packed ? WritePacked(file, config, recipe, threads) : WriteGguf(file, config, recipe, threads);
  if (written.ok()) written->instead = FormsInstead(file, config.tied_head, recipe);
  return written;
}

absl::Status Show(const Written& written, int64_t bytes_before) {
  const std::string out = FLAGS_dry_run ? "" : FLAGS_out;
  if (FLAGS_json) {
    JsonWriter json;
    json.BeginObject().Key("path").String(out).Key("scheme").String(written.scheme);
    json.Key("bytes").Int(written.bytes).Key("model_bytes").Int(bytes_before);
    json.Key("changed_tensors").Int(written.changed).Key("left_out").BeginArray();
    for (const std::string& tensor : written.left_out) json.String(tensor);
    json.EndArray().Key("bits_per_weight").Double(written.BitsPerWeight(), 5);
    WriteFormsInstead(written.instead, json.Key("instead"));
    WriteMatrices(written.matrices, json.Key("tensors"));
    json.EndObject();
    return WriteOutput(std::move(json).Take() + "\n");
  }
  Table table({{"what"}, {"value"}});
  table.AddRow({"file", out.empty() ? "none: a dry run" : out});
  table.AddRow({"scheme", written.scheme});
  table.AddRow({"size", absl::StrFormat("%s (%d bytes)", FormatByteSize(written.bytes), written.bytes)});
  table.AddRow({"the model's size", FormatByteSize(bytes_before)});
  table.AddRow({"bits per weight", absl::StrFormat("%.3f", written.BitsPerWeight())});
  table.AddRow({"tensors in another form", absl::StrCat(written.changed)});
  for (const std::string& tensor : written.left_out) {
    table.AddRow({"left out", Printable(absl::StrCat(tensor, ": no text depends on it, and its format is not read"))});
  }
  const std::string instead = written.instead.empty() ? "" : absl::StrCat("\n", FormsInsteadText(written.instead), ".\n");
  return WriteOutput(absl::StrCat(table.ToString(), instead, "\n", MatrixTable(written.matrices)));
}

// Flags that say how to write a file, or how to compare, leave the other nothing to do.
absl::Status CheckForTable() {
  const bool table = !FLAGS_table.empty();
  for (const char* const flag : {"scheme", "format", "head_format", "off_grid", "out", "dry_run"}) {
    if (table && IsGiven(flag)) return WrongUsage(flag, "it with --table", "neither, or one of them: --table writes no file");
  }
  for (const char* const flag : {"prompt", "prompt_file", "window", "max_windows"}) {
    if (!table && IsGiven(flag)) return WrongUsage(flag, "it without --table", "it with --table, which reads a text");
  }
  return absl::OkStatus();
}

absl::Status ShowTable(const EngineOptions& options, const GgufFile& file) {
  RETURN_IF_ERROR(CheckWindowFlags());
  const absl::StatusOr<std::vector<WeightRecipe>> recipes = RecipesOfTable(FLAGS_table);
  RETURN_IF_ERROR(ForField("table", recipes.status()));
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file));
  ASSIGN_OR_RETURN(const std::optional<Importance> importance, StatisticsOfFlag(file, config));
  ASSIGN_OR_RETURN(const std::string text, ReadPrompt());
  return ShowSchemeTable(options, *recipes, importance.has_value() ? &*importance : nullptr, text);
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckForTable());
  EngineOptions engine;
  engine.compute.threads = FLAGS_threads;
  ASSIGN_OR_RETURN(const int threads, ThreadsOf(engine.compute));
  WarnOfThreads(FLAGS_threads, threads);
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> model, OpenGgufModel());
  if (!FLAGS_table.empty()) {
    engine.cache.context = FLAGS_window;
    ASSIGN_OR_RETURN(engine.model_path, ModelPath());
    return ShowTable(engine, model->gguf());
  }
  ASSIGN_OR_RETURN(const Written written, Write(model->gguf(), threads));
  return Show(written, model->gguf().size());
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  return tessera::CommandsMain(argc, argv, tessera::Info(), {tessera::CollectStatistics(), tessera::WriteStatesOfTexts()}, tessera::Run);
}
