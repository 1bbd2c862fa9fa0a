// Compares streaming a packed model with the speed limits of flash and arithmetic, all measured by turns in one run.
//
//   ASSIGN_OR_RETURN(StreamingSpeed speed, MeasureStreaming(options, /*repetitions=*/5));
//   RETURN_IF_ERROR(WriteOutput(StreamingSpeedText(speed)));             // streaming_speed_text.h
//
// Each repetition probes the flash with the model's own file (flash_probe.h), then times passes of one row: streamed, with all weights in
// memory, and with all in memory while another thread reads as many bytes. A pass cannot take less time than computing alone, nor less than
// reading the unpinned units at the probed speed. So a pass is compared with the greater of the two times. Before the passes, the first
// prompt of an engine that was just opened is timed in two modes: all pins awaited first, and all weights read during computation. Threads:
// one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/bench/flash/reading_speed.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// The first prompt of a streamed model, from the first read of the weights until the prompt's logits are there and the weights that stay in
// memory are verified. Medians over the repetitions.
struct FirstPrompt {
  static constexpr int kTokens = 32;
  static constexpr double kLeastOfFormulas = 0.8;   // The target.

  double compute_seconds = 0;        // With all weights in memory.
  double pins_first_seconds = 0;     // With all pins awaited before the prompt is begun,
  double pins_first_formula = 0;     // expected to be pins / probe + max(compute, rest / probe).
  double seconds = 0;                // With weights read during computation,
  double formula = 0;                // expected to be max(compute, (pins + rest) / probe).
  double of_formulas = 0;            // pins_first_seconds / seconds, divided by the same ratio of the formulas.
  double second_seconds = 0;         // For kTokens more tokens, with the pins in memory.
};

// Results for one memory budget. Medians over the repetitions; shares and ratios are taken within each.
struct StreamedPasses {
  double share = 0;               // Share of the weights that may be in memory; 0: a budget was given.
  int64_t budget_bytes = 0;       // Budget of the process.
  int64_t pinned_bytes = 0;
  int64_t ring_bytes = 0;
  int64_t streamed_bytes = 0;     // Unpinned units, which a pass has to read.
  double bytes_read = 0;          // Bytes that a pass really read.
  double probe = 0;               // Probed right before the pass; bytes per second.
  double pass_seconds = 0;
  double compute_seconds = 0;     // A pass with all weights in memory.
  double read_seconds = 0;        // The part of a pass in which the device had something to do,
  double stall_seconds = 0;       // and the part in which the pass waited for the device.
  double of_probe = 0;            // Bytes read per second, divided by the probed speed.
  double over_least = 0;          // The pass's time, divided by the greater of computing alone and reading at the probed speed.
  double beside_reading = 0;      // Time of computing while as many bytes are read, divided by the time of computing alone.
  double beside_bytes_per_second = 0;  // Speed of reading at that time.
  FirstPrompt first = {};

  double ReadAtProbe() const { return static_cast<double>(streamed_bytes) / probe; }
  double Balance() const;         // The smaller time of computing and reading, divided by the greater; 1 if both are equal.
  bool BoundByReading() const { return ReadAtProbe() > compute_seconds; }
  // Returns the target of over_least, an upper bound; 0: there is none.
  double MostOverLeast() const;
  // Returns the target of of_probe, a lower bound; 0: there is none, since computing takes too much of the time.
  double LeastOfProbe() const;
};

struct ReadingAlone {
  VerifyPolicy verify;
  ReadingSpeed speed;             // Medians.
  double of_probe = 0;
};

struct StreamingSpeed {
  std::string device;             // The way the file is read, and the reason.
  double probe = 0;               // Bytes per second with the best shape,
  double sequential = 0;          // and with one read after the other.
  double probe_of_sequential = 0;
  double memory_read = 0;         // Maximum bytes per second that the engine's threads read from memory.
  int64_t weight_bytes = 0;
  std::vector<ReadingAlone> alone;
  std::vector<StreamedPasses> passes;
};

// Measures with the options' memory budget or, if the budget is 0, with 0.8, 0.5 and 0.25 of the weights. InvalidArgument if the model is
// not packed, or a budget leaves nothing to stream.
absl::StatusOr<StreamingSpeed> MeasureStreaming(const EngineOptions& options, int repetitions);

}  // namespace tessera
