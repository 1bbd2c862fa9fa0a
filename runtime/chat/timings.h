// Holds the measured work of answers: tokens, seconds, drafts, reading.
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

// Totals over answers.
struct Timings {
  int64_t prompt_tokens = 0;        // Computed tokens, without tokens that the session held already.
  // Excludes the real time to read weights that stay in memory. Each prompt counts at least 0.
  double prompt_seconds = 0;
  int64_t output_tokens = 0;
  // Tokens whose passes count in generation_seconds: all except the first token of each answer, which the prompt's pass gives.
  int64_t timed_tokens = 0;
  double generation_seconds = 0;
  std::optional<StreamingFigures> streaming;     // If weights are streamed.
  std::optional<SpeculationReport> speculation;  // If texts are drafted.
  PruneReport pruning = {};         // If drafts are pruned.
  double first_token_seconds = -1;  // Until the first text of the first answer; below 0: no text.

  // Tokens per second; nullopt: no pass was timed.
  std::optional<double> PromptRate() const { return Rate(prompt_tokens, prompt_seconds); }
  std::optional<double> GenerationRate() const { return Rate(timed_tokens, generation_seconds); }

 private:
  static std::optional<double> Rate(int64_t tokens, double seconds) {
    if (tokens == 0 || seconds <= 0) return std::nullopt;
    return static_cast<double>(tokens) / seconds;
  }
};

// One answer with its timings.
struct TimedAnswer {
  Generation text = {};
  double first_token_seconds = -1;   // From the request until the choice of the first token; below 0: no token.
  double seconds = 0;                // From the request until the end.
  std::optional<int64_t> shared_tokens = std::nullopt;   // Prompt tokens that were computed before; nullopt: not known.
  std::optional<FirstToken> first = std::nullopt;        // The given first token; nullopt: none.
};

// Writes {"prompt_tokens", "prompt_seconds", "prompt_tokens_per_second", "output_tokens", "generation_seconds",
// "generation_tokens_per_second", "first_token_seconds", "speculation", "pruning": {"passes", "rows", "dropped", "lost", "seconds"},
// "streaming", "peak_memory_bytes", "mapped_file_bytes"}. "pruning" is written if a pass was stopped for pruning. The last two are numbers
// of the process so far. The peak includes the mapped files, which are code and in no budget. null: not known, or nothing was timed.
void WriteTimings(JsonWriter& json, const Timings& timings);

}  // namespace tessera
