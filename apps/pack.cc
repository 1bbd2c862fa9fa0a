// Packs a GGUF model into a .tsr file, which starts faster and can be streamed.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/show/describe_file.h"
#include "tessera/apps/show/describe_matrices.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/file.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/peak_memory.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/forms_instead.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/pack.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {
      .name = "tessera_pack",
      .summary =
          "Packs a GGUF model into a .tsr file, whose weights lie as the kernels read them: the same answers, a faster start. "
          "The file is for every CPU. It is verified; an old .tsr file is replaced once the new one is whole. With --recipe its "
          "matrices take other forms; a file with tiles is for --path=npu.",
      .examples = {"tessera_pack model.gguf model.tsr", "tessera_pack --model model-00001-of-00003.gguf --out model.tsr",
                   "tessera_pack --dry_run model.gguf", "tessera_pack --recipe=001 model.gguf npu.tsr"},
      .groups = {{"Model", {"model", "recipe", "threads"}}, {"Output", {"out", "dry_run", "json"}}},
      .plain_arguments = {"model", "out"}};
}

// Refuses to replace a file that the user may have named in the wrong order.
absl::Status CheckOut(const std::string& path) {
  if (path.empty()) return WrongUsage("out", "none", "a file to write");
  RETURN_IF_ERROR(ForFile("out", CheckWritable(path)));
  const absl::StatusOr<bool> packed = IsTsrFile(path);
  if (absl::IsNotFound(packed.status())) return absl::OkStatus();
  RETURN_IF_ERROR(ForFile("out", packed.status()));
  if (*packed) return absl::OkStatus();
  return ForField("out", absl::InvalidArgumentError(absl::StrCat(path, ": found a file that is no .tsr file, expected one, or none")));
}

// A line for each stage.
class PackProgress {
 public:
  void Update(PackStage stage, int64_t done, int64_t total) {
    if (shown_ == nullptr || stage != stage_) {
      shown_.reset();
      shown_ = std::make_unique<Progress>(stage == PackStage::kPacking ? "packing" : "verifying", total >> 20);  // In MiB.
      stage_ = stage;
    }
    shown_->Update(done >> 20);
  }

 private:
  PackStage stage_ = PackStage::kPacking;
  std::unique_ptr<Progress> shown_;
};

absl::StatusOr<TsrSummary> Pack(const GgufFile& file, const PackPlan& plan, int threads) {
  ThreadPool pool(threads);
  PackProgress progress;
  return PackModel(file, plan, FLAGS_out, pool,
                   [&progress](PackStage stage, int64_t done, int64_t total) { progress.Update(stage, done, total); });
}

// summary: null for a dry run.
absl::Status Show(const PackPlan& plan, absl::Span<const FormInstead> instead, const TsrSummary* summary) {
  const std::string out = summary == nullptr ? "" : FLAGS_out;
  if (FLAGS_json) {
    JsonWriter json;
    json.BeginObject().Key("path").String(out).Key("bytes").Int(plan.file_bytes);
    json.Key("weight_bytes").Int(plan.layout.TotalBytes());
    json.Key("units").Int(plan.layout.units()).Key("recipe").String(plan.layout.recipe().text());
    WriteFormsInstead(instead, json.Key("instead"));
    if (summary != nullptr) {
      json.Key("uuid").String(FormatTsrUuid(summary->uuid)).Key("seconds").Double(SecondsSinceStart(), 4);
      WriteMemory(json);
      json.Key("extents");
      if (summary->extents >= 0) json.Int(summary->extents); else json.Null();
    }
    json.EndObject();
    return WriteOutput(std::move(json).Take() + "\n");
  }
  Table table({{"what"}, {"value"}});
  table.AddRow({"file", out.empty() ? "none: a dry run" : out});
  table.AddRow({"size", absl::StrFormat("%s (%d bytes)", FormatByteSize(plan.file_bytes), plan.file_bytes)});
  table.AddRow({"weights", absl::StrCat(FormatByteSize(plan.layout.TotalBytes()), " in ", plan.layout.units(), " units")});
  if (!plan.layout.recipe().keeps_all()) table.AddRow({"recipe", plan.layout.recipe().name()});
  if (summary != nullptr) {
    table.AddRow({"uuid", FormatTsrUuid(summary->uuid)});
    table.AddRow({"pieces on the disk", summary->extents < 0 ? "unknown" : absl::StrCat(summary->extents)});
    table.AddRow({"peak memory", FormatKnownByteSize(PeakMemoryBytes())});
    table.AddRow({"time", absl::StrFormat("%.2f s", SecondsSinceStart())});
  }
  return WriteOutput(absl::StrCat(table.ToString(), instead.empty() ? "" : absl::StrCat("\n", FormsInsteadText(instead), ".\n")));
}

absl::Status Run() {
  EngineOptions engine;
  engine.compute.threads = FLAGS_threads;
  ASSIGN_OR_RETURN(const int threads, ThreadsOf(engine.compute));
  WarnOfThreads(FLAGS_threads, threads);
  const absl::StatusOr<WeightRecipe> recipe = FLAGS_recipe.empty() ? WeightRecipe() : WeightRecipe::Parse(FLAGS_recipe);
  RETURN_IF_ERROR(ForField("recipe", recipe.status()));
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> model, OpenGgufModel());
  if (!FLAGS_dry_run || !FLAGS_out.empty()) RETURN_IF_ERROR(CheckOut(FLAGS_out));
  ASSIGN_OR_RETURN(const PackPlan plan, PackPlan::Make(model->gguf(), *recipe));
  const bool tied_head = model->gguf().FindTensor("output.weight") == nullptr;
  const std::vector<FormInstead> instead = FormsInstead(model->gguf(), tied_head, *recipe);
  if (FLAGS_dry_run) return Show(plan, instead, nullptr);
  ASSIGN_OR_RETURN(const TsrSummary summary, Pack(model->gguf(), plan, threads));
  if (const std::string pieces = PiecesText(FLAGS_out, summary); !pieces.empty()) WriteMessage(absl::StrCat("tessera_pack: ", pieces));
  return Show(plan, instead, &summary);
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
