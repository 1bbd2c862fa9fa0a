// The result of tessera_bench samples as tables and as JSON.
//
//   RETURN_IF_ERROR(WriteOutput(SampleSpeedText(speed)));
//   WriteSampleSpeed(json.Key("samples"), speed);
//
// Thread-safe.
#pragma once

#include <string>

#include "tessera/apps/bench/batch/sample_speed.h"
#include "tessera/base/json_writer.h"

namespace tessera {

std::string SampleSpeedText(const SampleSpeed& speed);

// Writes {"rows": [{"samples", "tokens_per_second", "step_seconds", "pass_seconds", "of_pass", "apart", "shared", "shared_of_apart"}, ...],
// "memory_bytes": {"weights", "cache"}, "cache_tokens"}; "apart" and "shared" have "tokens_per_second", "gain", "tokens_per_pass", or are
// null if that mode was not measured.
void WriteSampleSpeed(JsonWriter& json, const SampleSpeed& speed);

}  // namespace tessera
