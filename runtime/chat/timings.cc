#include "tessera/runtime/chat/timings.h"

#include "tessera/base/peak_memory.h"
#include "tessera/runtime/chat/speculation.h"

namespace tessera {

void WriteTimings(JsonWriter& json, const Timings& timings) {
  json.BeginObject();
  json.Key("prompt_tokens").Int(timings.prompt_tokens);
  json.Key("prompt_seconds").Double(timings.prompt_seconds, 6);
  json.Key("prompt_tokens_per_second").Double(timings.PromptRate(), 6);
  json.Key("output_tokens").Int(timings.output_tokens);
  json.Key("generation_seconds").Double(timings.generation_seconds, 6);
  json.Key("generation_tokens_per_second").Double(timings.GenerationRate(), 6);
  json.Key("first_token_seconds");
  if (timings.first_token_seconds < 0) json.Null(); else json.Double(timings.first_token_seconds, 6);
  if (timings.speculation.has_value()) WriteSpeculation(json.Key("speculation"), *timings.speculation);
  if (timings.streaming.has_value()) WriteStreaming(json.Key("streaming"), *timings.streaming);
  json.Key("peak_memory_bytes").Int(PeakMemoryBytes());
  json.EndObject();
}

}  // namespace tessera
