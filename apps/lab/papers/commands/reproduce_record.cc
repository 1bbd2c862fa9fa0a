// tessera_reproduce record: records drafters' passes while a model writes the texts of four tasks.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/lab/papers/commands/reproduce_commands.h"
#include "tessera/apps/lab/papers/record/record_texts.h"
#include "tessera/apps/lab/scale/tasks/model_hash.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

std::vector<std::string> DraftersOfFlag() {
  return FLAGS_speculate == "auto" ? RecordedDrafters() : std::vector<std::string>{FLAGS_speculate};
}

// Checks the flags, before a model is read.
absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckFlagRange("texts", FLAGS_texts, 1, 1 << 20));
  RETURN_IF_ERROR(CheckFlagRange("generate_tokens", FLAGS_generate_tokens, 2, 1 << 20));
  for (const std::string& drafter : DraftersOfFlag()) RETURN_IF_ERROR(DraftersToRecord(drafter, {}).status());
  return absl::OkStatus();
}

// Returns the command that records this again, without machine-specific parts.
std::string CommandLine(const std::string& drafter, const std::string& model) {
  return absl::StrCat("tessera_reproduce record --speculate=", drafter, " --data=FOLDER --model=", model, " --categories=",
                      FLAGS_categories, " --texts=", FLAGS_texts, " --generate_tokens=", FLAGS_generate_tokens, " --json");
}

// Appends a line for each task.
void AppendTable(const Recording& recording, std::string& table) {
  std::map<std::string, RecordedText> sums;
  std::map<std::string, int> texts;
  for (const RecordedText& text : recording.texts) {
    RecordedText& sum = sums[text.task];
    sum.passes.insert(sum.passes.end(), text.passes.begin(), text.passes.end());
    ++texts[text.task];
  }
  for (const auto& [task, sum] : sums) {
    int64_t drafted = 0;
    for (const RecordedPass& pass : sum.passes) drafted += pass.drafted;
    const double passes = std::max<double>(1, static_cast<double>(sum.passes.size()));
    absl::StrAppendFormat(&table, "%-12s %-8s %6d %7d %16.2f %17.2f\n", recording.drafter, task, texts[task], sum.passes.size(),
                          static_cast<double>(drafted) / passes, recording.MeanTokens(task));
  }
}

std::string TableOf(const std::vector<Recording>& recordings) {
  std::string table =
      absl::StrFormat("%-12s %-8s %6s %7s %16s %17s\n", "drafter", "task", "texts", "passes", "drafted per pass", "tokens per pass");
  for (const Recording& recording : recordings) AppendTable(recording, table);
  return table;
}

std::string TextOf(const std::vector<Recording>& recordings) {
  std::string text;
  for (const Recording& recording : recordings) absl::StrAppend(&text, RecordingText(recording));
  return text;
}

absl::Status Record(Engine& engine, const std::vector<PromptCategory>& tasks, absl::FunctionRef<void()> written, Recording& recording) {
  const RecordLimits limits = {.texts = FLAGS_texts, .most_tokens = FLAGS_generate_tokens};
  ASSIGN_OR_RETURN(TextRecorder recorder, TextRecorder::Create(engine, recording.drafter, limits));
  for (const PromptCategory& task : tasks) {
    ASSIGN_OR_RETURN(std::vector<WrittenAnswer> answers, recorder.Record(task, written));
    for (WrittenAnswer& answer : answers) recording.texts.push_back(std::move(answer.text));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Recording>> RecordAll(Engine& engine, const std::vector<PromptCategory>& tasks) {
  ASSIGN_OR_RETURN(const ModelHash model, HashOfModel("model", engine.options().model_path));
  const std::vector<std::string> drafters = DraftersOfFlag();
  Progress progress("texts", static_cast<int64_t>(drafters.size() * tasks.size()) * FLAGS_texts);
  int64_t done = 0;
  std::vector<Recording> recordings;
  for (const std::string& drafter : drafters) {
    Recording& recording = recordings.emplace_back(Recording{.drafter = drafter,
                                                             .command = CommandLine(drafter, model.name),
                                                             .model = model.name,
                                                             .model_sha256 = model.sha256,
                                                             .most_rows = RecordLimits::kRows});
    RETURN_IF_ERROR(Record(engine, tasks, [&] { progress.Update(++done); }, recording));
  }
  return recordings;
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(/*timeline=*/nullptr));
  PlanRecording(options);
  const absl::StatusOr<std::vector<PromptCategory>> tasks = ReadTasks(FLAGS_data, FLAGS_categories);
  RETURN_IF_ERROR(ForFile("data", tasks.status()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(const std::vector<Recording> recordings, RecordAll(*engine, *tasks));
  return WriteOutput(FLAGS_json ? TextOf(recordings) : TableOf(recordings));
}

}  // namespace

Command ReproduceRecord() {
  return {{.subcommand = "record",
           .summary =
               "Records what a drafter does while a model writes: of each pass, how many tokens were drafted and how many came true; of "
               "each text, how many rejected drafts were missing a token, had a synonym, or were redundant. "
               "--speculate is lookup (prompt lookup), sam (SAM decoding, which also drafts from earlier answers of the task), or one of "
               "them with what sd.npu adds: lookup+ours, sam+ours; auto is these four, one after the other. --categories are summary, "
               "rag, ui and reply, from the files of --data: the first --texts prompts of at most 1024 tokens each. Texts are greedy, "
               "passes have up to 32 rows, and no time has a say, so each run gives the same. A table, or with --json the recordings "
               "themselves, as JSON lines.",
           .examples = {"tessera_reproduce record --speculate=sam+ours --data=FOLDER --texts=12 --json > sam+ours.jsonl",
                        "tessera_reproduce record --categories=ui --texts=1"},
           .groups = {{"Recording", {"speculate", "data", "categories", "texts", "generate_tokens"}},
                      {"Model", {"model", "threads"}},
                      {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
