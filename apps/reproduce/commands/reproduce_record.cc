// tessera_reproduce record: what a drafter does while a model writes the texts of four tasks, pass by pass.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/engine_flags.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/apps/cli/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/reproduce/commands/reproduce_commands.h"
#include "tessera/apps/reproduce/record_texts.h"
#include "tessera/apps/reproduce/sha256.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

// All that is wrong before a model is read.
absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckFlagRange("texts", FLAGS_texts, 1, 1 << 20));
  RETURN_IF_ERROR(CheckFlagRange("generate_tokens", FLAGS_generate_tokens, 2, 1 << 20));
  return DraftersToRecord(FLAGS_speculate, {}).status();
}

// A packed model is one file, whatever it was made from.
absl::StatusOr<std::string> HashOfModel(const Engine& engine) {
  const std::string& path = engine.options().model_path;
  const int parts = engine.model().file().packed() == nullptr ? engine.model().gguf().parts() : 1;
  if (parts == 1) return Sha256OfFile(path);
  return WrongUsage("model", absl::StrCat(path, ", one of ", parts, " parts"), "a model in one file, whose hash says which it is");
}

// How to record it again, without what is another on each machine.
std::string CommandLine(const std::string& model) {
  return absl::StrCat("tessera_reproduce record --speculate=", FLAGS_speculate, " --data=FOLDER --model=", model, " --categories=",
                      FLAGS_categories, " --texts=", FLAGS_texts, " --generate_tokens=", FLAGS_generate_tokens, " --json");
}

// A line for each task.
std::string TableOf(const Recording& recording) {
  std::string table = absl::StrFormat("%-8s %6s %7s %16s %17s\n", "task", "texts", "passes", "drafted per pass", "tokens per pass");
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
    absl::StrAppendFormat(&table, "%-8s %6d %7d %16.2f %17.2f\n", task, texts[task], sum.passes.size(),
                          static_cast<double>(drafted) / passes, recording.MeanTokens(task));
  }
  return table;
}

absl::StatusOr<Recording> Record(Engine& engine, const std::vector<PromptCategory>& tasks) {
  const std::string& path = engine.options().model_path;
  Recording recording = {.drafter = FLAGS_speculate, .model = path.substr(path.rfind('/') + 1), .most_rows = RecordLimits::kRows};
  recording.command = CommandLine(recording.model);
  ASSIGN_OR_RETURN(recording.model_sha256, HashOfModel(engine));
  const RecordLimits limits = {.texts = FLAGS_texts, .most_tokens = FLAGS_generate_tokens};
  ASSIGN_OR_RETURN(TextRecorder recorder, TextRecorder::Create(engine, FLAGS_speculate, limits));
  Progress progress("texts", static_cast<int64_t>(tasks.size()) * FLAGS_texts);
  int64_t done = 0;
  for (const PromptCategory& task : tasks) {
    ASSIGN_OR_RETURN(std::vector<WrittenAnswer> answers, recorder.Record(task, [&] { progress.Update(++done); }));
    for (WrittenAnswer& answer : answers) recording.texts.push_back(std::move(answer.text));
  }
  return recording;
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(/*timeline=*/nullptr));
  PlanRecording(options);
  const absl::StatusOr<std::vector<PromptCategory>> tasks = ReadTasks(FLAGS_data, FLAGS_categories);
  RETURN_IF_ERROR(ForFile("data", tasks.status()));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(const Recording recording, Record(*engine, *tasks));
  return WriteOutput(FLAGS_json ? RecordingText(recording) : TableOf(recording));
}

}  // namespace

Command ReproduceRecord() {
  return {{.subcommand = "record",
           .summary =
               "Records what a drafter does while a model writes: of each pass, how many tokens were drafted and how many came true; of "
               "each text, how many rejected drafts were missing a token, had a synonym, or were redundant. "
               "--speculate is lookup (prompt lookup), sam (SAM decoding, which also drafts from earlier answers of the task), or one of "
               "them with what sd.npu adds: lookup+ours, sam+ours. --categories are summary, rag, ui and reply, from the files of --data: "
               "the first --texts prompts of at most 1024 tokens each. Texts are greedy, passes have up to 32 rows, and no time has a "
               "say, so each run gives the same. A table, or with --json the recording itself, as JSON lines.",
           .examples = {"tessera_reproduce record --speculate=sam+ours --data=FOLDER --texts=6 --json > sam+ours.jsonl",
                        "tessera_reproduce record --speculate=lookup --categories=ui --texts=1"},
           .groups = {{"Recording", {"speculate", "data", "categories", "texts", "generate_tokens"}},
                      {"Model", {"model", "threads"}},
                      {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
