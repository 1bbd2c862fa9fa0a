#include "tessera/apps/lab/scale/judging/candidate_scores.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tessera/base/quoted.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/scale/confidence.h"
#include "tessera/runtime/scale/value/expression.h"
#include "tessera/runtime/scale/value/extract_answer.h"

namespace tessera {
namespace {

std::optional<double> NumberOf(absl::string_view text) {
  const std::optional<Expression> expression = Expression::Parse(absl::StrReplaceAll(text, {{",", ""}, {"$", ""}, {"%", "/100"}}));
  if (!expression.has_value()) return std::nullopt;
  const std::optional<Rational> number = expression->AsRational();
  if (!number.has_value()) return std::nullopt;
  return static_cast<double>(number->over()) / static_cast<double>(number->under());
}

// Whether `value` rounds to the written number: within half of the last decimal place, or within a double's precision.
bool IsAbout(double value, double written, absl::string_view text) {
  const size_t point = text.find('.');
  const double digits = point == absl::string_view::npos ? 0 : static_cast<double>(text.size() - point - 1);
  return std::abs(value - written) <= std::max(std::abs(value) * 1e-9, 0.5 * std::pow(10, -digits) * (digits > 0 ? 1 : 0));
}

struct Checks {
  int held = 0, all = 0;
  void Add(bool holds) { held += holds, ++all; }
};

// Checks a calculation such as "16-3=13" followed by "13 eggs". Returns the result, if the result is a number.
std::optional<double> CheckCalculation(absl::string_view calculation, absl::string_view behind, Checks& checks) {
  const size_t equals = calculation.rfind('=');
  if (equals == absl::string_view::npos) {
    checks.Add(false);
    return std::nullopt;
  }
  const absl::string_view written = calculation.substr(equals + 1);
  const std::optional<double> value = NumberOf(calculation.substr(0, equals)), result = NumberOf(written);
  checks.Add(value.has_value() && result.has_value() && IsAbout(*value, *result, written));
  const std::vector<std::string> after = NumbersIn(behind.substr(0, behind.find(' ')));
  const std::optional<double> repeated = after.empty() ? std::nullopt : NumberOf(after[0]);
  checks.Add(repeated.has_value() && result.has_value() && IsAbout(*result, *repeated, after[0]));
  return result;
}

double Brevity(const JudgedSample& candidate) {
  const size_t words = std::vector<absl::string_view>(absl::StrSplit(candidate.text, absl::ByAnyChar(" \n\t"), absl::SkipEmpty())).size();
  return 1 / static_cast<double>(std::max<size_t>(words, 1));
}

absl::StatusOr<double> Figure(const std::string& scorer, const Question& question, const JudgedSample& candidate) {
  const auto found = candidate.figures.find(scorer);
  if (found != candidate.figures.end()) return found->second;
  std::vector<std::string> names = {"arithmetic", "brevity", "random"};
  for (const auto& [name, figure] : candidate.figures) names.push_back(name);
  return WrongUsage("scorer", Quoted(scorer), absl::StrCat("one of ", absl::StrJoin(names, ", "), " (question ", question.id, ")"));
}

}  // namespace

double ArithmeticScore(const JudgedSample& candidate) {
  Checks checks;
  std::vector<double> results;
  const absl::string_view text = candidate.text;
  for (size_t open = text.find("<<"); open != absl::string_view::npos; open = text.find("<<", open + 2)) {
    const size_t close = text.find(">>", open);
    if (close == absl::string_view::npos) break;
    const std::optional<double> result = CheckCalculation(text.substr(open + 2, close - open - 2), text.substr(close + 2), checks);
    if (result.has_value()) results.push_back(*result);
  }
  const std::optional<double> answer = candidate.answer.has_value() ? NumberOf(*candidate.answer) : std::nullopt;
  checks.Add(answer.has_value() && std::any_of(results.begin(), results.end(), [&](double result) {
               return IsAbout(result, *answer, *candidate.answer);
             }));
  return static_cast<double>(checks.held) / checks.all;
}

absl::StatusOr<std::vector<double>> ScoresOf(const std::string& scorer, const Question& question, uint64_t seed) {
  std::vector<double> scores;
  for (const JudgedSample& candidate : question.candidates) {
    if (scorer == "arithmetic") {
      scores.push_back(ArithmeticScore(candidate));
    } else if (scorer == "brevity") {
      scores.push_back(Brevity(candidate));
    } else if (scorer == "random") {
      uint64_t stream = 0;
      for (const char c : question.id) stream = MixBits(stream ^ static_cast<unsigned char>(c));
      scores.push_back(CounterUniform(seed, stream, scores.size()));
    } else {
      ASSIGN_OR_RETURN(scores.emplace_back(), Figure(scorer, question, candidate));
    }
  }
  return scores;
}

absl::StatusOr<std::vector<double>> WeightsOf(const std::string& scorer, absl::Span<const double> scores) {
  std::vector<double> weights(scores.begin(), scores.end());
  const bool logarithms = absl::EndsWith(scorer, "log_probability");
  for (double& weight : weights) {
    if (logarithms) weight = WeightOfLogProbability(weight);
    if (!(weight < 0)) continue;
    const char* const instead = scorer == "score" ? "; searches by mean_log_probability are judged by --scorer=mean_log_probability" : "";
    return WrongUsage("scorer", absl::StrCat(scorer, " with a score of ", weight),
                      absl::StrCat("scores from 0 on, as weights of votes", instead));
  }
  return weights;
}

}  // namespace tessera
