// What one model for many tasks costs on a phone (the one-for-all paper): passes with a task's adapter, three ways to have several, bytes
// and loading.
//
//   KnownModels models;
//   OnemodelCosts costs(profiles, models);
//   ASSIGN_OR_RETURN(const OnemodelSetup setup, costs.SetupOf("8gen3", kOnemodel1b, AdapterWay::kInput, /*tasks=*/8));
//   Print(setup.peak_bytes(), setup.load_seconds, setup.first_token_seconds, setup.token_seconds);
//
// The ways are those of section 3.2. kInput: A and B are inputs of the graphs, one task's at a time; all lie beside the weights. kMask: the
// graphs hold all tasks' A and B, each as products of its own, and multiply all of them, whichever a one-hot mask lets through. kTogether:
// the same, but all tasks' A and B lie side by side in one pair of products, as --lora_mode=mask has them (npu/lora_mode.h). kGraph: each
// task has graphs of its own, into whose matrices its adapter is merged; they share the matrices that no adapter changes. Adapters are at
// queries, keys, values and outputs (section 3.1), in 16 bits (A.3.1). Phones run static graphs, one for the prompt and one to decode. What
// the paper does not say is in OnemodelAssumptions. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/papers/figures/coster_cache.h"
#include "tessera/npu/lora_mode.h"

namespace tessera {

// A shape, and what its graphs are compiled for. Nor does the paper say these.
struct OnemodelShape {
  const char* shape;
  int64_t context;
  int64_t chunk_rows;   // The rows of the graph for prompts.
};
// As the calibration of profiles asks about it.
inline constexpr OnemodelShape kOnemodel1b = {"004-1b", 1024, 128};
inline constexpr OnemodelShape kOnemodel3b = {"004-3b", 4096, 256};
inline constexpr char kOnemodelRecipe[] = "int4-channel-a16";   // Section A.3.1: INT4 weights, INT16 activations.

struct OnemodelAssumptions {
  int adapter_rank = 16;
  int prompt_chunks = 3;   // A prompt has so many, for whole set-ups.
};

struct AdapterWay {
  LoraMode mode = LoraMode::kInput;
  bool together = false;   // Under a mask: one pair of products for all tasks, as the engine computes it; else one for each.
  friend bool operator==(const AdapterWay&, const AdapterWay&) = default;
  static const AdapterWay kInput, kMask, kTogether, kGraph;
};
inline constexpr AdapterWay AdapterWay::kInput = {LoraMode::kInput};
inline constexpr AdapterWay AdapterWay::kMask = {LoraMode::kMask};
inline constexpr AdapterWay AdapterWay::kTogether = {LoraMode::kMask, /*together=*/true};
inline constexpr AdapterWay AdapterWay::kGraph = {LoraMode::kGraph};
inline constexpr AdapterWay kAdapterWays[] = {AdapterWay::kInput, AdapterWay::kMask, AdapterWay::kTogether, AdapterWay::kGraph};
std::string AdapterWayName(AdapterWay way);   // LoraModeName, or "mask together".

struct OnemodelSetup {
  std::string phone = {}, shape = {};
  AdapterWay way = AdapterWay::kInput;
  int tasks = 1;
  int graphs = 2;                      // That the phone keeps.
  int64_t graph_bytes = 0;             // Weights in all of them, shared ones once; a mask's adapters are among them.
  int64_t adapter_bytes = 0;           // Inputs.
  int64_t other_bytes = 0;             // Embedding table, keys and values, activations.
  double load_seconds = 0;             // Graphs, then adapters that are inputs.
  double chunk_seconds = 0;            // A chunk of the prompt, with the logits of its last row,
  double first_token_seconds = 0;      // all chunks,
  double token_seconds = 0;            // and a pass of one row; with one task's adapter.
  int64_t sessions = 1;                // That the phone's address space needs.

  int64_t peak_bytes() const { return graph_bytes + adapter_bytes + other_bytes; }
};

class OnemodelCosts {
 public:
  // Both must outlive this.
  OnemodelCosts(const ProfileSet& profiles, KnownModels& models, const OnemodelAssumptions& assumptions = {})
      : assumed_(assumptions), costers_(profiles, models) {}

  // The errors of CosterCache, and of costs. REQUIRES of all of them: tasks and rows are positive.
  absl::StatusOr<OnemodelSetup> SetupOf(const std::string& phone, const OnemodelShape& model, AdapterWay way, int tasks);

  // A pass of so many rows, all with logits, without adapters.
  absl::StatusOr<double> PassSeconds(const std::string& phone, const OnemodelShape& model, int64_t rows);
  // The same with one task's adapter as an input. split: B is a product per head; else one for all.
  absl::StatusOr<double> AdaptedPassSeconds(const std::string& phone, const OnemodelShape& model, int64_t rows, bool split = true);
  // A prompt of so many full chunks with one task's adapter as an input.
  absl::StatusOr<double> AdaptedPromptSeconds(const std::string& phone, const OnemodelShape& model, int chunks, bool split = true);

  absl::StatusOr<int64_t> AdapterBytes(const OnemodelShape& model);   // One task's.
  absl::StatusOr<int64_t> HalfBytes(const OnemodelShape& model);      // The model in FP16, its embedding table once where that is the head.

  const OnemodelAssumptions& assumptions() const { return assumed_; }

 private:
  absl::StatusOr<const PassCoster*> CosterOf(const std::string& phone, const OnemodelShape& model);
  absl::StatusOr<double> PromptSeconds(const std::string& phone, const OnemodelShape& model, int chunks);
  // What adapters add to a pass, as one pair of products at each matrix.
  struct AdapterForm { int rank = 0; bool masked = false, split = true; };
  absl::StatusOr<double> AdapterSeconds(const std::string& phone, const OnemodelShape& model, int64_t rows, const AdapterForm& form);
  // The matrices of all layers that adapters are merged into.
  absl::StatusOr<int64_t> AdaptedMatrixBytes(const OnemodelShape& model);
  // Adds what so many pairs of products take in each run; and all that is the way's own.
  absl::Status AddAdapters(const OnemodelShape& model, int pairs, const AdapterForm& form, OnemodelSetup& setup);
  absl::Status AddWay(const OnemodelShape& model, OnemodelSetup& setup);

  const OnemodelAssumptions assumed_;
  CosterCache costers_;
};

}  // namespace tessera
