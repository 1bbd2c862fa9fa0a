// Shows what is in a model file, and the static graphs that compute it.
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/phone/phone_command.h"
#include "tessera/apps/show/describe_file.h"
#include "tessera/apps/show/describe_graph.h"
#include "tessera/apps/show/describe_problems.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/model_file.h"
#include "tessera/model/files/verify.h"
#include "tessera/storage/layer_streamer.h"

namespace tessera {
namespace {

AppInfo Info() {
  return {
      .name = "tessera_inspect",
      .summary =
          "Shows a model file's metadata and tensors or units or, with --graph, the static graphs that compute it. Only "
          "--verify, which looks for every fault of the file, reads the weights. With --device it says what a model would do on a "
          "phone's NPU, by the phone's profile: speed of prompts and of decoding by rows of a pass, time to the first token, loading, "
          "memory, energy beside one row, and what bounds each operator. Then a shape is enough, --prompt and --decode are numbers of "
          "tokens, and with --jsonl questions are read from standard input, a JSON object per line with these flags as keys; the others "
          "count for all of them.",
      .examples = {"tessera_inspect --model model.gguf", "tessera_inspect --verify --model model.gguf", "tessera_inspect --graph",
                   "tessera_inspect --graph --json", "tessera_inspect --device=8gen3 --shape=qwen2.5-1.5b --rows=1,4,8,16",
                   "tessera_inspect --device=8elite:static --shape=llama-3.2-3b --prompt=128 --json",
                   "tessera_inspect --device=8gen3:static --shape=llama-3.2-1b --lora_mode=mask --lora_ranks=8,8,16",
                   "tessera_inspect --device=8gen3 model.gguf --plot=rows.svg --trace=pass.json"},
      .groups = {{"Model", {"model", "path", "recipe", "threads"}}, {"Output", {"graph", "verify", "json"}}, PhoneReportFlags()},
      .plain_arguments = {"model"}};
}

// As the path's device wants its weights.
WeightEncoding EncodingOf(ComputePath path) {
  if (path == ComputePath::kNpu) return WeightEncoding::kTiles;
  return path == ComputePath::kReference ? WeightEncoding::kFloat32 : WeightEncoding::kPacked;
}

absl::Status ShowGraphs(const ModelFile& file, const ComputeOptions& compute) {
  ASSIGN_OR_RETURN(const ModelConfig config, ReadModelConfig(file.gguf()));
  std::optional<WeightRecipe> recipe;
  if (!compute.recipe.empty()) {
    ASSIGN_OR_RETURN(recipe, WeightRecipe::Parse(compute.recipe));
  }
  ASSIGN_OR_RETURN(const WeightLayout layout, file.PlanWeights(config, EncodingOf(compute.path), recipe));
  ASSIGN_OR_RETURN(const std::vector<DescribedGraph> graphs, GraphsOf(config, layout, kDefaultRowCapacity));
  return WriteOutput(FLAGS_json ? GraphsJson(graphs) : GraphsText(graphs));
}

absl::Status Verify(const std::string& path, int threads) {
  WarnOfThreads(FLAGS_threads, threads);
  ThreadPool pool(threads);
  std::unique_ptr<Progress> shown;  // In MiB.
  const VerifyReport report = VerifyModel(path, pool, [&shown](int64_t done, int64_t total) {
    if (shown == nullptr) shown = std::make_unique<Progress>("verifying", total >> 20);
    shown->Update(done >> 20);
  });
  shown.reset();
  RETURN_IF_ERROR(WriteOutput(FLAGS_json ? ReportJson(path, report) : ReportText(path, report)));
  if (report.problems.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": found ", CountOfProblems(report), ", expected none"));
}

// Each of these flags belongs to one thing to show.
absl::Status CheckFlags() {
  const bool verify = FLAGS_verify == "always";
  RETURN_IF_ERROR(ParseVerifyPolicy(FLAGS_verify).status());
  if (!verify && IsGiven("verify")) {  // Nothing would be checked, however it is said.
    return WrongUsage("verify", FLAGS_verify, "no value, or always: here everything is checked, or nothing but the header");
  }
  RETURN_IF_ERROR(CheckNotBoth("verify", verify, "graph", FLAGS_graph));
  RETURN_IF_ERROR(CheckPhoneReportFlags());
  if (!FLAGS_graph && IsGiven("path")) return WrongUsage("path", "without --graph", "both: nothing else here depends on it");
  if (!FLAGS_graph && IsGiven("recipe")) return WrongUsage("recipe", "without --graph", "both: nothing else here depends on it");
  if (!verify && IsGiven("threads")) return WrongUsage("threads", "without --verify", "both: nothing else here is shared out");
  return absl::OkStatus();
}

// A phone's profile says all that these flags could.
absl::Status CheckForPhone() {
  for (const char* const flag : {"graph", "verify", "path", "threads"}) {
    if (IsGiven(flag)) return WrongUsage(flag, "with --device", "one of them: with --device nothing is read but the header");
  }
  return absl::OkStatus();
}

absl::Status Run() {
  if (IsGiven("device")) {
    RETURN_IF_ERROR(CheckForPhone());
    return ShowPhoneReport();
  }
  EngineOptions options;
  options.compute.threads = FLAGS_threads;
  ASSIGN_OR_RETURN(const int threads, ThreadsOf(options.compute));
  ASSIGN_OR_RETURN(options.compute.path, ComputePathFromName(FLAGS_path));
  options.compute.recipe = FLAGS_recipe;
  ASSIGN_OR_RETURN(const std::string path, ModelPath());
  RETURN_IF_ERROR(CheckFlags());
  RETURN_IF_ERROR(CheckOptions(options));
  if (FLAGS_verify == "always") return Verify(path, threads);
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelFile> file, ModelFile::Open(path));
  if (FLAGS_graph) return ShowGraphs(*file, options.compute);
  if (const TsrReader* packed = file->packed()) {
    return WriteOutput(FLAGS_json ? PackedJson(*packed, file->gguf(), file->recipe())
                                  : PackedText(*packed, file->gguf(), file->recipe()));
  }
  return WriteOutput(FLAGS_json ? FileJson(file->gguf()) : FileText(file->gguf()));
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
