// What tessera_generate says of a text that it has written: as JSON, and on standard error.
//
//   JsonWriter json;
//   WriteText(result, json.BeginObject());                                 // "text", "tokens", "finish"
//   RETURN_IF_ERROR(EndJsonResult(std::move(json), opened, timings));      // "seed", "timings" and others, to standard output
//   TellIfContextIsFull(*opened.engine, result);
//   TellSummary(opened, timings);
//
// Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tessera/apps/plan/budget_report.h"
#include "tessera/base/json_writer.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/chat/timings.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/generation.h"

namespace tessera {

// Three keys of an object that is open.
void WriteText(const Generation& result, JsonWriter& json);

// Ends the object with what is said of all its texts, and writes it.
absl::Status EndJsonResult(JsonWriter json, const OpenedEngine& opened, const Timings& timings);

// A line about tokens, speed and memory, and lines about sampling, drafts and streaming. used: as SamplingText has it.
std::string SummaryText(const OpenedEngine& opened, const Timings& timings);
std::string StatisticsText(const OpenedEngine& opened, const Timings& timings, const SamplingOptions* used = nullptr);

// Writes the summary to standard error, with --stats also the statistics.
void TellSummary(const OpenedEngine& opened, const Timings& timings, const SamplingOptions* used = nullptr);

// A line on standard error if that is why the text ended.
void TellIfContextIsFull(const Engine& engine, const Generation& result);

}  // namespace tessera
