#include "tessera/apps/show/answer_report.h"

#include <cstddef>
#include <iterator>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tessera/apps/show/streaming_report.h"
#include "tessera/base/quoted.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

double RowsPerPass(const SpeculationReport& report) {
  return report.steps == 0 ? 0 : static_cast<double>(report.rows) / static_cast<double>(report.steps);
}

// Returns at most five characters below 10^21: "264", "3449", "10.0k", "1.23M".
std::string Count(double value) {
  if (value < 9999.5) return absl::StrFormat("%.0f", value);
  constexpr char kUnits[] = {'k', 'M', 'G', 'T', 'P', 'E'};
  size_t unit = 0;
  for (value /= 1000; value >= 999.5 && unit + 1 < std::size(kUnits); value /= 1000) ++unit;
  return absl::StrFormat("%.*f%c", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, kUnits[unit]);
}

// Returns a count with three digits or more: "0.42", "41.2", "584".
std::string Rate(double value) {
  if (value >= 99.95) return Count(value);
  return absl::StrFormat("%.*f", value < 9.995 ? 2 : 1, value);
}

// Returns "264 tok 584 tok/s", or "1 tok".
std::string TokensAndRate(int64_t tokens, std::optional<double> rate) {
  return absl::StrCat(Count(static_cast<double>(tokens)), " tok", rate.has_value() ? absl::StrCat(" ", Rate(*rate), " tok/s") : "");
}

std::string Seconds(double seconds) { return absl::StrFormat("%.*f s", seconds < 1000 ? 2 : 0, seconds); }

// Returns the lines of a report, each with the title "drafts".
std::string TitledLines(absl::string_view lines) {
  return lines.empty() ? "" : absl::StrCat("drafts, ", absl::StrReplaceAll(lines, {{"\n", "\ndrafts, "}}), "\n");
}

std::string SpeculationText(const SpeculationReport& report) {
  if (report.sources.empty()) return "drafts: none\n";
  std::string text = absl::StrFormat("drafts: %.2f tokens per pass of %.1f rows, ", report.TokensPerStep(), RowsPerPass(report));
  if (const std::optional<double> gain = report.Gain()) {
    absl::StrAppendFormat(&text, "%.2f times as fast as plain passes (foreseen: %.2f)\n", *gain, report.PredictedGain());
  } else {
    absl::StrAppend(&text, "no plain pass to compare with\n");
  }
  if (report.prompt_tokens > 0) {
    absl::StrAppendFormat(&text, "drafts, prompt: learnt from %d of %d tokens\n", report.prompt_learnt, report.prompt_tokens);
  }
  return absl::StrCat(text, TitledLines(report.Choices()), TitledLines(report.Pauses()), TitledLines(report.Failures()));
}

}  // namespace

std::string SummaryLine(const Timings& timings, absl::string_view peak) {
  std::string line = absl::StrCat("prompt ", TokensAndRate(timings.prompt_tokens, timings.PromptRate()), " | ",
                                  TokensAndRate(timings.output_tokens, timings.GenerationRate()));
  if (timings.speculation.has_value() && timings.speculation->steps > 0 && !timings.speculation->sources.empty()) {
    absl::StrAppendFormat(&line, ", %.1f tok per pass", timings.speculation->TokensPerStep());
  }
  if (timings.first_token_seconds >= 0) absl::StrAppend(&line, " | first ", Seconds(timings.first_token_seconds));
  return absl::StrCat(line, " | ", peak);
}

std::string PruningLine(const PruneReport& pruning) {
  if (pruning.passes == 0) return "";
  return absl::StrFormat("pruning: %d of %d rows went half-way, in %d passes; %d of these lost a token by it\n", pruning.dropped,
                         pruning.rows, pruning.passes, pruning.lost);
}

std::string StatsText(const Timings& timings) {
  std::string text;
  if (timings.speculation.has_value()) absl::StrAppend(&text, SpeculationText(*timings.speculation));
  absl::StrAppend(&text, PruningLine(timings.pruning));
  if (timings.streaming.has_value()) absl::StrAppend(&text, StreamingText(*timings.streaming));
  return text;
}

std::string BeginningsTable(absl::Span<const TimedAnswer> answers) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"first token"}, {"probability", kRight}, {"tokens", kRight}, {"finish"}, {"text"}});
  for (const TimedAnswer& answer : answers) {
    table.AddRow({Quoted(answer.first->text), absl::StrFormat("%.2f %%", 100 * answer.first->probability),
                  absl::StrCat(answer.text.tokens.size()), std::string(FinishReasonName(answer.text.reason)),
                  answer.text.text});
  }
  return table.ToString();
}

}  // namespace tessera
