// Writes a model of random weights, alone or around a small model, for timing and for tests of large files.
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/models/random_model.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/model_names.h"
#include "tessera/apps/cli/flags/seed_flag.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/lab/models/around_model.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/file.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/progress.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/model_file.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_random_model",
          .summary = "Writes a llama model of random weights: its text means nothing, but it takes the time and the memory of a "
                     "real model of its shape. With --around it has the logits and the tokenizer of a small llama model: its text "
                     "is real, and random weights add nothing to it. The same seed gives the same file on every machine. An old "
                     "file is replaced.",
          .examples = {"tessera_random_model --shape 1b --out random-1b.gguf", "tessera_random_model --shape 4b --dry_run",
                       "tessera_random_model --shape tiny --format Q4_K --head_format Q6_K --seed 7 --out tiny.gguf",
                       "tessera_random_model --around small-q4_0.gguf --shape 4b --out large.gguf"},
          .groups = {{"Model", {"shape", "around", "format", "head_format", "seed", "threads"}}, {"Output", {"out", "dry_run", "json"}}}};
}

absl::StatusOr<RandomShape> ShapeOfFlag() {
  absl::StatusOr<RandomShape> shape = RandomShapeByName(FLAGS_shape);
  RETURN_IF_ERROR(ForField("shape", shape.status()));
  return shape;
}

absl::StatusOr<RandomModel::Options> OptionsOfFlags() {
  RandomModel::Options options;
  ASSIGN_OR_RETURN(options.shape, ShapeOfFlag());
  if (!FLAGS_format.empty()) {
    ASSIGN_OR_RETURN(options.format, BlockFormatOfFlag("format", FLAGS_format));
  }
  options.head_format = options.format;
  if (!FLAGS_head_format.empty()) {
    ASSIGN_OR_RETURN(options.head_format, BlockFormatOfFlag("head_format", FLAGS_head_format));
  }
  ASSIGN_OR_RETURN(options.seed, SeedOfFlag());
  return options;
}

// Model: RandomModel or AroundModel.
template <typename Model>
absl::Status Write(const Model& model, int threads) {
  ThreadPool pool(threads);
  std::unique_ptr<Progress> shown;  // In MiB.
  return model.Write(FLAGS_out, pool, [&shown](int64_t done, int64_t total) {
    if (shown == nullptr) shown = std::make_unique<Progress>("writing", total >> 20);
    shown->Update(done >> 20);
  });
}

absl::Status Show(const RandomModel::Options& options, int64_t parameters, int64_t bytes) {
  const std::string out = FLAGS_dry_run ? "" : FLAGS_out;
  const char* format = InfoOf(options.format).name;
  const char* head_format = InfoOf(options.head_format).name;
  if (FLAGS_json) {
    JsonWriter json;
    json.BeginObject().Key("path").String(out).Key("shape").String(options.shape.name).Key("seed").Uint(options.seed);
    json.Key("format").String(format).Key("head_format").String(head_format);
    json.Key("parameters").Int(parameters).Key("bytes").Int(bytes).EndObject();
    return WriteOutput(std::move(json).Take() + "\n");
  }
  Table table({{"what"}, {"value"}});
  table.AddRow({"file", out.empty() ? "none: a dry run" : out});
  table.AddRow({"size", absl::StrFormat("%s (%d bytes)", FormatByteSize(bytes), bytes)});
  const char* head = options.shape.tied_head ? "the embedding table is the head" : "a head of its own";
  table.AddRow({"shape", absl::StrCat(options.shape.name, ", ", head)});
  table.AddRow({"parameters", absl::StrFormat("%.2f million", static_cast<double>(parameters) * 1e-6)});
  table.AddRow({"formats", absl::StrCat(format, ", embedding and head ", head_format)});
  table.AddRow({"seed", absl::StrCat(options.seed)});
  return WriteOutput(table.ToString());
}

