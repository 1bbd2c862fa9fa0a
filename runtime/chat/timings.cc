#include "tessera/runtime/chat/timings.h"

#include "tessera/base/peak_memory.h"
#include "tessera/runtime/draft/speculation.h"

namespace tessera {

namespace {

void WriteKnown(JsonWriter& json, std::optional<double> value) {
  if (value.has_value()) json.Double(*value, 6); else json.Null();
}

void WritePruning(JsonWriter& json, const PruneReport& pruning) {
  json.BeginObject().Key("passes").Int(pruning.passes).Key("rows").Int(pruning.rows).Key("dropped").Int(pruning.dropped);
  json.Key("lost").Int(pruning.lost).Key("seconds").Double(pruning.seconds, 6).EndObject();
}

}  // namespace

void WriteTimings(JsonWriter& json, const Timings& timings) {
  json.BeginObject();
  json.Key("prompt_tokens").Int(timings.prompt_tokens);
  json.Key("prompt_seconds").Double(timings.prompt_seconds, 6);
  WriteKnown(json.Key("prompt_tokens_per_second"), timings.PromptRate());
  json.Key("output_tokens").Int(timings.output_tokens);
  json.Key("generation_seconds").Double(timings.generation_seconds, 6);
  WriteKnown(json.Key("generation_tokens_per_second"), timings.GenerationRate());
  json.Key("first_token_seconds");
  if (timings.first_token_seconds < 0) json.Null(); else json.Double(timings.first_token_seconds, 6);
  if (timings.speculation.has_value()) WriteSpeculation(json.Key("speculation"), *timings.speculation);
  if (timings.pruning.passes > 0) WritePruning(json.Key("pruning"), timings.pruning);
  if (timings.streaming.has_value()) WriteStreaming(json.Key("streaming"), *timings.streaming);
  WriteMemory(json);
  json.EndObject();
}

}  // namespace tessera
