#include "tessera/apps/cli/summary.h"

#include <gflags/gflags.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tessera/apps/cli/streamed_run.h"
#include "tessera/base/byte_size.h"

DEFINE_bool(stats, false, "|Write also what drafts gained and what streaming took; --json has all of it.");

namespace tessera {
namespace {

// At most five characters: "0.14", "58.4", "3449", "99999", "1.23M".
std::string Short(double value) {
  if (value < 9.995) return absl::StrFormat("%.2f", value);
  if (value < 99.95) return absl::StrFormat("%.1f", value);
  if (value < 99999.5) return absl::StrFormat("%.0f", value);
  for (const char* unit : {"k", "M", "G"}) {
    value /= 1000;
    if (value < 999.5) return absl::StrFormat("%.3g%s", value, unit);
  }
  return "lots";
}

std::string Count(int64_t count) { return count < 100'000 ? absl::StrCat(count) : Short(static_cast<double>(count)); }

double RowsPerPass(const SpeculationReport& report) {
  return report.steps == 0 ? 0 : static_cast<double>(report.rows) / static_cast<double>(report.steps);
}

std::string MemoryPart(const Timings& timings, int64_t peak_memory) {
  const bool streams = timings.streaming.has_value() && timings.streaming->stats.streamed_bytes > 0;
  return absl::StrCat(FormatByteSize(peak_memory), streams ? absl::StrFormat(", %.0f %% pinned", 100 * timings.streaming->PinnedShare()) : "");
}

std::string StatsLine(const char* what, absl::string_view said) { return absl::StrFormat("%-13s%s\n", what, said); }

std::string TokensLine(int64_t tokens, double seconds, double rate) {
  return absl::StrFormat("%d tokens in %.3g s, %.1f tokens/s", tokens, seconds, rate);
}

}  // namespace

std::string SummaryLine(const Timings& timings, int64_t peak_memory) {
  std::string line = absl::StrCat("prompt ", Count(timings.prompt_tokens), " tok ", Short(timings.PromptRate()), " tok/s | ",
                                  Count(timings.output_tokens), " tok ", Short(timings.GenerationRate()), " tok/s");
  if (timings.speculation.has_value() && timings.speculation->steps > 0 && !timings.speculation->sources.empty()) {
    absl::StrAppendFormat(&line, ", %.1f tok per pass", timings.speculation->TokensPerStep());
  }
  const std::string memory = absl::StrCat(" | ", MemoryPart(timings, peak_memory));
  const std::string first = timings.first_token_seconds < 0 ? "" : absl::StrCat(" | first ", Short(timings.first_token_seconds), " s");
  if (line.size() + first.size() + memory.size() <= kSummaryColumns) line += first;
  return absl::StrCat(line, memory, "\n");
}

std::string StatsText(const Timings& timings) {
  std::string text = StatsLine("prompt", TokensLine(timings.prompt_tokens, timings.prompt_seconds, timings.PromptRate()));
  text += StatsLine("answer", TokensLine(timings.output_tokens, timings.generation_seconds, timings.GenerationRate()));
  if (timings.first_token_seconds >= 0) text += StatsLine("first text", absl::StrFormat("%.3f s", timings.first_token_seconds));
  if (timings.speculation.has_value()) text += StatsLine("drafts", SpeculationLine(*timings.speculation));
  if (timings.streaming.has_value()) text += StatsLine("streaming", StreamingLine(*timings.streaming));
  return text;
}

std::string SpeculationLine(const SpeculationReport& report) {
  if (report.sources.empty()) return "nothing drafted";
  std::string line = absl::StrFormat("%.2f tokens per pass of %.1f rows, %.2f times as fast as plain passes (foreseen: %.2f)",
                                     report.TokensPerStep(), RowsPerPass(report), report.Gain(), report.PredictedGain());
  if (report.prompt_tokens > 0)
    absl::StrAppendFormat(&line, "; learnt from %d of %d prompt tokens", report.prompt_learnt, report.prompt_tokens);
  const std::string pauses = absl::StrReplaceAll(report.Pauses(), {{"\n", "; "}});
  if (!pauses.empty()) absl::StrAppend(&line, "; ", pauses);
  return line;
}

}  // namespace tessera
