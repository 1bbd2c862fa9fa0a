#include "tessera/apps/lab/scale/tasks/task_samples.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/lab/scale/tasks/sample_file.h"
#include "tessera/base/clock.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {

absl::StatusOr<TaskSamples> WriteTaskSamples(Engine& engine, const Task& task, const TaskPrompts& prompts, const std::string& model,
                                             SampleOptions options, const std::string& path,
                                             const std::function<void(int64_t written)>& kept) {
  options.starts_text = prompts.form != "raw";
  absl::StatusOr<SampleFile> file = SampleFile::Open(path, SampleSettings(task, engine, model, options, prompts.form));
  RETURN_IF_ERROR(ForFile("into", file.status()));
  TaskSamples summary = {.before = file->size()};
  const Clock& clock = RealClock();
  const int64_t begin_ns = clock.NowNanos(), all = static_cast<int64_t>(prompts.problems.size()) * options.samples;
  Progress progress(absl::StrCat("samples of ", task.name), all - summary.before);
  const auto keep = [&](const Sample& sample) -> absl::Status {
    RETURN_IF_ERROR(file->Add(sample));
    summary.tokens += sample.tokens;
    const double seconds = static_cast<double>(clock.NowNanos() - begin_ns) * 1e-9;
    progress.Update(++summary.written, absl::StrFormat("%.0f tok/s", static_cast<double>(summary.tokens) / seconds));
    if (kept) kept(summary.written);
    return absl::OkStatus();
  };
  const absl::StatusOr<StepperReport> report =
      WriteSamples(engine, prompts.problems, options, [&](absl::string_view id, int sample) { return file->Has(id, sample); }, keep);
  RETURN_IF_ERROR(EndOf(report.status(), file->Sync()));
  summary.stepper = *report;
  summary.samples = file->size();
  return summary;
}

}  // namespace tessera
