// Costs of one model for many tasks on a phone (the one-for-all paper): passes with a task's adapter, ways to have several adapters, bytes
// and loading.
//
//   KnownModels models;
//   OnemodelCosts costs(profiles, models);
//   ASSIGN_OR_RETURN(const OnemodelSetup setup, costs.SetupOf("8gen3", kOnemodel1b, AdapterWay::kInput, /*tasks=*/8));
//   Print(setup.peak_bytes(), setup.load_seconds, setup.first_token_seconds, setup.token_seconds);
//
// The ways are those of section 3.2. kInput: A and B are inputs of the graphs, one task's at a time; all lie next to the weights. kMask:
// the graphs hold all tasks' A and B, each as separate products. The graphs compute all of them, and a one-hot mask selects one. kTogether:
// like kMask, but all tasks' A and B lie side by side in one pair of products, as with --lora_mode=mask (npu/lora_mode.h). kGraph: each
// task has its own graphs, with its adapter merged into their matrices; the graphs share the matrices that no adapter changes.
//
// Adapters are at queries, keys, values and outputs (section 3.1), in 16 bits (A.3.1). Phones run static graphs, one for the prompt and one
// to decode. OnemodelAssumptions has the facts that the paper does not state. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/papers/figures/coster_cache.h"
#include "tessera/npu/lora_mode.h"

namespace tessera {

// A shape, and the sizes that graphs are compiled for. The paper does not state these sizes either.
struct OnemodelShape {
  const char* shape;
  int64_t context;
  int64_t chunk_rows;   // The rows of the graph for prompts.
};
// The shapes in the calibration of profiles.
inline constexpr OnemodelShape kOnemodel1b = {"004-1b", 1024, 128};
inline constexpr OnemodelShape kOnemodel3b = {"004-3b", 4096, 256};
inline constexpr char kOnemodelRecipe[] = "int4-channel-a16";   // Section A.3.1: INT4 weights, INT16 activations.

struct OnemodelAssumptions {
  int adapter_rank = 16;
  int prompt_chunks = 3;   // The number of chunks of a prompt, for whole set-ups.
};

struct AdapterWay {
  LoraMode mode = LoraMode::kInput;
  bool together = false;   // Under a mask: one pair of products for all tasks, as the engine computes a mask; else one pair for each task.
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
  int graphs = 2;                      // The number of graphs that the phone keeps.
  int64_t graph_bytes = 0;             // Weights in all of them, shared ones once; a mask's adapters are among them.
  int64_t adapter_bytes = 0;           // Adapters that are inputs.
  int64_t other_bytes = 0;             // Embedding table, keys and values, activations.
  double load_seconds = 0;             // Graphs, then adapters that are inputs.
  double chunk_seconds = 0;            // A chunk of the prompt, with the logits of its last row,
  double first_token_seconds = 0;      // all chunks,
  double token_seconds = 0;            // and a pass of one row; with one task's adapter.
  int64_t sessions = 1;                // The sessions that the phone's address space needs.

  int64_t peak_bytes() const { return graph_bytes + adapter_bytes + other_bytes; }
};

class OnemodelCosts {
 public:
  // Both must outlive this.
  OnemodelCosts(const ProfileSet& profiles, KnownModels& models, const OnemodelAssumptions& assumptions = {})
      : assumed_(assumptions), costers_(profiles, models) {}

  // Computes a whole set-up. The errors of CosterCache, and of costs. REQUIRES of all functions here: tasks and rows are positive.
  absl::StatusOr<OnemodelSetup> SetupOf(const std::string& phone, const OnemodelShape& model, AdapterWay way, int tasks);

  // Returns the seconds of a pass of `rows` rows, all with logits, without adapters.
  absl::StatusOr<double> PassSeconds(const std::string& phone, const OnemodelShape& model, int64_t rows);
  // Returns the seconds of such a pass with one task's adapter as an input. split: B is a product per head; else one product for all heads.
  absl::StatusOr<double> AdaptedPassSeconds(const std::string& phone, const OnemodelShape& model, int64_t rows, bool split = true);
  // Returns the seconds of a prompt of `chunks` full chunks with one task's adapter as an input.
  absl::StatusOr<double> AdaptedPromptSeconds(const std::string& phone, const OnemodelShape& model, int chunks, bool split = true);

  absl::StatusOr<int64_t> AdapterBytes(const OnemodelShape& model);   // One task's.
  // The model in FP16; an embedding table that is also the head counts once.
  absl::StatusOr<int64_t> HalfBytes(const OnemodelShape& model);

  const OnemodelAssumptions& assumptions() const { return assumed_; }

 private:
  absl::StatusOr<const PassCoster*> CosterOf(const std::string& phone, const OnemodelShape& model);
  absl::StatusOr<double> PromptSeconds(const std::string& phone, const OnemodelShape& model, int chunks);
  // The products that adapters add to a pass: one pair at each matrix.
  struct AdapterForm { int rank = 0; bool masked = false, split = true; };
  absl::StatusOr<double> AdapterSeconds(const std::string& phone, const OnemodelShape& model, int64_t rows, const AdapterForm& form);
  // The matrices of all layers that adapters are merged into.
  absl::StatusOr<int64_t> AdaptedMatrixBytes(const OnemodelShape& model);
  // Adds the seconds of `pairs` pairs of products to each run. AddWay adds everything specific to the way.
  absl::Status AddAdapters(const OnemodelShape& model, int pairs, const AdapterForm& form, OnemodelSetup& setup);
  absl::Status AddWay(const OnemodelShape& model, OnemodelSetup& setup);

  const OnemodelAssumptions assumed_;
  CosterCache costers_;
};

}  // namespace tessera
