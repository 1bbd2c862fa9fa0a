#include "tessera/apps/answers/written_result.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/adapters/adapter_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/sampling_flags.h"
#include "tessera/apps/cli/flags/seed_flag.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/show/answer_report.h"
#include "tessera/apps/show/streaming_report.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/chat/request.h"
#include "tessera/runtime/draft/draft_model.h"

namespace tessera {

void WriteText(const Generation& result, JsonWriter& json) {
  json.Key("text").String(result.text);
  WriteTokens(json.Key("tokens"), result.tokens);
  json.Key("finish").String(FinishReasonName(result.reason));
}

absl::Status EndJsonResult(JsonWriter json, const OpenedEngine& opened, const Timings& timings) {
  ASSIGN_OR_RETURN(const uint64_t seed, SeedOfFlag());
  json.Key("seed").Uint(seed);
  if (const Engine& engine = *opened.engine; engine.context() < engine.wanted_context()) {
    json.Key("context").Int(engine.context()).Key("wanted_context").Int(engine.wanted_context());
  }
  if (opened.draft_use.has_value()) opened.draft_use->Write(json.Key("speculation"));
  WriteAdapters(opened.engine->options().workload, json);
  WriteTimings(json.Key("timings"), timings);
  json.EndObject();
  return WriteOutput(std::move(json).Take() + "\n");
}

std::string SummaryText(const OpenedEngine& opened, const Timings& timings) {
  return absl::StrCat(SummaryLine(timings, PeakText(*opened.engine)), "\n");
}

std::string StatisticsText(const OpenedEngine& opened, const Timings& timings, const SamplingOptions* used) {
  return absl::StrCat(SamplingText(opened.engine->model().gguf(), used), StatsText(timings),
                      opened.draft == nullptr ? "" : opened.draft->StatsLine());
}

void TellSummary(const OpenedEngine& opened, const Timings& timings, const SamplingOptions* used) {
  WriteMessage(absl::StrCat(SummaryText(opened, timings), FLAGS_stats ? StatisticsText(opened, timings, used) : ""));
}

void TellIfContextIsFull(const Engine& engine, const Generation& result) {
  if (result.reason != FinishReason::kContextFull) return;
  WriteMessage(absl::StrCat("The context of ", engine.context(), " tokens is full; --context=N makes room.\n"));
}

}  // namespace tessera
