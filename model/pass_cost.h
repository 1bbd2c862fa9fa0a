// Predicts the cost of a model's passes on a phone by the phone's profile: time, the bound on time, memory, and the work of each kind of
// operator.
//
//   ASSIGN_OR_RETURN(const PassCoster coster, PassCoster::Create(config, layout, recipe, profile, {.style = style, .context = 4096}));
//   ASSIGN_OR_RETURN(const PassCost pass, coster.Of({.rows = 8, .positions = 640, .logit_rows = 8}));
//   ASSIGN_OR_RETURN(const PassCost prompt, coster.OfPrompt(/*tokens=*/512, /*chunk_rows=*/512));
//   Print(pass.seconds, BoundName(pass.bound), coster.memory().weights);
//
// No numbers are computed: a file's header, or a known shape (files/known_shapes.h), is enough. A ModeledDevice moves its clock by the same
// costs (npu/modeled/operator_cost.h). Threads: thread-safe once made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "tessera/model/block_graph.h"
#include "tessera/model/files/weight_recipe.h"
#include "tessera/npu/modeled/operator_cost.h"

namespace tessera {

struct PassShape {
  int64_t rows = 1;        // Static graphs: the number of rows that the graph is compiled for.
  int64_t positions = 1;   // In the cache, including these rows. Static graphs attend to the whole context.
  int64_t logit_rows = 1;
  int64_t attention_rows = -1;   // CostSetting::attention_rows.
};

// The operators of one kind, together. `bound` is the bound with the most time.
struct KindCost : OperatorCost {
  double bounded[kBounds] = {};                         // Seconds, by bound of the operator.
};

struct PassCost {
  double seconds = 0;
  Bound bound = Bound::kCall;                           // The bound with the most time.
  double busy[kBounds] = {};
  double layer_seconds = 0, head_seconds = 0, call_seconds = 0;   // Parts of `seconds`.
  int64_t read_bytes = 0;
  double joules = 0;                                    // Powers are assumed: compare only ratios.
  std::map<std::string, KindCost> operators = {};       // Sums by label: a product's first weight ("attn_q.weight"), else "Attention".
};

// Bytes in the phone's memory.
struct PhoneMemory {
  int64_t weights = 0;          // On the NPU: counted once even if graphs do not share weights, since one graph is loaded at a time.
  int64_t cpu_weights = 0;      // Embedding table, and the head if the CPU computes the head.
  int64_t keys_and_values = 0;  // For the whole context.
  int64_t activations = 0;      // In the graph with the most rows.
  int64_t total() const { return weights + cpu_weights + keys_and_values + activations; }
};

class PassCoster {
 public:
  struct Options {
    ExecutionStyle style = {};
    int64_t context = 4096;      // Static graphs are compiled for this context, and the cache has room for it.
    int64_t most_rows = 512;     // Maximum rows of any pass, for activations.
    int calls_per_pass = 1;      // Graphs into which the phone cuts a model.
    int adapter_rank = 0;
    bool masks_adapters = false;   // As in CostSetting.
    WeightArrangement arrangement = WeightArrangement::kSuperGroups;
    ModeledExp exp = ModeledExp::kTable;
  };

  // Makes a coster. recipe: the forms of matrices on the phone; the layout's own forms are ignored. Returns the errors of CostOfGraph;
  // InvalidArgument (found, expected) for options out of range.
  static absl::StatusOr<PassCoster> Create(const ModelConfig& config, const WeightLayout& layout, const WeightRecipe& recipe,
                                           const DeviceProfile& profile, const Options& options);

  absl::StatusOr<PassCost> Of(const PassShape& shape) const;

  // Visits the graphs of a pass in the order of the run, each with its cost. Layers are numbered from 0; the output norm and the head get
  // the number behind the last layer. Returns the errors of Of. Costs of calls are not visited: see PassCost::call_seconds.
  absl::Status Walk(const PassShape& shape, absl::FunctionRef<void(int layer, const Graph& graph, const GraphCost& cost)> visit) const;

  // Returns the cost of a prompt of `tokens` tokens, read in passes of chunk_rows, with the logits of the last token. Static graphs are
  // counted as full.
  absl::StatusOr<PassCost> OfPrompt(int64_t tokens, int64_t chunk_rows) const;

  // Returns the same model with graphs in another form, for example without one pass of npu/graph_passes.h.
  PassCoster InForm(const GraphForm& form) const;
  // Returns the same model with other adapters, or without adapters (0). REQUIRES: a rank that is valid in Options; any rank for masked
  // adapters.
  PassCoster WithAdapters(int rank, bool masked) const;

  const PhoneMemory& memory() const { return memory_; }
  // Returns the average over all matrices that a pass reads, on the phone.
  double bits_per_weight() const { return bits_ / weights_; }
  // Returns the number of sessions that the NPU's part needs. Each session can address a limited number of bytes.
  int64_t sessions() const;
  // Returns the seconds to load all graphs of one row capacity.
  double LoadSeconds() const;

 private:
  PassCoster(const DeviceProfile& profile, const Options& options) : profile_(profile), options_(options) {}

  CostSetting SettingOf(const PassShape& shape) const;
  CostSetting HeadSettingOf(const PassShape& shape) const;   // The setting of output norm and head.
  absl::Status Add(const Graph& graph, const CostSetting& setting, int times, PassCost& pass, double& seconds) const;
  // Returns the graph with the recipe's forms of matrices, and counts the matrices' bytes.
  Graph Shape(Graph graph, const ModelConfig& config, const WeightRecipe& recipe);
  void MeasureMemory(const ModelConfig& config, const WeightLayout& layout);

  DeviceProfile profile_;
  Options options_;
  std::vector<std::pair<Graph, int>> layers_;   // Each distinct layer, and the number of such layers.
  std::vector<Graph> others_;                   // Output norm, then the head.
  PhoneMemory memory_;
  double bits_ = 0, weights_ = 0;
};

}  // namespace tessera
