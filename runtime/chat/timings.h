// What answers took: tokens, seconds, drafts, reading.
//
//   const Timings& timings = answerer.timings();
//   timings.PromptRate();                                             // tokens per second
//   WriteTimings(json.Key("timings"), timings);
//
// Plain data.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/json_writer.h"
#include "tessera/runtime/chat/streaming_figures.h"
#include "tessera/runtime/scheduler/first_tokens.h"
#include "tessera/runtime/session/generation.h"
#include "tessera/spec/policies/prune_gate.h"
#include "tessera/spec/speculation/speculator.h"

namespace tessera {

struct Timings {
  int64_t prompt_tokens = 0;        // Computed: those that the session held already are not counted.
  double prompt_seconds = 0;        // Without the real time in which weights were read that stay in memory; of each prompt at least 0.
  int64_t output_tokens = 0;
  // Those whose passes generation_seconds has: all but the first of each answer, which the pass over its prompt gives.
  int64_t timed_tokens = 0;
  double generation_seconds = 0;
  std::optional<StreamingFigures> streaming;     // If weights are streamed.
  std::optional<SpeculationReport> speculation;  // If texts are drafted.
  PruneReport pruning = {};         // If drafts are pruned.
  double first_token_seconds = -1;  // Until the first text of the first answer; below 0: there was none.

  // Tokens per second; nullopt: no pass was timed.
  std::optional<double> PromptRate() const { return Rate(prompt_tokens, prompt_seconds); }
  std::optional<double> GenerationRate() const { return Rate(timed_tokens, generation_seconds); }

 private:
  static std::optional<double> Rate(int64_t tokens, double seconds) {
    if (tokens == 0 || seconds <= 0) return std::nullopt;
    return static_cast<double>(tokens) / seconds;
  }
};

// One answer, and what it took.
struct TimedAnswer {
  Generation text = {};
  double first_token_seconds = -1;   // From when it was asked for until its first token was chosen; below 0: none was.
  double seconds = 0;                // Until its end.
  std::optional<int64_t> shared_tokens = std::nullopt;   // Tokens of the prompt that were computed before; nullopt: not known.
  std::optional<FirstToken> first = std::nullopt;        // That it was to begin with; nullopt: none was given.
};

// {"prompt_tokens", "prompt_seconds", "prompt_tokens_per_second", "output_tokens", "generation_seconds", "generation_tokens_per_second",
// "first_token_seconds", "speculation", "pruning": {"passes", "rows", "dropped", "lost", "seconds"} (if a pass was stopped for that),
// "streaming", "peak_memory_bytes", "mapped_file_bytes"}: the last two are the process's until now, the mapped files (code, which no
// budget counts) a part of the peak. null: not known, or nothing was timed.
void WriteTimings(JsonWriter& json, const Timings& timings);

}  // namespace tessera
