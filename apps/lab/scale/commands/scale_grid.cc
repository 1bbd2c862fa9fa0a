// tessera_scale grid: generates samples, measures times and judges methods of choosing among N samples, with a page.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/sampling_flags.h"
#include "tessera/apps/cli/flags/scorer_of_flag.h"
#include "tessera/apps/cli/flags/seed_flag.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/lab/scale/commands/scale_commands.h"
#include "tessera/apps/lab/scale/grid/command_text.h"
#include "tessera/apps/lab/scale/grid/grid.h"
#include "tessera/apps/lab/scale/grid/grid_folder.h"
#include "tessera/apps/lab/scale/grid/grid_methods.h"
#include "tessera/apps/lab/scale/grid/grid_page.h"
#include "tessera/apps/lab/scale/grid/grid_report.h"
#include "tessera/apps/lab/scale/grid/grid_view.h"
#include "tessera/apps/lab/scale/grid/phone_time.h"
#include "tessera/apps/lab/scale/tasks/model_hash.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr int kUsualSamples = 8, kTogether = 16;

// Reads --samples and --counts. Each may replace the other.
absl::Status SetNumbers(GridOptions& options) {
  const bool samples = FLAGS_samples != "default", counts = FLAGS_counts != "default";
  options.samples.samples = kUsualSamples;
  if (samples) {
    ASSIGN_OR_RETURN(const std::vector<int> numbers, AscendingOfFlag("samples", FLAGS_samples, kMostGridSamples));
    if (numbers.size() > 1) return WrongUsage("samples", FLAGS_samples, "one number, as many as counts has at most");
    options.samples.samples = numbers[0];
  }
  if (counts) {
    ASSIGN_OR_RETURN(options.counts, AscendingOfFlag("counts", FLAGS_counts, kMostGridSamples));
    if (!samples) options.samples.samples = options.counts.back();
    return absl::OkStatus();
  }
  options.counts.clear();
  for (int count = 1; count <= options.samples.samples; count *= 2) options.counts.push_back(count);
  return absl::OkStatus();
}

absl::StatusOr<GridOptions> OptionsOfFlags() {
  if (FLAGS_into.empty()) return WrongUsage("into", "none", "a folder for samples, times and results");
  RETURN_IF_ERROR(CheckFlagRange("texts", FLAGS_texts, 1, 1 << 20));
  RETURN_IF_ERROR(CheckFlagRange("n_predict", FLAGS_n_predict, 0, 1 << 20));
  RETURN_IF_ERROR(CheckFlagRange("draws", FLAGS_draws, 1, 1 << 20));
  RETURN_IF_ERROR(CheckConversationFlags());
  RETURN_IF_ERROR(CheckSamplingFlags());
  if (IsGiven("shape") && FLAGS_device.empty()) return WrongUsage("shape", "without --device", "both: a phone is asked about it");
  GridOptions options = {.folder = FLAGS_into, .questions = FLAGS_texts, .draws = FLAGS_draws};
  options.scorer = ScorerOfFlag("mean_log_probability");
  options.samples.together = kTogether;
  options.samples.max_tokens = FLAGS_n_predict;
  RETURN_IF_ERROR(SetNumbers(options));
  ASSIGN_OR_RETURN(options.methods, GridMethodsOf(FLAGS_methods));
  ASSIGN_OR_RETURN(options.seed, SeedOfFlag());
  RETURN_IF_ERROR(CheckGrid(options));
  return options;
}

// Returns the modeled phone; null without --device.
absl::StatusOr<std::unique_ptr<PhoneTime>> PhoneOfFlags(const std::string& model, const GridOptions& options) {
  if (FLAGS_device.empty()) return nullptr;
  PhoneTimeOptions phone = {.device = FLAGS_device, .most_samples = options.counts.back()};
  if (IsGiven("shape")) {
    phone.shape = FLAGS_shape;
  } else {
    phone.model = model;
  }
  if (FLAGS_context > 0) phone.context = FLAGS_context;
  ASSIGN_OR_RETURN(PhoneTime made, PhoneTime::Create(phone));
  return std::make_unique<PhoneTime>(std::move(made));
}

