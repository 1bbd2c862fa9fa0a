// Reports of tessera_generate about a text: as JSON, and on standard error.
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

// Adds the text, the tokens and the finish reason to an open object.
void WriteText(const Generation& result, JsonWriter& json);

// Adds the members that concern all texts, ends the object, and writes the object to standard output.
absl::Status EndJsonResult(JsonWriter json, const OpenedEngine& opened, const Timings& timings);

// Return a line about tokens, speed and memory; and lines about sampling, drafts and streaming. used: see SamplingText.
std::string SummaryText(const OpenedEngine& opened, const Timings& timings);
std::string StatisticsText(const OpenedEngine& opened, const Timings& timings, const SamplingOptions* used = nullptr);

// Writes the summary to standard error, with --stats also the statistics.
void TellSummary(const OpenedEngine& opened, const Timings& timings, const SamplingOptions* used = nullptr);

// Writes a line to standard error if the text ended because the context is full.
void TellIfContextIsFull(const Engine& engine, const Generation& result);

}  // namespace tessera
