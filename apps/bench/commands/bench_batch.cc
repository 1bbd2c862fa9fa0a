// tessera_bench batch: many sequences at once, the delay of each by the others, and the gain of drafts.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/batch/batch_speed.h"
#include "tessera/apps/bench/batch/batch_speed_text.h"
#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/bench/spec/spec_bench_prompts.h"
#include "tessera/apps/bench/spec/tokenized_categories.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/apps/phone/phone_run.h"
#include "tessera/apps/plan/dry_run.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/spec/speculation/drafter_registry.h"

namespace tessera {
namespace {

constexpr char kDefaultTexts[] = "1,2,4,8,16";
constexpr int kSchema = 2;                 // Schema 1, which was never released, had "streams" and "sorts" for "batch" and "categories".
constexpr int kDefaultRepetitions = 3;     // All measurements together take half a minute.
constexpr char kDefaultCategory[] = "chat";
constexpr int kMostTexts = 64;             // The maximum sequences of a pass.
constexpr int kMostPrompts = kMostTexts;   // Per category.

FlagGroup PhoneFlagsWithoutTrace() {
  FlagGroup group = ModelAndPhoneFlags();
  std::erase(group.flags, "trace");
  return group;
}

int Repetitions() { return IsGiven("repetitions") ? FLAGS_repetitions : kDefaultRepetitions; }

absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckFlagRange("writers", FLAGS_writers, 1, kMostTexts));
  RETURN_IF_ERROR(CheckTokens("generate_tokens", FLAGS_generate_tokens, 1));
  RETURN_IF_ERROR(CheckTokens("depth", FLAGS_depth, 0));
  RETURN_IF_ERROR(CheckTokens("prompt_tokens", FLAGS_prompt_tokens, 1));
  RETURN_IF_ERROR(CheckTokens("long_prompt", FLAGS_long_prompt, 0));
  for (const char* flag : {"data", "categories"}) {
    if (FLAGS_speculate != "none" || !IsGiven(flag)) continue;
    return WrongUsage(flag, "with --speculate=none", "drafters: prompts are for texts with drafts");
  }
  return CheckRepetitions();
}

absl::StatusOr<BatchSpeedOptions> AskedByFlags() {
  RETURN_IF_ERROR(CheckFlags());
  BatchSpeedOptions asked = {.writers = FLAGS_writers,
                              .generate_tokens = FLAGS_generate_tokens,
                              .depth = FLAGS_depth,
                              .prompt_tokens = FLAGS_prompt_tokens,
                              .long_prompt = FLAGS_long_prompt,
                              .repetitions = Repetitions(),
                              .speculate = FLAGS_speculate};
  ASSIGN_OR_RETURN(asked.together, AscendingOfFlag("together", FLAGS_together == "default" ? kDefaultTexts : FLAGS_together, kMostTexts));
  return asked;
}

// Plans memory for all sequences, and for the drafters of sequences with drafts.
absl::Status PlanMemory(const BatchSpeedOptions& asked, EngineOptions& options) {
  options.workload.sessions = asked.MostTexts() + 1;
  options.workload.logit_rows = asked.MostTexts() + 1;
  RETURN_IF_ERROR(PlanSpeculation(SpeculationOfFlags(), options));
  if (const auto one = options.workload.drafting_bytes; one != nullptr) {
    options.workload.drafting_bytes = [one, writers = asked.writers](int context, int vocabulary) {
      return writers * one(context, vocabulary);
    };
  }
  return absl::OkStatus();
}

// Returns options with a context as long as needed, and a cache with room for all sequences, unless flags say otherwise.
absl::StatusOr<EngineOptions> OptionsFor(const BatchSpeedOptions& asked) {
  ASSIGN_OR_RETURN(EngineOptions options, OptionsForContext(asked.NeededContext()));
  if (options.cache.cache_tokens == 0) options.cache.cache_tokens = std::max(asked.NeededTokens(), options.cache.context);
  RETURN_IF_ERROR(PlanMemory(asked, options));
  return options;
}

// Leaves out prompts that are too long for --writers sequences at once.
absl::StatusOr<std::vector<TokenizedCategory>> CategoriesOf(const Engine& engine, const std::vector<PromptCategory>& categories) {
  const int most = std::min(engine.context(), engine.cache_tokens() / FLAGS_writers) - FLAGS_generate_tokens - 2;
  return DialoguesOf(engine, categories, most, absl::StrCat(FLAGS_writers, " of them exceed --context or --cache_tokens"));
}

absl::Status Run() {
  ASSIGN_OR_RETURN(BatchSpeedOptions asked, AskedByFlags());
  ASSIGN_OR_RETURN(EngineOptions options, OptionsFor(asked));
  ASSIGN_OR_RETURN(const std::unique_ptr<PhoneRun> phone, PhoneRun::OfFlags(options));
  if (FLAGS_dry_run) return ShowLoadPlan(options);
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, Repetitions(), FLAGS_depth));
  std::vector<PromptCategory> categories;
  if (FLAGS_speculate != "none") {
    absl::StatusOr<std::vector<PromptCategory>> all = ReadPromptSets(FLAGS_data, kMostPrompts);
    RETURN_IF_ERROR(ForFile("data", all.status()));
    ASSIGN_OR_RETURN(categories, ChooseCategories(*std::move(all), IsGiven("categories") ? FLAGS_categories : kDefaultCategory));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  if (!categories.empty()) {
    ASSIGN_OR_RETURN(asked.categories, CategoriesOf(*engine, categories));
  }
  ASSIGN_OR_RETURN(const BatchSpeed speed, MeasureBatch(*engine, asked));
  if (phone != nullptr) WriteMessage(phone->Summary(*engine));
  return ShowResult(heading, BatchSpeedText(speed), [&](JsonWriter& json) {
    json.Key("schema").Int(kSchema);
    WriteBatchSpeed(json.Key("batch"), speed);
  });
}

}  // namespace

Command BenchBatch() {
  return {{.subcommand = "batch",
           .summary = "Many texts written at once: tokens per second, gaps, first tokens, memory. Gaps between tokens are shown also while "
                      "a long prompt is read beside. With drafters, prompts of several categories are written with and without drafts, one "
                      "text and --writers at once; without --categories those of chat. Without --repetitions there are 3.",
           .examples = {"tessera_bench batch --threads 2 --speculate none", "tessera_bench batch --together 1,8 --categories chat",
                        "tessera_bench batch --model m.tsr --memory_budget 100MiB --writers 1 --long_prompt 0"},
           .groups = {{"Measurement", {"together", "writers", "generate_tokens", "depth", "prompt_tokens", "long_prompt", "repetitions",
                                       "cache_tokens"}},
                      {"Speculation", {"speculate", "data", "categories"}},
                      PhoneFlagsWithoutTrace(), StreamingFlags(), {"Output", {"json"}}}},
          Run, {"streams"}};
}

}  // namespace tessera
