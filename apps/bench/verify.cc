// Checks that two modes of decoding give the same sequence and the same logits.
#include <memory>

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/compare/compare_texts.h"
#include "tessera/apps/bench/compare/mode.h"
#include "tessera/apps/bench/compare/prompt_list.h"
#include "tessera/apps/cli/adapters/adapter_flags.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/draft/draft_flags.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/sampling_flags.h"
#include "tessera/apps/cli/screen/answer_progress.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

AppInfo Info() {
  FlagGroup sampling = SamplingFlags();
  sampling.flags.push_back("stop");
  return {.name = "tessera_verify",
          .summary = "Writes texts in two ways and compares them: every token, and every bit of the logits from which it was chosen. The "
                     "two run side by side, each in a process with memory of its own. Ends with 0 if all is equal, with 1 at the first "
                     "difference. Settings of --a and --b are flags about speculation, model and streaming, and rows=N, the most rows "
                     "per pass.",
          .examples = {"tessera_verify --prompts prompts.txt",
                       "tessera_verify --prompts list.jsonl --a kernels=portable --b 'threads=1 rows=64'",
                       "tessera_verify --prompts - --a 'model=m.gguf' --b 'model=m.tsr memory_budget=96MiB io=pread'"},
          .groups = {{"Text", {"prompts", "a", "b", "system", "raw", "chat_template", "template_args", "n_predict", "adapter",
                               "use_adapter", "lora_mode", "adapter_memory", "adapter_folder"},
                      {"prompts", "a", "b", "system", "raw", "n_predict", "adapter"}},
                     sampling, SpeculationFlags(),
                     {"Model", {"model", "threads", "context", "path", "recipe", "kv_block", "kernels", "kv_format"}, ModelFlags().common},
                     StreamingFlags(),
                     {"Output", {"json"}}}};
}

// Checks that the file of --cost_profile exists. Other programs make a missing file; this program keeps nothing.
absl::Status CheckCostsAreThere() {
  struct stat found;
  if (FLAGS_cost_profile.empty() || stat(FLAGS_cost_profile.c_str(), &found) == 0) return absl::OkStatus();
  return WrongUsage("cost_profile", absl::StrCat(FLAGS_cost_profile, ", which is not there"), "a file that tessera_generate has written");
}

// Loads an engine. draft: opened for the engine; null: none.
absl::StatusOr<std::unique_ptr<Engine>> Load(const EngineOptions& options, DraftModel* draft) {
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Open(options, ModelFile::Weights::kAtOnce));
  if (draft != nullptr) RETURN_IF_ERROR(draft->Open(*engine));
  RETURN_IF_ERROR(ExplainedBy(draft, engine->LoadWeights()));
  RETURN_IF_ERROR(engine->AwaitWeights());
  return engine;
}

