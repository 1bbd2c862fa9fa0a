// What a phone's NPU can do, as numbers: how fast it multiplies, reads and loads graphs, from a file with the source of each number.
//
//   ASSIGN_OR_RETURN(DeviceProfile profile, LoadDeviceProfile("8gen3"));            // a name, or a file's path
//   const double nanos_per_tile = 1e9 / profile.matrix_tiles_per_second;            // a product of two 32 x 32 tiles
//   for (const ProfileField& field : ProfileFields()) Print(field.name, profile.*field.value, profile.facts.at(field.name).source);
//
// Files are protobuf text (device_profile.proto) and hostile until checked: each parameter of ProfileFields() once, none else, in its
// range, and with its source, or `assumed` with the least and the most that it may be. Parameters fitted to published figures say so
// (`fitted`, scripts/npu/fit_profiles.py), and may have a range, too. What the numbers mean together is modeled/operator_cost.h. Values:
// thread-safe.
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

// Where a number is from. low and high: what it may be instead; both are the number itself where no range is given.
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
  double matrix_integer_speedup = 0;       // Times that rate, where weights and activations are integers.
  double matrix_efficiency = 0;            // The share of its rate that whole products reach.

  // The vector unit: registers of 128 bytes.
  double vector_threads = 0;
  double vector_hertz = 0;                 // Packets per second and thread.
  double dequantize_packets = 0;           // Per 256 weights of a super-group (paper 001, section 5.1.2), into FP16 tiles.
  double dequantize_group_packets = 0;     // Tile groups that lie one by one,
  double dequantize_scatter_packets = 0;   // and groups along the inputs, whose numbers are scattered into tiles.
  double dequantize_static_packets = 0;    // Per 256 weights in a static graph with FP16 activations.
  double softmax_packets = 0;              // Per 64 scores: scaling, maximum, 2^x by table, sum (paper 001, section 5.2).
  double gather_packets = 0;               // The part of these that looks 2^x up.
  double softmax_integer_packets = 0;      // All of it in a static graph of integers.
  double row_packets = 0;                  // Per 64 numbers that a norm, rotation, activation or conversion writes.
  double row_integer_packets = 0;          // The same in a static graph of integers.

  // Memory.
  double tcm_bytes = 0;                    // Tightly coupled memory.
  double dma_bytes_per_second = 0;         // From DDR into it.
  double vector_bytes_per_second = 0;      // Read by the vector unit through its caches.
  double ddr_bytes_per_second = 0;         // All that memory gives to all who read at once.
  double session_bytes = 0;                // That one session can address.

  // Calls and graphs.
  double call_seconds = 0;                 // One call of a static graph, from the CPU and back.
  double operator_seconds = 0;             // Each operator of a static graph, beside its work.
  double mailbox_seconds = 0;              // One batch of operators by mailbox, caches made coherent (paper 001's way).
  double kernel_seconds = 0;               // Each operator of a batch, beside its work.
  double load_seconds = 0;                 // Loading a graph, however small,
  double load_bytes_per_second = 0;        // and its weights.
  double switch_seconds = 0;               // To another graph of the same context, which shares its weights.

  // The CPU beside it.
  double cpu_products_per_second = 0;      // Multiplications of 8-bit numbers, all threads that decoding uses together.
  double cpu_bytes_per_second = 0;         // That they read.
  double cpu_scores_per_second = 0;        // Scores of attention times the size of a head, where it is the CPU's.
  double draft_seconds = 0;                // A drafter's step.
  double calibrate_seconds = 0;            // Per token of the prompt whose logits are sampled (paper 003, section 5.4).

  // Power in watts while a part works; ratios alone are meant.
  double idle_watts = 0;
  double matrix_watts = 0;
  double vector_watts = 0;
  double dma_watts = 0;
  double cpu_watts = 0;
  double flash_watts = 0;

  // Clocks by power mode: all rates of matrix and vector unit times `clock`, their power times `power`. The first mode has 1 and 1.
  struct Mode { std::string name = {}; double clock = 1, power = 1; };
  std::vector<Mode> modes = {};

  std::map<std::string, ProfileFact> facts = {};   // By the names of ProfileFields().
};

// One number of a profile: its name in files, its place, the range in which it makes sense, and its unit for people.
struct ProfileField {
  const char* name;
  double DeviceProfile::* value;
  double least, most;
  const char* unit;
};
absl::Span<const ProfileField> ProfileFields();

std::vector<std::string> DeviceProfileNames();   // The built-in ones: "8elite", "8gen2", ...

// InvalidArgument (source, line or field, found, expected) if the text is no profile.
absl::StatusOr<DeviceProfile> ParseDeviceProfile(absl::string_view text, absl::string_view source);

// A built-in one by its name, else a file. NotFound names those built in.
absl::StatusOr<DeviceProfile> LoadDeviceProfile(const std::string& name_or_path);

// The same device in another power mode: rates and watts of the matrix and the vector unit changed, and their ranges; that mode alone in
// `modes`, with 1 and 1. InvalidArgument (found, expected).
absl::StatusOr<DeviceProfile> InMode(const DeviceProfile& profile, absl::string_view mode);

}  // namespace tessera
