// tessera_reproduce record_draft: records a draft model's answers after every token of the texts that its target writes.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/draft/draft_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/lab/lever/lever_models.h"
#include "tessera/apps/lab/lever/lever_prompts.h"
#include "tessera/apps/lab/papers/commands/reproduce_commands.h"
#include "tessera/apps/lab/papers/record/record_drafts.h"
#include "tessera/apps/lab/scale/tasks/model_hash.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr char kFlag[] = "draft_model";
constexpr int kDefaultTexts = 6;
constexpr int kMostPrompts = 1 << 20;   // Longer prompts are skipped.

int Texts() { return IsGiven("texts") ? FLAGS_texts : kDefaultTexts; }

absl::StatusOr<DraftSource> SourceOfFlag() {
  if (FLAGS_draft_model.empty()) return WrongUsage(kFlag, "none", "a model whose answers are recorded");
  ASSIGN_OR_RETURN(DraftSource source, ParseDraftModel(FLAGS_draft_model));
  if (source.layers > 0 || source.IsHead()) {
    return WrongUsage(kFlag, FLAGS_draft_model, "a model in a file, self:q2, self:q3 or self:q4; heads and layers are not recorded");
  }
  return source;
}

// Returns a draft's hash. A copy has the hash of its source: the copy's own hash is a number by chance.
absl::StatusOr<ModelHash> HashOfDraft(const DraftSource& source, const ModelHash& model) {
  if (source.copy.empty()) return HashOfModel(kFlag, source.file);
  if (source.file.empty()) return ModelHash{absl::StrCat("self:", source.copy), model.sha256};
  ASSIGN_OR_RETURN(ModelHash hash, HashOfModel(kFlag, source.file));
  hash.name = absl::StrCat("self:", source.copy, ":", hash.name);
  return hash;
}

// Returns the command that records this again, without machine-specific parts.
std::string CommandLine(const std::string& model, const std::string& draft) {
  return absl::StrCat("tessera_reproduce record_draft --model=", model, " --draft_model=", draft, " --data=FOLDER --categories=",
                      FLAGS_categories, " --texts=", Texts(), " --generate_tokens=", FLAGS_generate_tokens, " --json");
}

std::string TableOf(const DraftRecording& recording) {
  std::string table = absl::StrFormat("%-10s %6s %7s %24s\n", "set", "texts", "tokens", "draft's likeliest came");
  for (const char* set : kLeverSets) {
    int texts = 0;
    size_t tokens = 0;
    for (const DraftedText& text : recording.texts) {
      if (text.set != set) continue;
      ++texts;
      tokens += text.tokens.size();
    }
    if (texts == 0) continue;
    absl::StrAppendFormat(&table, "%-10s %6d %7d %22.1f %%\n", set, texts, tokens, 100 * recording.HitShare(set));
  }
  absl::StrAppendFormat(&table, "after %d wrong tokens the likeliest next one is %.3f probable, by the rule off the path %.3f\n",
                        recording.wrong.nodes, recording.wrong.said, recording.wrong.by_rule);
  return table;
}

absl::StatusOr<DraftRecording> Record(const LeverEngines& engines, const std::vector<PromptCategory>& sets, DraftRecording recording) {
  const RecordLimits limits = {.texts = Texts(), .most_tokens = FLAGS_generate_tokens};
  ASSIGN_OR_RETURN(DraftRecorder recorder, DraftRecorder::Create(*engines.target, *engines.draft, limits));
  Progress progress("texts", static_cast<int64_t>(sets.size()) * Texts());
  int64_t done = 0;
  for (const PromptCategory& set : sets) RETURN_IF_ERROR(recorder.Record(set, [&] { progress.Update(++done); }, recording));
  return recording;
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlagRange("texts", Texts(), 1, 1 << 20));
  RETURN_IF_ERROR(CheckFlagRange("generate_tokens", FLAGS_generate_tokens, 2, 1 << 20));
  ASSIGN_OR_RETURN(const DraftSource source, SourceOfFlag());
  LeverModels::Options options;
  ASSIGN_OR_RETURN(options.target, EngineOptionsOfFlags(/*timeline=*/nullptr));
  options.target.cache.context = RecordLimits().most_prompt_tokens + FLAGS_generate_tokens + RecordLimits::kRows;
  PlanRecording(options.target);
  const absl::StatusOr<std::vector<PromptCategory>> sets = ReadLeverPrompts(FLAGS_data, FLAGS_categories, kMostPrompts);
  RETURN_IF_ERROR(ForFile("data", sets.status()));
  ASSIGN_OR_RETURN(const ModelHash model, HashOfModel("model", options.target.model_path));
  ASSIGN_OR_RETURN(const ModelHash draft, HashOfDraft(source, model));
  options.draft_model = FLAGS_draft_model;
  ASSIGN_OR_RETURN(const std::unique_ptr<LeverModels> models, LeverModels::Load(options));
  const DraftRecording heading = {.command = CommandLine(model.name, draft.name),
                                  .model = model.name,
                                  .model_sha256 = model.sha256,
                                  .draft = draft.name,
                                  .draft_sha256 = draft.sha256,
                                  .most_tokens = FLAGS_generate_tokens};
  ASSIGN_OR_RETURN(const DraftRecording recording, Record(models->engines(), *sets, heading));
  return WriteOutput(FLAGS_json ? DraftRecordingText(recording) : TableOf(recording));
}

}  // namespace

Command ReproduceRecordDraft() {
  return {{.subcommand = "record_draft",
           .summary = "Records what a draft model says of texts that another model writes: after every token the 8 tokens that it takes to "
                      "be likeliest. Trees of any rule can then be grown again without either. --draft_model is a file, or self:q2, "
                      "self:q3, self:q4: a copy of the model itself. --categories are gsm8k, humaneval, mbpp and mt_bench, from the "
                      "files of --data: the first --texts prompts (6 if it is not given) of at most 1024 tokens each. Texts are greedy, "
                      "and no time has a say, so each run gives the same. A table, or with --json the recording itself, as JSON lines.",
           .examples = {"tessera_reproduce record_draft --draft_model=self:q3 --data=FOLDER --json > near.jsonl",
                        "tessera_reproduce record_draft --model=m.gguf --draft_model=d.gguf --categories=gsm8k --texts=1"},
           .groups = {{"Recording", {"draft_model", "data", "categories", "texts", "generate_tokens"}},
                      {"Model", {"model", "threads"}},
                      {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