absl::Status ShowAround(const AroundModel& model, const RandomShape& shape, uint64_t seed, int64_t bytes) {
  const std::string out = FLAGS_dry_run ? "" : FLAGS_out;
  const ModelConfig& config = model.config();
  const int layers = static_cast<int>(config.layers.size());
  if (FLAGS_json) {
    JsonWriter json;
    json.BeginObject().Key("path").String(out).Key("around").String(FLAGS_around).Key("shape").String(shape.name).Key("seed").Uint(seed);
    json.Key("width").Int(config.width).Key("layers").Int(layers).Key("heads").Int(config.heads).Key("kv_heads").Int(config.kv_heads);
    json.Key("parameters").Int(model.parameters()).Key("bytes").Int(bytes).EndObject();
    return WriteOutput(std::move(json).Take() + "\n");
  }
  Table table({{"what"}, {"value"}});
  table.AddRow({"file", out.empty() ? "none: a dry run" : out});
  table.AddRow({"size", absl::StrFormat("%s (%d bytes)", FormatByteSize(bytes), bytes)});
  table.AddRow({"around", Printable(FLAGS_around)});
  table.AddRow({"shape", absl::StrCat(shape.name, ": width ", config.width, ", ", layers, " layers, ", config.heads, " heads, ",
                                      config.kv_heads, " of keys and values, ", config.feed_forward, " feed-forward rows")});
  table.AddRow({"parameters", absl::StrFormat("%.2f million", static_cast<double>(model.parameters()) * 1e-6)});
  table.AddRow({"seed", absl::StrCat(seed)});
  return WriteOutput(table.ToString());
}

absl::Status CheckOut() {
  if (!FLAGS_dry_run && FLAGS_out.empty()) return WrongUsage("out", "none", "a file to write");
  return FLAGS_out.empty() ? absl::OkStatus() : ForFile("out", CheckWritable(FLAGS_out));
}

absl::StatusOr<std::unique_ptr<ModelFile>> OpenSmall() {
  ASSIGN_OR_RETURN(const std::string path, PathOfModel("around", FLAGS_around));
  absl::StatusOr<std::unique_ptr<ModelFile>> small = ModelFile::Open(path);
  RETURN_IF_ERROR(ForFile("around", small.status()));
  if ((*small)->packed() == nullptr) return small;
  return WrongUsage("around", absl::StrCat(FLAGS_around, ", a packed model"), "a GGUF file");
}

absl::Status RunAround(int threads) {
  for (const char* const flag : {"format", "head_format"}) {
    if (IsGiven(flag)) return WrongUsage(flag, "it with --around", "one of them: matrices keep the formats of that model");
  }
  ASSIGN_OR_RETURN(const RandomShape shape, ShapeOfFlag());
  ASSIGN_OR_RETURN(const uint64_t seed, SeedOfFlag());
  RETURN_IF_ERROR(CheckOut());
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> small, OpenSmall());
  const absl::StatusOr<AroundModel> model = AroundModel::Plan(small->gguf(), shape, seed);
  RETURN_IF_ERROR(ForField("around", model.status()));
  ASSIGN_OR_RETURN(const int64_t bytes, model->FileSize());
  if (!FLAGS_dry_run) RETURN_IF_ERROR(Write(*model, threads));
  return ShowAround(*model, shape, seed, bytes);
}

absl::Status RunRandom(int threads) {
  ASSIGN_OR_RETURN(const RandomModel::Options options, OptionsOfFlags());
  RETURN_IF_ERROR(CheckOut());
  const RandomModel model(options);
  ASSIGN_OR_RETURN(const int64_t bytes, model.FileSize());
  if (!FLAGS_dry_run) RETURN_IF_ERROR(Write(model, threads));
  return Show(options, model.parameters(), bytes);
}

absl::Status Run() {
  EngineOptions engine;
  engine.compute.threads = FLAGS_threads;
  ASSIGN_OR_RETURN(const int threads, ThreadsOf(engine.compute));
  WarnOfThreads(FLAGS_threads, threads);
  return IsGiven("around") ? RunAround(threads) : RunRandom(threads);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
