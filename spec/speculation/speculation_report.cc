#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {

std::string SpeculationReport::Pauses() const {
  std::string text;
  for (const Source& source : sources) {
    if (source.pauses == 0) continue;
    absl::StrAppendFormat(&text, "%s%s: paused %d time%s, for %d of %d passes (it cost %.0f %% of a pass more than it gave)",
                          text.empty() ? "" : "\n", source.name, source.pauses, source.pauses == 1 ? "" : "s", source.paused_steps, steps,
                          100 * source.loss);
  }
  if (rested_steps > 0) {
    absl::StrAppendFormat(&text, "%sall: rested for %d of %d passes (what they drafted was not worth its rows and their time)",
                          text.empty() ? "" : "\n", rested_steps, steps);
  }
  return text;
}

std::string SpeculationReport::Choices() const {
  std::string text;
  for (const Source& source : sources) {
    if (!source.choice.empty()) absl::StrAppend(&text, text.empty() ? "" : "\n", source.name, ": ", source.choice);
  }
  return text;
}

std::string SpeculationReport::Failures() const {
  std::string text;
  for (const Source& source : sources) {
    if (source.account.failures == 0) continue;
    absl::StrAppendFormat(&text, "%s%s: failed %d time%s, first: %s", text.empty() ? "" : "\n", source.name, source.account.failures,
                          source.account.failures == 1 ? "" : "s", source.account.failure.ToString());
  }
  return text;
}

void SpeculationReport::Add(const SpeculationReport& more) {
  for (int64_t SpeculationReport::* const count :
       {&SpeculationReport::steps, &SpeculationReport::tokens, &SpeculationReport::rows, &SpeculationReport::drafted_steps,
        &SpeculationReport::paused_steps, &SpeculationReport::rested_steps, &SpeculationReport::first_head_rows,
        &SpeculationReport::later_head_rows, &SpeculationReport::forecast_rows, &SpeculationReport::forecast_head_rows,
        &SpeculationReport::prompt_tokens, &SpeculationReport::prompt_learnt}) {
    this->*count += more.*count;
  }
  for (double SpeculationReport::* const amount :
       {&SpeculationReport::draft_seconds, &SpeculationReport::pass_seconds, &SpeculationReport::head_seconds,
        &SpeculationReport::top_seconds, &SpeculationReport::plain_seconds, &SpeculationReport::compared_seconds,
        &SpeculationReport::predicted_tokens, &SpeculationReport::predicted_seconds, &SpeculationReport::predicted_plain_seconds}) {
    this->*amount += more.*amount;
  }
  for (size_t i = 0; i < std::min(sources.size(), more.sources.size()); ++i) {
    sources[i].account.Add(more.sources[i].account);
    sources[i].pauses += more.sources[i].pauses;
    sources[i].paused_steps += more.sources[i].paused_steps;
    sources[i].loss = std::max(sources[i].loss, more.sources[i].loss);
  }
}

}  // namespace tessera
