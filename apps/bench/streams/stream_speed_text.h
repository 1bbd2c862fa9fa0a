// The result of tessera_bench streams as tables and as JSON.
//
//   RETURN_IF_ERROR(WriteOutput(StreamSpeedText(speed)));
//   WriteStreamSpeed(json.Key("streams"), speed);
//
// Thread-safe.
#pragma once

#include <string>

#include "tessera/apps/bench/streams/stream_speed.h"
#include "tessera/base/json_writer.h"

namespace tessera {

std::string StreamSpeedText(const StreamSpeed& speed);

// {"together": [...], "sorts": [...], "gaps": [...], "first_tokens": [...], "memory_bytes": {...}}. Times are seconds. A ratio is null
// where there is nothing to compare with.
void WriteStreamSpeed(JsonWriter& json, const StreamSpeed& speed);

}  // namespace tessera