// Generates all sequences in one mode, in a separate process.
absl::Status WriteTexts(const Mode& mode, const PromptList& prompts, TextSender& sender) {
  ASSIGN_OR_RETURN(EngineOptions options, mode.Apply());
  ASSIGN_OR_RETURN(const std::shared_ptr<DraftModel> draft, DraftModelOfFlags(FLAGS_speculate));
  RETURN_IF_ERROR(PlanSpeculation(SpeculationOfFlags(draft), options));
  if (draft != nullptr) draft->CountIn(options);
  RETURN_IF_ERROR(CheckCostsAreThere());
  ASSIGN_OR_RETURN(const Adapters adapters, AdaptersOfFlags(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Load(options, draft.get()));
  ASSIGN_OR_RETURN(const std::vector<std::vector<TokenId>> tokens, prompts.Tokens(*engine));
  ASSIGN_OR_RETURN(Answerer answerer, AnswererOfFlags(*engine, /*flash_bytes_per_second=*/0, draft));
  ASSIGN_OR_RETURN(const AdapterLease adapter, adapters.Lease(adapters.chosen()));
  RETURN_IF_ERROR(answerer.UseAdapter(adapter.get()));
  AnswerProgress progress(*engine, answerer, /*flash_bytes_per_second=*/0);
  for (size_t i = 0; i < tokens.size(); ++i) {
    absl::Status sent;
    answerer.Reset();
    const auto send = [&](TokenId token, absl::Span<const float> logits) {
      if (sent.ok()) sent = sender.Token(token, logits);
    };
    const absl::StatusOr<Generation> result =
        answerer.Run(tokens[i], progress.Of({.max_tokens = FLAGS_n_predict, .on_token = send}));
    RETURN_IF_ERROR(sent);
    if (!result.ok()) return absl::Status(result.status().code(), absl::StrCat("prompt ", i + 1, ": ", result.status().message()));
    RETURN_IF_ERROR(sender.EndOfText(*result));
  }
  return absl::OkStatus();
}

double TokensPerPass(const Comparison& comparison, const TextFigures& figures) {
  return figures.passes == 0 ? 0 : static_cast<double>(comparison.tokens - comparison.prompts) / static_cast<double>(figures.passes);
}

std::string Text(const Comparison& comparison) {
  if (comparison.difference.has_value()) return absl::StrCat("different: ", DifferenceLine(*comparison.difference), "\n");
  return absl::StrFormat("equal: %d prompts, %d tokens, logits too; tokens per pass: a %.2f, b %.2f\n", comparison.prompts,
                         comparison.tokens, TokensPerPass(comparison, comparison.a), TokensPerPass(comparison, comparison.b));
}

void WriteMode(JsonWriter& json, const std::string& settings, const Comparison& comparison, const TextFigures& figures) {
  json.BeginObject().Key("settings").String(settings).Key("passes").Int(figures.passes).Key("rows").Int(figures.rows);
  json.Key("tokens_per_pass").Double(TokensPerPass(comparison, figures), 6).EndObject();
}

void WriteDifference(JsonWriter& json, const TextDifference& difference) {
  const auto token = [&](const char* key, const std::optional<TokenId>& value) {
    json.Key(key);
    if (value.has_value()) json.Int(*value); else json.Null();
  };
  json.BeginObject().Key("prompt").Int(difference.prompt + 1).Key("token").Int(difference.token);
  token("a", difference.a);
  token("b", difference.b);
  json.Key("logits_different").Int(difference.logits_different).Key("logits").Int(difference.logits);
  json.Key("widest").Int(difference.widest).Key("widest_a").Double(difference.widest_a).Key("widest_b").Double(difference.widest_b);
  json.EndObject();
}

std::string Json(const Comparison& comparison) {
  JsonWriter json;
  json.BeginObject().Key("equal").Bool(!comparison.difference.has_value());
  json.Key("prompts").Int(comparison.prompts).Key("tokens").Int(comparison.tokens);
  WriteMode(json.Key("a"), FLAGS_a, comparison, comparison.a);
  WriteMode(json.Key("b"), FLAGS_b, comparison, comparison.b);
  if (comparison.difference.has_value()) WriteDifference(json.Key("difference"), *comparison.difference);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

// Refuses a flag for both modes that neither mode uses.
absl::Status CheckFlagsAreUsed(const Mode& a, const Mode& b) {
  for (const std::string& flag : Mode::Names()) {
    if (!IsGiven(flag) || !a.PassesOver(flag) || !b.PassesOver(flag)) continue;
    return WrongUsage(flag, absl::StrCat("a value that neither --a=\"", FLAGS_a, "\" nor --b=\"", FLAGS_b, "\" takes"), "one that does");
  }
  return absl::OkStatus();
}

// Checks the flags that both modes share. Each mode may also name a model.
absl::Status CheckFlags(const Mode& a, const Mode& b) {
  RETURN_IF_ERROR(CheckFlagRange("n_predict", FLAGS_n_predict, 0, 1 << 30));
  RETURN_IF_ERROR(CheckSamplingFlags());
  RETURN_IF_ERROR(StopStringsOfFlag().status());
  RETURN_IF_ERROR(CheckCostsAreThere());
  RETURN_IF_ERROR(CheckFlagsAreUsed(a, b));
  if (a.Sets("model") && b.Sets("model")) return absl::OkStatus();
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(/*timeline=*/nullptr));
  SpeculationOptions speculation = SpeculationOfFlags();
  speculation.own_drafters.push_back(NamedDraft());   // Each mode opens its own.
  if (speculation.speculate == "none") speculation.cost_profile.clear();  // One of the modes drafts.
  return PlanSpeculation(speculation, options);
}

absl::Status Run() {
  const absl::StatusOr<Mode> a = Mode::Parse(FLAGS_a), b = Mode::Parse(FLAGS_b);
  RETURN_IF_ERROR(ForField("a", a.status()));
  RETURN_IF_ERROR(ForField("b", b.status()));
  RETURN_IF_ERROR(CheckFlags(*a, *b));
  ASSIGN_OR_RETURN(const PromptList prompts, PromptList::FromFlags());
  ShareWhatIsSaid();  // The other mode would repeat most messages of one mode.
  ASSIGN_OR_RETURN(const Comparison comparison,
                   CompareTexts([&](TextSender& sender) { return WriteTexts(*a, prompts, sender); },
                                [&](TextSender& sender) { return WriteTexts(*b, prompts, sender); }));
  RETURN_IF_ERROR(WriteOutput(FLAGS_json ? Json(comparison) : Text(comparison)));
  if (!comparison.difference.has_value()) return absl::OkStatus();
  return absl::DataLossError("found a difference, expected none");
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::AppMain(argc, argv, tessera::Info(), tessera::Run); }
