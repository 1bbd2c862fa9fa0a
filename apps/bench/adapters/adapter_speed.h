// Measures the cost of adapters on this machine: passes with and without an adapter, and sequences with one adapter and with several. Also
// measures changing to another adapter, in memory or on the drive, and the memory of adapters.
//
//   AdapterSpeedOptions asked = {.adapters = 100, .rank = 8, .repetitions = 5};
//   ASSIGN_OR_RETURN(const AdapterSpeed speed, MeasureAdapters(*engine, asked));
//   RETURN_IF_ERROR(WriteOutput(AdapterSpeedText(speed)));
//
// Adapters are random numbers in FP16, of one rank on all seven matrices of all layers, made in memory. Random adapters take as long as
// trained ones; only the generated tokens are meaningless. All measurements that are compared take turns, once per repetition, after one
// repetition that is not counted. Ratios are taken within one repetition. Threads: the engine's, one call at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/spread.h"
#include "tessera/npu/lora_mode.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

inline constexpr int kAdaptedTexts = 8;   // Sequences decoded at once, and minimum number of adapters.

struct AdapterSpeedOptions {
  int adapters = 100;         // In memory at once; at least kAdaptedTexts.
  int rank = 8;
  int generate_tokens = 64;   // Per sequence and repetition.
  int depth = 64;             // Tokens of a sequence before the generated tokens; at least one.
  int repetitions = 5;

  // Needs of the whole measurement: positions of a sequence, and of all sequences.
  int NeededContext() const { return depth + generate_tokens + 2; }
  int NeededTokens() const { return (kAdaptedTexts + 1) * NeededContext(); }
};

struct AdapterSpeed {
  struct Way {                // kAdaptedTexts adapters; every second one has half the rank.
    LoraMode mode = LoraMode::kInput;
    int64_t bytes = 0, padding_bytes = 0;
    double seconds = 0;       // Time to lay out the adapters.
  };

  struct Read {               // An adapter that is read from the drive (adapter_reads.h).
    int64_t file_bytes = 0;
    Spread seconds = {};      // Time to make the adapter ready,
    Spread plain_seconds = {};   // and to read the adapter's file plainly.
    double ratio = 0;         // Median.
  };

  int rank = 0, adapters = 0;
  int64_t adapter_bytes = 0;               // Bytes of one adapter,
  int64_t all_bytes = 0;                   // and of all.
  std::optional<int64_t> own_memory = {};  // Memory that the process gains with all adapters; nullopt: not known.
  double most_pass_ratio = 0;              // The goal for pass_ratio, by the width of the model.
  Spread plain_seconds = {};               // A pass of one row without an adapter,
  Spread adapted_seconds = {};             // and with an adapter.
  double pass_ratio = 0;                   // Medians.
  double off_ratio = 0;                    // Pass without an adapter, all adapters in memory, to the pass with none in memory.
  double one_rate = 0, several_rate = 0;   // Tokens per second of kAdaptedTexts sequences with one adapter, and each with another.
  double several_ratio = 0;                // Time with several adapters divided by the time with one.
  Spread switch_seconds = {};              // Time to begin a sequence with another adapter: a session, and the first pass's extra time.
  std::optional<Read> read = {};           // nullopt: not measured,
  std::string unread = {};                 // and `unread` is the reason.
  std::vector<Way> ways = {};
};
inline constexpr double kMostSeveralRatio = 1.3, kMostTaskSwitchSeconds = 1e-3, kMostReadRatio = 2;   // Goals.

// Measures by `options`. Returns the errors of sessions and of WriteTogether. Without a folder to read from, `unread` of the result says
// so.
absl::StatusOr<AdapterSpeed> MeasureAdapters(Engine& engine, const AdapterSpeedOptions& options);

std::string AdapterSpeedText(const AdapterSpeed& speed);
void WriteAdapterSpeed(const AdapterSpeed& speed, JsonWriter& json);

}  // namespace tessera
