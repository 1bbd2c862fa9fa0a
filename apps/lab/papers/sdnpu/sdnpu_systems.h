// The systems that the two versions of sd.npu compare: for each the setup of a request, the recording with its drafts, and its memory.
//
//   ASSIGN_OR_RETURN(const SdnpuRecordings recordings, BuiltInSdnpuRecordings());
//   for (const SdnpuSystem& system : SdnpuSystems()) {
//     ASSIGN_OR_RETURN(const SystemOnTask on, RunSystem(phone->costs(), system, recordings, "summary"));       // phone: phone_costs.h
//     Print(system.name, on.milliseconds_per_token(), on.joules / on.requests);
//   }
//
// Acceptance is the recordings', unscaled. Only a drafter that is a model has a fixed number, as in the simulation of sd.npu (section 4.1).
// Texts are those of the recordings: all systems write the same texts. Threads: as the costs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/papers/figures/phone_costs.h"
#include "tessera/apps/lab/papers/record/recording.h"
#include "tessera/apps/lab/papers/sdnpu/phone_request.h"

namespace tessera {

struct SdnpuSystem {
  const char* key;         // The name in JSON and for SystemIndex.
  const char* name;        // As in the papers' tables.
  const char* drafter;     // The recording with the system's passes. Empty: none.
  RequestSetup setup;
  const char* what;        // A sentence for people.
  // Uses the number of blocks that ChooseBlocks gives for the mean of a recording's texts; setup has the number of figure 8.
  bool chooses_blocks = false;
};

// The rows of the papers' table 3: "npu", "npu_g", "npu_sd", "npu_g_sd" and "full". The baselines: "npu", "cpu", "npu_sd" (NPU-SAM),
// "cpu_sam", "npu_eagle" and "cpu_eagle". Further: "npu_lookup", and for questions that the papers leave open "npu_padded", "npu_one_row",
// "full_planned".
absl::Span<const SdnpuSystem> SdnpuSystems();
size_t SystemIndex(absl::string_view key);   // REQUIRES: a system has this key.

inline constexpr const char* kSdnpuTasks[] = {"summary", "rag", "ui", "reply"};
inline constexpr const char* kSdnpuShapes[] = {"qwen2.5-0.5b", "qwen2.5-1.5b", "llama-3.2-3b"};

// By drafter: "sam", "sam+ours", "lookup", "lookup+ours".
struct SdnpuRecordings {
  std::vector<Recording> recordings = {};
  const Recording& Of(absl::string_view drafter) const;   // The first one for an empty name. REQUIRES: a recording has this drafter.
};
// Returns FailedPrecondition (drafter, text, found, expected) if the recordings have different texts, or lack a drafter or a task.
absl::Status CheckSdnpuRecordings(const SdnpuRecordings& recordings);
absl::StatusOr<SdnpuRecordings> BuiltInSdnpuRecordings();

// Sums over requests.
struct SystemOnTask {
  int requests = 0;
  int blocks = 1;                // The number of blocks that graphs were cut into.
  double prompt_tokens = 0, tokens = 0, passes = 0;
  RequestParts seconds = {};
  double joules = 0;
  double valid_rows = 0, wasted_rows = 0, empty_rows = 0;

  // Returns the whole time until the last token, divided by the tokens written. The papers call this time per-token latency, and the
  // quotient of two such times end-to-end speedup (section 4.2).
  double milliseconds_per_token() const { return Per(seconds.total()); }
  // Without reading the prompt and calibration.
  double decode_milliseconds_per_token() const { return Per(seconds.switching + seconds.decode + seconds.drafting); }
  double seconds_per_request() const { return requests > 0 ? seconds.total() / requests : 0; }
  // Returns 1 if there were no passes. Each request's first token does not count: the prefill gives this token.
  double tokens_per_pass() const { return passes > 0 ? (tokens - requests) / passes : 1; }

 private:
  double Per(double s) const { return tokens > 0 ? 1e3 * s / tokens : 0; }
};

// Runs all texts of a task in turn. The errors of SimulateRequest, with the text.
absl::StatusOr<SystemOnTask> RunSystem(const RequestCosts& costs, const SdnpuSystem& system, const SdnpuRecordings& recordings,
                                       absl::string_view task);

struct SystemMemory {
  int64_t npu_weights = 0;       // One graph of each block at a time.
  int64_t cpu_weights = 0;       // Embedding table and head.
  int64_t cpu_copy = 0;          // The layers again, for decoding on the CPU.
  int64_t draft_model = 0;
  int64_t keys_and_values = 0, activations = 0;
  int64_t total() const { return npu_weights + cpu_weights + cpu_copy + draft_model + keys_and_values + activations; }
};
SystemMemory MemoryOf(const PhoneCosts& phone, const SdnpuSystem& system);

}  // namespace tessera
