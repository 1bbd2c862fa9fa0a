// The results of streaming_speed.h, as tables with the target next to each figure, and as JSON.
//
//   RETURN_IF_ERROR(WriteOutput(StreamingSpeedText(speed)));
//   WriteStreamingSpeed(json.Key("streaming"), speed);
//
// Pure functions.
#pragma once

#include <string>

#include "tessera/apps/bench/flash/streaming_speed.h"
#include "tessera/base/json_writer.h"

namespace tessera {

std::string StreamingSpeedText(const StreamingSpeed& speed);
void WriteStreamingSpeed(JsonWriter& json, const StreamingSpeed& speed);

}  // namespace tessera
