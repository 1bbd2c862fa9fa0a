// What a model would do on a phone's NPU: speeds, time to the first token, memory and energy, by the phone's profile.
//
//   ASSIGN_OR_RETURN(const PhoneReport report, MakePhoneReport({.device = "8gen3", .shape = shape, .prompt = 512}));
//   Print(report.prefill_tokens_per_second(), report.decode_tokens_per_second());
//   RecordPass(report, /*index=*/0, timeline);            // a pass, operator by operator, on a timeline
//
// All numbers are predictions of npu/modeled; docs/npu.md says how far they were from what phones did. Thread-safe (pure functions, but for
// the timeline).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/timeline.h"
#include "tessera/model/pass_cost.h"
#include "tessera/runtime/plan/form_costs.h"
#include "tessera/runtime/plan/lora_ways.h"

namespace tessera {

inline constexpr int kMostPhoneTokens = 1 << 20, kMostPhoneRows = 4096;

struct PhoneQuestion {
  std::string device = "8gen3";        // A profile, by name or as a file, and perhaps style and power mode: "8gen3:static:balanced".
  std::string shape = {};              // A known shape, or
  std::string model = {};              // a file.
  std::string recipe = {};             // Forms of weights; empty: the style's own (RecipeOfStyle).
  int prompt = 512, decode = 128;      // Tokens.
  std::vector<int> rows = {1};         // In passes while decoding: so many texts, or so long drafts.
  int context = 4096;
  int chunk_rows = 0;                  // In a pass over the prompt; 0: the style's own (ChunkRowsOfStyle).
  int adapter_rank = 0;
  std::vector<int> lora_ranks = {};    // Several tasks have adapters of these; empty: none. Not beside adapter_rank.
  LoraMode lora_mode = LoraMode::kGraph;   // By which passes have them; of kGraph, those of the largest.
};

// What PhoneQuestion::device says.
struct Phone {
  DeviceProfile profile = {};          // In its power mode.
  ExecutionStyle style = {};           // "operators" where none is named.
};
// NotFound and InvalidArgument say which names are known.
absl::StatusOr<Phone> PhoneOf(absl::string_view text);

struct PhoneReport {
  PhoneQuestion question = {};         // With defaults filled in.
  Phone phone = {};
  ModelConfig config = {};
  double bits_per_weight = 0;          // All matrices that a pass reads, together.
  PassCost prompt = {};
  std::vector<PassCost> passes = {};   // By question.rows, half-way through decoding,
  std::vector<PassShape> shapes = {};  // and what they are passes of.
  std::optional<PassCoster> coster = {};   // By which all of it was found.
  std::vector<LoraWay> lora_ways = {}; // The same passes with lora_ranks in each way. Empty: there are none.
  std::vector<FormCost> forms = {};    // The prompt's first chunk, and a pass of one row as above. Empty by mailbox.
  double decode_seconds = 0;           // All decode passes of one row, each at its own position.
  PhoneMemory memory = {};
  int64_t sessions = 0;
  double load_seconds = 0;

  double prefill_tokens_per_second() const { return question.prompt / prompt.seconds; }
  double decode_tokens_per_second() const { return question.decode / decode_seconds; }
  // Energy of a token in a pass of so many rows, as a multiple of one in a pass of one row.
  double RelativeEnergy(size_t index) const;
};

// "001", "qnn", ...: how weights lie where nothing else is said.
std::string RecipeOfStyle(const ExecutionStyle& style);
int ChunkRowsOfStyle(const ExecutionStyle& style);

// Errors are wrong usage (base/usage_error.h) of the flag that is named as the field is: names that are not known, counts out of range.
absl::StatusOr<PhoneReport> MakePhoneReport(PhoneQuestion question);

// One pass as a ModeledDevice places it (npu/modeled/place_operators.h): calls first, then graph by graph, whose events have the number of
// their layer, each operator of each layer on the parts that work for it, numbered through the pass. Returns where it ends, in nanoseconds
// from its begin at 0. REQUIRES: index < report.passes.size().
int64_t RecordPass(const PhoneReport& report, size_t index, Timeline& timeline);

}  // namespace tessera