// Returns the engine's options. This machine generates the samples in real time; the phone only models the time.
absl::StatusOr<EngineOptions> EngineOptionsFor(const GridOptions& options) {
  ASSIGN_OR_RETURN(EngineOptions engine, EngineOptionsOfFlags(/*timeline=*/nullptr));
  engine.compute.path = ComputePath::kFast;
  RETURN_IF_ERROR(PlanGrid(options, engine));
  return engine;
}

absl::Status Run() {
  ASSIGN_OR_RETURN(GridOptions options, OptionsOfFlags());
  const std::string page = FLAGS_report.empty() ? GridPagePath(FLAGS_into) : FLAGS_report;
  if (!FLAGS_report.empty()) RETURN_IF_ERROR(CheckGridPage(FLAGS_report, {FLAGS_into}));
  ASSIGN_OR_RETURN(const std::vector<Task> tasks, ReadListedTasks(FLAGS_data, FLAGS_task));
  ASSIGN_OR_RETURN(const EngineOptions engine_options, EngineOptionsFor(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<PhoneTime> phone, PhoneOfFlags(engine_options.model_path, options));
  options.phone = phone.get();
  AppInfo info = ScaleGrid().info;
  info.name = "tessera_scale";
  GridSource source = {.command = CommandText(info)};
  info.subcommand = "score";
  info.groups = {{"Samples", {"data"}}, {"Text", {"raw", "chat_template"}}, {"Model", {"model", "threads", "context"}}};
  source.score_command = CommandText(info);
  ASSIGN_OR_RETURN(source.model, HashOfModel("model", engine_options.model_path));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(engine_options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(options.samples.sampling, SamplingFor(engine->model().gguf()));
  RETURN_IF_ERROR(RunGrid(*engine, tasks, source, options).status());
  ASSIGN_OR_RETURN(const GridView view, GridView::Read({FLAGS_into}));
  const std::string text = FLAGS_json ? GridLines(view) : absl::StrCat(GridReportText(view), "page: ", page, "\n");
  const absl::Status shown = WriteOutput(text);
  return EndOf(shown, WriteGridPage(page, view));
}

}  // namespace

Command ScaleGrid() {
  return {{.subcommand = "grid",
           .summary =
               "Writes samples of the problems of one or several sets, and judges each way to choose among N of them: how often it is "
               "right, and what it takes. All lies in the folder of --into, and a grid that was stopped goes on there; a folder of other "
               "settings is refused. Time is measured on this machine, a few questions one at a time with N samples together, so it "
               "should have nothing else to do; with --device also that of a modeled phone, for the model or a published --shape, and "
               "its energy. The page (--report) shows what no other configuration beats. --scorer, by default mean_log_probability, is "
               "what weighted, best_of_n and beam choose by.",
           .examples = {"tessera_scale grid --data=FOLDER --task=gsm8k --texts=40 --samples=8 --into=grid --device=8gen3",
                        "tessera_scale grid --data=FOLDER --task=all --counts=1,4,16 --methods=one,majority,beam --into=all",
                        "tessera_scale report --from=grid_135m,grid_360m --report=both.html"},
           .groups = {{"Samples", {"task", "data", "texts", "samples", "into"}},
                      {"Choice", {"counts", "methods", "scorer", "draws"}, {"methods", "scorer"}},
                      {"Text", {"raw", "chat_template", "n_predict"}, {"n_predict"}},
                      SamplingFlags(),
                      {"Model", {"model", "threads", "context"}, {"model"}},
                      {"Phone", {"device", "shape"}},
                      {"Output", {"report", "json"}}}},
          Run};
}

}  // namespace tessera
