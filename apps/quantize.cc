// Writes a GGUF model in other block formats: smaller, and so faster where memory is the limit.
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/engine_flags.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/file.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/progress.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/quantize.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {.name = "tessera_quantize",
          .summary = "Writes a GGUF model with its embedding table and head, its layers or both in other block formats. Every generated "
                     "token reads all weights: half the bytes take half the time. Tensors that have their format already are copied. "
                     "An old file is replaced, but not the model itself; tessera_perplexity shows what the smaller one has lost.",
          .examples = {"tessera_quantize --head_format=Q4_1 model.gguf smaller.gguf",
                       "tessera_quantize --format=Q4_K --head_format=Q6_K --model=model-f16.gguf --out=model-q4_k.gguf",
                       "tessera_quantize --format=Q8_0 --dry_run model-f16.gguf"},
          .groups = {{"Model", {"model", "format", "head_format", "threads"}}, {"Output", {"out", "dry_run", "json"}}},
          .plain_arguments = {"model", "out"}};
}

absl::StatusOr<QuantizeFormats> FormatsOfFlags() {
  QuantizeFormats formats;
  if (!FLAGS_format.empty()) {
    ASSIGN_OR_RETURN(formats.layers, BlockFormatOfFlag("format", FLAGS_format));
  }
  if (!FLAGS_head_format.empty()) {
    ASSIGN_OR_RETURN(formats.head, BlockFormatOfFlag("head_format", FLAGS_head_format));
  }
  return formats;
}

absl::Status CheckOut(const std::string& path) {
  if (path.empty()) return WrongUsage("out", "none", "a file to write");
  return ForFile("out", CheckWritable(path));
}

absl::Status Write(const QuantizedModel& model, int threads) {
  ThreadPool pool(threads);
  std::unique_ptr<Progress> shown;  // In MiB.
  return model.Write(FLAGS_out, pool, [&shown](int64_t done, int64_t total) {
    if (shown == nullptr) shown = std::make_unique<Progress>("quantizing", total >> 20);
    shown->Update(done >> 20);
  });
}

absl::Status Show(const QuantizedModel& model, int64_t bytes, int64_t bytes_before) {
  const std::string out = FLAGS_dry_run ? "" : FLAGS_out;
  if (FLAGS_json) {
    JsonWriter json;
    json.BeginObject().Key("path").String(out).Key("bytes").Int(bytes).Key("model_bytes").Int(bytes_before);
    json.Key("changed_tensors").Int(model.changed()).Key("left_out").BeginArray();
    for (const std::string& tensor : model.left_out()) json.String(tensor);
    json.EndArray().EndObject();
    return WriteOutput(std::move(json).Take() + "\n");
  }
  Table table({{"what"}, {"value"}});
  table.AddRow({"file", out.empty() ? "none: a dry run" : out});
  table.AddRow({"size", absl::StrFormat("%s (%d bytes)", FormatByteSize(bytes), bytes)});
  table.AddRow({"the model's size", FormatByteSize(bytes_before)});
  table.AddRow({"tensors in another format", absl::StrCat(model.changed())});
  for (const std::string& tensor : model.left_out()) {
    table.AddRow({"left out", Printable(absl::StrCat(tensor, ": no text depends on it, and its format is not read"))});
  }
  return WriteOutput(table.ToString());
}

absl::Status Run() {
  ASSIGN_OR_RETURN(const QuantizeFormats formats, FormatsOfFlags());
  EngineOptions engine;
  engine.compute.threads = FLAGS_threads;
  ASSIGN_OR_RETURN(const int threads, ThreadsOf(engine.compute));
  WarnOfThreads(FLAGS_threads, threads);
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> model, OpenGgufModel());
  if (!formats.layers && !formats.head) {
    return WrongUsage("format", "neither this flag nor --head_format", "a block format such as Q4_1");
  }
  if (!FLAGS_dry_run || !FLAGS_out.empty()) RETURN_IF_ERROR(CheckOut(FLAGS_out));
  ASSIGN_OR_RETURN(const QuantizedModel quantized, QuantizedModel::Plan(model->gguf(), formats));
  ASSIGN_OR_RETURN(const int64_t bytes, quantized.FileSize());
  if (!FLAGS_dry_run) RETURN_IF_ERROR(Write(quantized, threads));
  return Show(quantized, bytes, model->gguf().size());
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
