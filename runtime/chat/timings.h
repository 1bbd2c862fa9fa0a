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
#include "tessera/spec/speculator.h"

namespace tessera {

struct Timings {
  int64_t prompt_tokens = 0;        // Computed: those that the session held already are not counted.
  double prompt_seconds = 0;        // Without the real time in which weights were read that stay in memory; of each prompt at least 0.
  int64_t output_tokens = 0;
  double generation_seconds = 0;
  std::optional<StreamingFigures> streaming;     // If weights are streamed.
  std::optional<SpeculationReport> speculation;  // If texts are drafted.
  double first_token_seconds = -1;  // Until the first text of the first answer; below 0: there was none.

  double PromptRate() const { return Rate(prompt_tokens, prompt_seconds); }          // Tokens per second; 0: no time passed.
  double GenerationRate() const { return Rate(output_tokens, generation_seconds); }

 private:
  static double Rate(int64_t tokens, double seconds) { return seconds > 0 ? static_cast<double>(tokens) / seconds : 0; }
};

// {"prompt_tokens", "prompt_seconds", "prompt_tokens_per_second", "output_tokens", "generation_seconds", "generation_tokens_per_second",
// "first_token_seconds", "speculation", "streaming", "peak_memory_bytes"}: the last is the process's until now.
void WriteTimings(JsonWriter& json, const Timings& timings);

}  // namespace tessera
