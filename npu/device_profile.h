// The speed and memory of a phone's NPU as numbers: multiplying, reading, loading graphs. Each number has a source in the profile's file.
//
//   ASSIGN_OR_RETURN(DeviceProfile profile, LoadDeviceProfile("8gen3"));            // a name, or a file's path
//   const double nanos_per_tile = 1e9 / profile.matrix_tiles_per_second;            // a product of two 32 x 32 tiles
//   for (const ProfileField& field : ProfileFields()) Print(field.name, profile.*field.value, profile.facts.at(field.name).source);
//
// Files are protobuf text (device_profile.proto) and hostile until checked. A file has each parameter of ProfileFields() once and no other
// parameter. Each parameter is in the field's range and has a source, or is `assumed` with the least and the most possible value.
// Parameters fitted to published figures are marked (`fitted`, scripts/npu/fit_profiles.py) and may have a range, too.
// modeled/operator_cost.h explains how the numbers work together.
//
// Threads: values are thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// The origin of a number. low and high: the range of possible values; both equal the number if the file gives no range.
struct ProfileFact {
  std::string source = {};
  bool assumed = false;
  bool fitted = false;
  double low = 0, high = 0;
};

struct DeviceProfile {
  std::string name = {};      // "8gen3".
  std::string chip = {};      // "Snapdragon 8 Gen 3, Hexagon v75".

  // The matrix unit.
  double matrix_tiles_per_second = 0;      // Products of two FP16 tiles of 32 x 32, operands in tightly coupled memory.
  double matrix_integer_speedup = 0;       // Factor on matrix_tiles_per_second if weights and activations are integers.
  double matrix_efficiency = 0;            // The share of the peak rate that whole products reach.

  // The vector unit: registers of 128 bytes.
  double vector_threads = 0;
  double vector_hertz = 0;                 // Packets per second and thread.
  double dequantize_packets = 0;           // 256 weights of a super-group (the test-time scaling paper, section 5.1.2) into FP16 tiles.
  double dequantize_group_packets = 0;     // As dequantize_packets, for separate tile groups.
  double dequantize_scatter_packets = 0;   // As dequantize_packets, for groups along the inputs: numbers are scattered into tiles.
  double dequantize_static_packets = 0;    // Per 256 weights in a static graph with FP16 activations.
  double softmax_packets = 0;              // Per 64 scores: scaling, maximum, 2^x by table, sum (the test-time scaling paper, section 5.2).
  double gather_packets = 0;               // The part of softmax_packets that looks 2^x up.
  double softmax_integer_packets = 0;      // The whole softmax in a static graph of integers.
  double row_packets = 0;                  // Per 64 numbers that a norm, rotation, activation or conversion writes.
  double row_integer_packets = 0;          // As row_packets, in a static graph of integers.

  // Memory.
  double tcm_bytes = 0;                    // Tightly coupled memory.
  double dma_bytes_per_second = 0;         // From DDR into tightly coupled memory.
  double vector_bytes_per_second = 0;      // Reads by the vector unit through caches.
  double ddr_bytes_per_second = 0;         // Total DDR bandwidth of all concurrent readers.
  double session_bytes = 0;                // Bytes that one session can address.

  // Calls and graphs.
  double call_seconds = 0;                 // One call of a static graph, from the CPU and back.
  double operator_seconds = 0;             // Per operator of a static graph, in addition to the operator's work.
  double mailbox_seconds = 0;              // Per batch of operators by mailbox, with coherent caches (as in the test-time scaling paper).
  double kernel_seconds = 0;               // Per operator of a batch, in addition to the operator's work.
  double load_seconds = 0;                 // Loading a graph of any size: the fixed part.
  double load_bytes_per_second = 0;        // Loading weights.
  double switch_seconds = 0;               // Switching to another graph of the same context, with shared weights.

  // The CPU of the phone.
  double cpu_products_per_second = 0;      // Multiplications of 8-bit numbers, by all threads that decoding uses.
  double cpu_bytes_per_second = 0;         // Bytes read by the threads of decoding.
  double cpu_scores_per_second = 0;        // Attention scores times head size, if attention runs on the CPU.
  double draft_seconds = 0;                // One step of a drafter.
  double calibrate_seconds = 0;            // Per prompt token whose logits are sampled (sd.npu's RAG version, section 5.4).

  // Power in watts while a part works; only ratios are meaningful.
  double idle_watts = 0;
  double matrix_watts = 0;
  double vector_watts = 0;
  double dma_watts = 0;
  double cpu_watts = 0;
  double flash_watts = 0;

  // Clocks by power mode: all rates of the matrix and vector units times `clock`, power of both units times `power`. The first mode has 1
  // and 1.
  struct Mode { std::string name = {}; double clock = 1, power = 1; };
  std::vector<Mode> modes = {};

  std::map<std::string, ProfileFact> facts = {};   // Keyed by the names of ProfileFields().
};

// One number of a profile: name in files, member, sensible range, and unit for display.
struct ProfileField {
  const char* name;
  double DeviceProfile::* value;
  double least, most;
  const char* unit;
};
absl::Span<const ProfileField> ProfileFields();

std::vector<std::string> DeviceProfileNames();   // Names of the built-in profiles: "8elite", "8gen2", ...

// Parses a profile. InvalidArgument (source, line or field, found, expected) if the text is not a profile.
absl::StatusOr<DeviceProfile> ParseDeviceProfile(absl::string_view text, absl::string_view source);

// Loads a built-in profile by name, else a file by path. The NotFound message lists the built-in names.
absl::StatusOr<DeviceProfile> LoadDeviceProfile(const std::string& name_or_path);

// Returns the same device in another power mode. Rates and watts of the matrix and vector units change, with their ranges; `modes` holds
// that mode alone, with 1 and 1. InvalidArgument (found, expected) if the profile has no such mode.
absl::StatusOr<DeviceProfile> InMode(const DeviceProfile& profile, absl::string_view mode);

}  // namespace tessera
