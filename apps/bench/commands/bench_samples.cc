// tessera_bench samples: many samples of one problem at once, compared with a pass of as many rows, and the gain of shared drafts.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/batch/sample_speed.h"
#include "tessera/apps/bench/batch/sample_speed_text.h"
#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/bench/flash/share_budget.h"
#include "tessera/apps/bench/spec/spec_bench_prompts.h"
#include "tessera/apps/bench/spec/tokenized_categories.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/sampling_flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/draft/speculation.h"

namespace tessera {
namespace {

constexpr char kDefaultSamples[] = "1,2,4,8,16,32", kDefaultCategory[] = "gsm8k";
constexpr int kDefaultRepetitions = 3;
constexpr char kDefaultTemperature[] = "1";   // The usual temperature of samples.
constexpr int kMostSamples = 64;           // The maximum sequences of a pass.
constexpr int kMostPrompts = 64;
constexpr int kUsualPrompt = 512;          // Without --context there is room for prompts of this length.

int Repetitions() { return IsGiven("repetitions") ? FLAGS_repetitions : kDefaultRepetitions; }

absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckTokens("generate_tokens", FLAGS_generate_tokens, 2));
  RETURN_IF_ERROR(CheckRepetitions());
  RETURN_IF_ERROR(CheckRingShare());
  RETURN_IF_ERROR(CheckSamplingFlags());
  if (FLAGS_temperature == 0) return WrongUsage("temperature", 0, "above 0: at 0 all samples are the same");
  return absl::OkStatus();
}

absl::StatusOr<SampleSpeedOptions> AskedByFlags() {
  RETURN_IF_ERROR(CheckFlags());
  SampleSpeedOptions asked = {.generate_tokens = FLAGS_generate_tokens, .repetitions = Repetitions(), .speculate = FLAGS_speculate};
  RETURN_IF_ERROR(ForField("speculate", DraftsOfSamples(FLAGS_speculate).status()));
  const std::string list = FLAGS_together == "default" ? std::string(kDefaultSamples) : FLAGS_together;
  ASSIGN_OR_RETURN(asked.together, AscendingOfFlag("together", list, kMostSamples));
  return asked;
}

// Returns the tokens behind a prompt: room for each sample and, for one sequence, a pass of rows.
int RoomBehind(const SampleSpeedOptions& asked) { return asked.generate_tokens + 2 + asked.together.back(); }

// Plans memory for all samples, for one more session, and for drafters that draft from all samples' tokens.
absl::Status PlanMemory(const SampleSpeedOptions& asked, EngineOptions& options) {
  options.workload.sessions = asked.together.back();
  options.workload.logit_rows = asked.together.back() + 1;
  ASSIGN_OR_RETURN(const SampleDrafts drafts, DraftsOfSamples(asked.speculate));
  if (!drafts.shared.empty()) RETURN_IF_ERROR(PlanSpeculation({.speculate = drafts.shared, .siblings = true}, options));
  options.workload.sessions += 1;
  if (!IsGiven("ring_share")) return absl::OkStatus();
  options.streaming.pin = PinPolicy::kNone;
  ASSIGN_OR_RETURN(options.streaming.memory_budget, BudgetForShare(options, FLAGS_ring_share));
  return absl::OkStatus();
}

absl::StatusOr<EngineOptions> OptionsFor(const SampleSpeedOptions& asked) {
  ASSIGN_OR_RETURN(EngineOptions options,
                   OptionsForContext(kUsualPrompt + RoomBehind(asked), /*timeline=*/nullptr, /*own_budgets=*/IsGiven("ring_share")));
  if (options.cache.cache_tokens == 0) {
    options.cache.cache_tokens = options.cache.context + asked.together.back() * (asked.generate_tokens + 2);
  }
  RETURN_IF_ERROR(PlanMemory(asked, options));
  return options;
}

absl::StatusOr<std::vector<std::vector<TokenId>>> PromptsFor(const Engine& engine, const SampleSpeedOptions& asked,
                                                             const std::vector<PromptCategory>& categories) {
  const int most = engine.context() - RoomBehind(asked);
  ASSIGN_OR_RETURN(std::vector<TokenizedCategory> dialogues,
                   DialoguesOf(engine, categories, most, absl::StrCat("samples of ", asked.generate_tokens, " tokens exceed --context")));
  std::vector<std::vector<TokenId>> prompts;
  for (TokenizedCategory& category : dialogues) std::move(category.prompts.begin(), category.prompts.end(), std::back_inserter(prompts));
  if (!prompts.empty()) return prompts;
  return WrongUsage("context", absl::StrCat(engine.context(), " tokens"),
                    absl::StrCat("more: no prompt leaves room for samples of ", asked.generate_tokens, " tokens"));
}

absl::Status Run() {
  // Neither the usual temperature nor the file's.
  if (!IsGiven("temperature")) gflags::SetCommandLineOption("temperature", kDefaultTemperature);
  ASSIGN_OR_RETURN(SampleSpeedOptions asked, AskedByFlags());
  ASSIGN_OR_RETURN(const EngineOptions options, OptionsFor(asked));
  if (FLAGS_dry_run) return ShowLoadPlan(options);
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, asked.repetitions, /*depth=*/std::nullopt));
  absl::StatusOr<std::vector<PromptCategory>> all = ReadPromptSets(FLAGS_data, kMostPrompts);
  RETURN_IF_ERROR(ForFile("data", all.status()));
  ASSIGN_OR_RETURN(const std::vector<PromptCategory> categories,
                   ChooseCategories(*std::move(all), IsGiven("categories") ? FLAGS_categories : kDefaultCategory));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(asked.sampling, SamplingFor(engine->model().gguf()));
  ASSIGN_OR_RETURN(asked.prompts, PromptsFor(*engine, asked, categories));
  ASSIGN_OR_RETURN(const SampleSpeed speed, MeasureSamples(*engine, asked));
  RETURN_IF_ERROR(ShowResult(heading, SampleSpeedText(speed), [&](JsonWriter& json) { WriteSampleSpeed(json.Key("samples"), speed); }));
  return speed.difference.empty() ? absl::OkStatus() : absl::InternalError(speed.difference);
}

}  // namespace

Command BenchSamples() {
  return {{.subcommand = "samples",
           .summary = "Samples of one problem written at once, with drafts that they share. Compares a step of 1 to 32 samples with a "
                      "pass of as many rows, each with logits. With --speculate, samples are also written with drafts from their own "
                      "texts, and again with drafts from each other's texts, too. Fails if drafts change a text. Each repetition has "
                      "one prompt of --categories (default here: gsm8k). Defaults here: --temperature 1, 3 repetitions.",
           .examples = {"tessera_bench samples --threads 2 --speculate none", "tessera_bench samples --together 8,16 --data FOLDER",
                        "tessera_bench samples --model m.tsr --ring_share 0.25 --together 8"},
           .groups = {{"Measurement", {"together", "generate_tokens", "data", "categories", "repetitions", "speculate", "cache_tokens",
                                       "ring_share"}},
                      SamplingFlags(), ModelFlagsBut({"trace"}), StreamingFlags(), {"Output", {"json"}}}},
          Run};
}

}  // namespace tessera
