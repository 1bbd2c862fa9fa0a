#include "tessera/runtime/scale/reward_scorer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/prefix_index.h"
#include "tessera/runtime/scale/internal/text_reader.h"
#include "tessera/runtime/scale/step_ends.h"

namespace tessera {
namespace {

// Returns the tokens without final tokens that end a text.
absl::Span<const TokenId> WithoutEnd(const Tokenizer& tokenizer, absl::Span<const TokenId> tokens) {
  while (!tokens.empty() && tokenizer.IsEnd(tokens.back())) tokens.remove_suffix(1);
  return tokens;
}

bool EndsWith(const Tokenizer& tokenizer, absl::Span<const TokenId> tokens, absl::string_view end) {
  std::string text;
  for (; !tokens.empty() && text.size() < end.size(); tokens.remove_suffix(1)) text.insert(0, tokenizer.Piece(tokens.back()));
  return absl::EndsWith(text, end);
}

}  // namespace

absl::StatusOr<StepAggregate> StepAggregateOfName(absl::string_view name) {
  if (name == "last") return StepAggregate::kLast;
  if (name == "min") return StepAggregate::kMin;
  if (name == "product") return StepAggregate::kProduct;
  return WrongUsage("steps", Quoted(name), "last, min or product");
}

double Aggregate(StepAggregate aggregate, absl::Span<const double> scores) {
  CHECK(!scores.empty()) << "no scores";
  if (aggregate == StepAggregate::kLast) return scores.back();
  double all = scores[0];
  for (const double score : scores.subspan(1)) {
    if (aggregate == StepAggregate::kProduct) {
      all *= score;
    // A score that is no number stays, no matter which scores follow.
    } else if (std::isnan(score) || score < all) {
      all = score;
    }
  }
  return all;
}

absl::StatusOr<std::unique_ptr<RewardScorer>> RewardScorer::Open(Engine& engine, const std::string& path, const Options& options) {
  const LoadedModel& model = engine.model();
  ASSIGN_OR_RETURN(RewardHead head, RewardHead::Open(path, model.file(), model.config(), model.layout(), model.weights()));
  return Create(engine, std::make_shared<const RewardHead>(std::move(head)), options);
}

absl::StatusOr<std::unique_ptr<RewardScorer>> RewardScorer::Create(Engine& engine, std::shared_ptr<const RewardHead> head,
                                                                   const Options& options) {
  RETURN_IF_ERROR(head->CheckFits(engine.config()));
  if (CoreOf(engine).motion() != nullptr) {
    return WrongUsage("scorer", "reward with an engine that switches graphs", "one with the graphs it began with");
  }
  const bool divides = options.steps.aggregate != StepAggregate::kLast || options.closes_last_step;
  if (divides && options.steps.delimiter.empty()) {
    return WrongUsage("steps", "no delimiter", "one that ends a step, for scores of several steps");
  }
  return std::unique_ptr<RewardScorer>(new RewardScorer(engine, std::move(head), options));
}

RewardScorer::RewardScorer(Engine& engine, std::shared_ptr<const RewardHead> head, const Options& options)
    : tokenizer_(engine.tokenizer()), head_(std::move(head)), options_(options),
      reader_(std::make_unique<TextReader>(SharedCoreOf(engine))) {}

RewardScorer::~RewardScorer() = default;

int64_t RewardScorer::rows() const { return reader_->rows(); }

absl::StatusOr<RewardScorer::Scored> RewardScorer::TextOf(const SampleText& sample) const {
  Scored text;
  text.tokens.assign(sample.prompt.begin(), sample.prompt.end());
  const int before = static_cast<int>(text.tokens.size());
  // In a text that fills the context, the last chosen token has no position in the context. A token that closes the last step has no
  // position there, either.
  const size_t room = static_cast<size_t>(std::max(reader_->core().context() - before, 0));
  absl::Span<const TokenId> tokens = WithoutEnd(tokenizer_, sample.tokens);
  if (tokens.size() == room + 1) tokens.remove_suffix(1);
  if (tokens.empty()) {
    if (before == 0) return absl::InvalidArgumentError("text to be scored: found no tokens, expected at least one");
    text.ends.push_back(before - 1);
    return text;
  }
  std::vector<TokenId> steps(tokens.begin(), tokens.end());
  if (options_.closes_last_step && tokens.size() < room && !EndsWith(tokenizer_, tokens, options_.steps.delimiter)) {
    const std::vector<TokenId> delimiter = tokenizer_.Encode(options_.steps.delimiter, {.continues = true});
    if (!delimiter.empty()) steps.push_back(delimiter.back());
  }
  text.tokens.insert(text.tokens.end(), steps.begin(), steps.end());
  for (const int end : StepEnds(tokenizer_, steps, options_.steps.delimiter)) text.ends.push_back(before + end);
  return text;
}

void RewardScorer::Recall(Scored& text) {
  for (const Scored& known : remembered_) {
    const int common = CommonPrefix(known.tokens, text.tokens);
    size_t same = 0;
    while (same < std::min(known.ends.size(), text.ends.size()) && known.ends[same] == text.ends[same] && text.ends[same] < common) ++same;
    if (same > text.scores.size()) text.scores.assign(known.scores.begin(), known.scores.begin() + static_cast<std::ptrdiff_t>(same));
  }
}

void RewardScorer::Remember(const Scored& text) {
  remembered_.push_front(text);
  if (remembered_.size() > kRemembered) remembered_.pop_back();
}

absl::StatusOr<std::vector<double>> RewardScorer::ScoreSteps(const SampleText& sample) {
  ASSIGN_OR_RETURN(Scored text, TextOf(sample));
  Recall(text);
  const size_t known = text.scores.size();
  if (known == text.ends.size()) return text.scores;
  const absl::Span<const int> missing = absl::MakeConstSpan(text.ends).subspan(known);
  std::vector<double> scores(missing.size());
  RETURN_IF_ERROR(reader_->ReadStates(text.tokens, head_->layer(), missing,
                                      [&](size_t index, const float* state) { scores[index] = head_->Score(state); }));
  text.scores.insert(text.scores.end(), scores.begin(), scores.end());
  Remember(text);
  return text.scores;
}

absl::StatusOr<double> RewardScorer::Score(const SampleText& sample) {
  ASSIGN_OR_RETURN(const std::vector<double> scores, ScoreSteps(sample));
  return Aggregate(options_.steps.aggregate, scores);
}

}  // namespace tessera
