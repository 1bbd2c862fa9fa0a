#include "tessera/apps/cli/flags/scorer_flags.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/file.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/reward_head.h"
#include "tessera/runtime/scale/judge_scorer.h"

namespace tessera {
namespace {

constexpr char kScorer[] = "scorer";
constexpr char kExpected[] = "mean_log_probability, self_certainty, reward:FILE, judge or judge:FILE";
constexpr int64_t kLargestQuestion = 1 << 20;

absl::StatusOr<std::string> QuestionIn(const ScorerSpec& spec) {
  if (spec.file.empty()) return JudgeScorerOptions().question;
  return ReadFileToString(spec.file, kLargestQuestion);
}

absl::StatusOr<RewardHead> HeadOf(const ScorerSpec& spec, const Engine& engine) {
  const LoadedModel& model = engine.model();
  return RewardHead::Open(spec.file, model.file(), model.config(), model.layout(), model.weights());
}

absl::StatusOr<std::unique_ptr<Scorer>> MakeReward(const ScorerSpec& spec, Engine& engine, const ScorerOptions& options) {
  ASSIGN_OR_RETURN(RewardHead head, HeadOf(spec, engine));
  RewardScorerOptions reward = {.steps = options.steps};
  reward.closes_last_step = head.layout() == RewardHead::Layout::kValueHead && !options.steps.delimiter.empty();
  return RewardScorer::Create(engine, std::make_shared<const RewardHead>(std::move(head)), reward);
}

absl::StatusOr<std::unique_ptr<Scorer>> MakeJudge(const ScorerSpec& spec, Engine& engine, const ScorerOptions& options) {
  JudgeScorerOptions judge;
  ASSIGN_OR_RETURN(judge.question, QuestionIn(spec));
  judge.conversation.raw = options.raw;
  if (!options.raw) judge.conversation.chat_template = FLAGS_chat_template;
  return JudgeScorer::Create(engine, judge);
}

}  // namespace

absl::StatusOr<ScorerSpec> ParseScorer(absl::string_view spec) {
  if (spec == "mean_log_probability") return ScorerSpec{.kind = ScorerKind::kMeanLogProbability};
  if (spec == "self_certainty") return ScorerSpec{.kind = ScorerKind::kSelfCertainty};
  if (spec == "judge") return ScorerSpec{.kind = ScorerKind::kJudge};
  absl::string_view file = spec;
  if (absl::ConsumePrefix(&file, "reward:") && !file.empty()) return ScorerSpec{ScorerKind::kReward, std::string(file)};
  if (absl::ConsumePrefix(&file, "judge:") && !file.empty()) return ScorerSpec{ScorerKind::kJudge, std::string(file)};
  return WrongUsage(kScorer, Quoted(spec), absl::StrCat("one of ", kExpected));
}

absl::Status CheckScorer(absl::string_view spec) {
  ASSIGN_OR_RETURN(const ScorerSpec parsed, ParseScorer(spec));
  if (parsed.kind == ScorerKind::kReward) return ForFile(kScorer, RandomAccessFile::Open(parsed.file).status());
  if (parsed.kind == ScorerKind::kJudge) return ForFile(kScorer, QuestionIn(parsed).status());
  return absl::OkStatus();
}

bool RunsModel(const ScorerSpec& spec) { return spec.kind == ScorerKind::kReward || spec.kind == ScorerKind::kJudge; }

absl::StatusOr<bool> ReadsStatements(const ScorerSpec& spec, const Engine& engine) {
  if (spec.kind != ScorerKind::kReward) return false;
  const absl::StatusOr<RewardHead> head = HeadOf(spec, engine);
  RETURN_IF_ERROR(ForFile(kScorer, head.status()));
  return head->layout() == RewardHead::Layout::kValueHead;
}

absl::Status PlanScorer(absl::string_view spec, EngineOptions& options) {
  ASSIGN_OR_RETURN(const ScorerSpec parsed, ParseScorer(spec));
  if (!RunsModel(parsed)) return absl::OkStatus();
  if (options.compute.switching.has_value()) {
    return WrongUsage(kScorer, absl::StrCat(spec, " with graphs that are switched"), "it with the graphs that a run begins with");
  }
  ++options.workload.sessions;
  ++options.workload.logit_rows;
  if (parsed.kind != ScorerKind::kReward) return absl::OkStatus();
  const absl::StatusOr<std::unique_ptr<RandomAccessFile>> file = RandomAccessFile::Open(parsed.file);
  RETURN_IF_ERROR(ForFile(kScorer, file.status()));
  const int64_t most = 2 * (*file)->size();   // Numbers of 16 bits take 32 in memory.
  options.workload.drafting_bytes = [most, others = options.workload.drafting_bytes](int context, int vocabulary) {
    return most + (others == nullptr ? 0 : others(context, vocabulary));
  };
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Scorer>> MakeScorer(absl::string_view spec, Engine& engine, const ScorerOptions& options) {
  ASSIGN_OR_RETURN(const ScorerSpec parsed, ParseScorer(spec));
  if (parsed.kind == ScorerKind::kMeanLogProbability) return std::make_unique<MeanLogProbabilityScorer>();
  if (parsed.kind == ScorerKind::kSelfCertainty) return std::make_unique<SelfCertaintyScorer>();
  absl::StatusOr<std::unique_ptr<Scorer>> made =
      parsed.kind == ScorerKind::kReward ? MakeReward(parsed, engine, options) : MakeJudge(parsed, engine, options);
  RETURN_IF_ERROR(ForFile(kScorer, made.status()));
  return made;
}

}  // namespace tessera
