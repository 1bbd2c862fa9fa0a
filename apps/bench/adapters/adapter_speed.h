// What adapters cost on this machine: passes with one and without, texts with one and with several, changing to another that memory has or
// that is read from the drive, memory.
//
//   AdapterSpeedOptions asked = {.adapters = 100, .rank = 8, .repetitions = 5};
//   ASSIGN_OR_RETURN(const AdapterSpeed speed, MeasureAdapters(*engine, asked));
//   RETURN_IF_ERROR(WriteOutput(AdapterSpeedText(speed)));
//
// Adapters are random numbers in FP16, of one rank on all seven matrices of all layers, made in memory: their times are those of others,
// what they say is not. All that is compared is measured by turns, once per repetition, after one that is not counted; ratios are of one
// repetition. Threads: the engine's, one call at a time.
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

inline constexpr int kAdaptedTexts = 8;   // Written at once, and fewest adapters.

struct AdapterSpeedOptions {
  int adapters = 100;         // In memory at once; at least kAdaptedTexts.
  int rank = 8;
  int generate_tokens = 64;   // Per text and repetition.
  int depth = 64;             // Tokens of a text before those; at least one.
  int repetitions = 5;

  // For all of this: positions of a text, and of all together.
  int NeededContext() const { return depth + generate_tokens + 2; }
  int NeededTokens() const { return (kAdaptedTexts + 1) * NeededContext(); }
};

struct AdapterSpeed {
  struct Way {                // kAdaptedTexts adapters, of which every second has half the rank.
    LoraMode mode = LoraMode::kInput;
    int64_t bytes = 0, padding_bytes = 0;
    double seconds = 0;       // To lay them out.
  };

  struct Read {               // An adapter that memory does not have, from the drive (adapter_reads.h).
    int64_t file_bytes = 0;
    Spread seconds = {};      // To have it,
    Spread plain_seconds = {};   // and to read its file plainly.
    double ratio = 0;         // Median.
  };

  int rank = 0, adapters = 0;
  int64_t adapter_bytes = 0;               // One of them takes so much,
  int64_t all_bytes = 0;                   // and all so much.
  std::optional<int64_t> own_memory = {};  // What the process has more with all of them; nullopt: not known.
  double most_pass_ratio = 0;              // The goal for pass_ratio, by the width of the model.
  Spread plain_seconds = {};               // A pass of one row without an adapter,
  Spread adapted_seconds = {};             // and with one.
  double pass_ratio = 0;                   // Medians.
  double off_ratio = 0;                    // Without one while all are in memory, to before any was.
  double one_rate = 0, several_rate = 0;   // Tokens per second of kAdaptedTexts texts with one adapter, and each with another.
  double several_ratio = 0;                // Time of the second, in times of the first.
  Spread switch_seconds = {};              // To begin a text with another adapter: a session, and what its first pass takes longer.
  std::optional<Read> read = {};           // nullopt: it was not measured,
  std::string unread = {};                 // and this is why.
  std::vector<Way> ways = {};
};
inline constexpr double kMostSeveralRatio = 1.3, kMostTaskSwitchSeconds = 1e-3, kMostReadRatio = 2;   // Goals.

// The errors of sessions and of WriteTogether. Where there is no folder to read from, that is said in the result.
absl::StatusOr<AdapterSpeed> MeasureAdapters(Engine& engine, const AdapterSpeedOptions& options);

std::string AdapterSpeedText(const AdapterSpeed& speed);
void WriteAdapterSpeed(const AdapterSpeed& speed, JsonWriter& json);

}  // namespace tessera
