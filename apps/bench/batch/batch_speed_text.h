// The result of tessera_bench batch as tables and as JSON.
//
//   RETURN_IF_ERROR(WriteOutput(BatchSpeedText(speed)));
//   WriteBatchSpeed(json.Key("batch"), speed);
//
// Thread-safe.
#pragma once

#include <string>

#include "tessera/apps/bench/batch/batch_speed.h"
#include "tessera/base/json_writer.h"

namespace tessera {

std::string BatchSpeedText(const BatchSpeed& speed);

// Writes {"together": [...], "categories": [...], "gaps": [...], "first_tokens": [...], "memory_bytes": {...}}. Times are seconds. A ratio
// is null if there is nothing to compare with.
void WriteBatchSpeed(JsonWriter& json, const BatchSpeed& speed);

}  // namespace tessera
