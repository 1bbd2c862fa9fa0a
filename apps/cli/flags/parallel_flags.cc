#include "tessera/apps/cli/flags/parallel_flags.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/beam_flags.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

ParallelOptions OptionsOfFlags(const EngineOptions& engine, double flash_bytes_per_second, const std::shared_ptr<DraftModel>& draft) {
  ParallelOptions options = {.texts = TextsOfFlags(),
                             .speculation = SpeculationOfFlags(draft),
                             .flash_bytes_per_second = flash_bytes_per_second,
                             .asked_nanos = engine.clock == nullptr ? StartNanos() : -1};
  options.speculation.siblings = options.texts > 1;   // Answers to one prompt draft from each other; so may the answers of a request.
  return options;
}

}  // namespace

int TextsOfFlags() { return std::max({FLAGS_parallel, FLAGS_answers, FLAGS_best_of}); }

absl::Status CheckParallelFlags() {
  RETURN_IF_ERROR(CheckFlagRange("parallel", FLAGS_parallel, 1, kMostTexts));
  RETURN_IF_ERROR(CheckFlagRange("answers", FLAGS_answers, 1, kMostTexts));
  RETURN_IF_ERROR(CheckNotBoth("answers", IsGiven("answers"), "chat", FLAGS_chat));
  if (IsGiven("answers") && FLAGS_jsonl) return WrongUsage("answers", "beside --jsonl", "\"answers\" in requests, which say it themselves");
  if (FLAGS_distinct_first_tokens && FLAGS_jsonl) {
    return WrongUsage("distinct_first_tokens", "beside --jsonl", "\"distinct_first_tokens\" in requests, which say it themselves");
  }
  if (FLAGS_distinct_first_tokens && FLAGS_answers == 1) {
    return WrongUsage("distinct_first_tokens", "without several answers", "both: --answers=K, 2 or more");
  }
  if (IsGiven("parallel") && !FLAGS_jsonl) return WrongUsage("parallel", "without --jsonl", "both: there is one prompt (--answers=K)");
  if (FLAGS_unordered && FLAGS_parallel == 1) return WrongUsage("unordered", "without --parallel", "both: one answer ends after another");
  if (IsGiven("cache_tokens") && TextsOfFlags() == 1 && FLAGS_beam.empty()) {
    return WrongUsage("cache_tokens", "without --parallel or --answers", "one of them, --best_of or --beam: --context bounds one text");
  }
  return CheckAnswersOfFlagsDiffer({.temperature = static_cast<float>(FLAGS_temperature), .top_k = FLAGS_top_k,
                                    .min_p = static_cast<float>(FLAGS_min_p)});
}

absl::Status CheckAnswersOfFlagsDiffer(const SamplingOptions& sampling) {
  RETURN_IF_ERROR(CheckAnswersDiffer(FLAGS_best_of, sampling, "best_of"));
  if (!FLAGS_beam.empty()) RETURN_IF_ERROR(BeamRunOfFlags(sampling).status());
  return FLAGS_distinct_first_tokens ? absl::OkStatus() : CheckAnswersDiffer(FLAGS_answers, sampling);
}

absl::Status PlanTextsOfFlags(EngineOptions& options, const std::shared_ptr<DraftModel>& draft) {
  if (!FLAGS_beam.empty()) return PlanBeamsOfFlags(options);   // Nothing is drafted in a search.
  RETURN_IF_ERROR(TextsOfFlags() == 1 ? PlanSpeculation(SpeculationOfFlags(draft), options)
                                      : PlanParallel(OptionsOfFlags(options, /*flash_bytes_per_second=*/0, draft), options));
  if (draft != nullptr) draft->CountIn(options);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ParallelAnswers>> ParallelAnswersOfFlags(Engine& engine, double flash_bytes_per_second,
                                                                        const std::shared_ptr<DraftModel>& draft) {
  WarnOfShortages(engine);
  WarnOfUnreadHistory(SpeculationOfFlags());
  if (draft != nullptr) RETURN_IF_ERROR(draft->LoadPredictor());
  absl::StatusOr<std::unique_ptr<ParallelAnswers>> answers =
      ParallelAnswers::Create(engine, OptionsOfFlags(engine.options(), flash_bytes_per_second, draft));
  if (answers.ok()) WarnOfHistory((*answers)->speculation());
  return answers;
}

void TellOfWaits(const ParallelAnswers& answers) {
  const StepperReport& report = answers.report();
  if (report.waited == 0 && report.preempted == 0) return;
  WriteError(absl::StrCat("Texts waited for room in the cache ", report.waited, " times, and gave theirs up for a while ", report.preempted,
                          " times; --cache_tokens=N makes room.\n"));
}

}  // namespace tessera
