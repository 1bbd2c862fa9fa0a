// What passes of a model cost on a phone, by its profile: time, what bounds it, memory, and the work of each kind of operator.
//
//   ASSIGN_OR_RETURN(const PassCoster coster, PassCoster::Create(config, layout, recipe, profile, {.style = style, .context = 4096}));
//   ASSIGN_OR_RETURN(const PassCost pass, coster.Of({.rows = 8, .positions = 640, .logit_rows = 8}));
//   ASSIGN_OR_RETURN(const PassCost prompt, coster.OfPrompt(/*tokens=*/512, /*chunk_rows=*/512));
//   Print(pass.seconds, BoundName(pass.bound), coster.memory().weights);
//
// Nothing is computed: a file's header, or a known shape (files/known_shapes.h), is enough. The costs are those by which a ModeledDevice
// moves its clock (npu/modeled/operator_cost.h). Thread-safe once made.
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
  int64_t rows = 1;        // A static graph: those that it is compiled for.
  int64_t positions = 1;   // In the cache, with these rows. Static graphs look at the whole context.
  int64_t logit_rows = 1;
  int64_t attention_rows = -1;   // CostSetting::attention_rows.
};

// Operators of one kind, together. What bounds them is what bounds most of their time.
struct KindCost : OperatorCost {
  double bounded[kBounds] = {};                         // Seconds, by what bounds an operator.
};

struct PassCost {
  double seconds = 0;
  Bound bound = Bound::kCall;                           // What bounds most of it.
  double busy[kBounds] = {};
  double layer_seconds = 0, head_seconds = 0, call_seconds = 0;   // Its parts.
  int64_t read_bytes = 0;
  double joules = 0;                                    // Powers are assumed: compare ratios alone.
  std::map<std::string, KindCost> operators = {};       // Sums by label: a product's first weight ("attn_q.weight"), else "Attention".
};

// Bytes on the phone.
struct PhoneMemory {
  int64_t weights = 0;          // The NPU's: once, also where graphs do not share them, since one is loaded at a time.
  int64_t cpu_weights = 0;      // Embedding table, and the head where it is the CPU's.
  int64_t keys_and_values = 0;  // For the whole context.
  int64_t activations = 0;      // In the graph with most rows.
  int64_t total() const { return weights + cpu_weights + keys_and_values + activations; }
};

class PassCoster {
 public:
  struct Options {
    ExecutionStyle style = {};
    int64_t context = 4096;      // That static graphs are compiled for, and the cache has room for.
    int64_t most_rows = 512;     // In any pass, for activations.
    int calls_per_pass = 1;      // Graphs that the phone has a model cut into.
    int adapter_rank = 0;
    bool masks_adapters = false;   // As CostSetting has it.
    WeightArrangement arrangement = WeightArrangement::kSuperGroups;
    ModeledExp exp = ModeledExp::kTable;
  };

  // recipe: the forms of matrices on the phone; the layout's own count nothing. The errors of CostOfGraph; InvalidArgument (found,
  // expected) for options out of range.
  static absl::StatusOr<PassCoster> Create(const ModelConfig& config, const WeightLayout& layout, const WeightRecipe& recipe,
                                           const DeviceProfile& profile, const Options& options);

  absl::StatusOr<PassCost> Of(const PassShape& shape) const;

  // The graphs of a pass in the order in which they run, and what each costs: layers by number from 0 on; then, as what comes after the
  // last layer, the output norm and the head. The errors of Of. What calls take is PassCost::call_seconds.
  absl::Status Walk(const PassShape& shape, absl::FunctionRef<void(int layer, const Graph& graph, const GraphCost& cost)> visit) const;

  // A prompt of so many tokens, read in passes of chunk_rows with the logits of its last token; of static graphs, all are full.
  absl::StatusOr<PassCost> OfPrompt(int64_t tokens, int64_t chunk_rows) const;

  // The same model with graphs in another form, such as one in which a pass of npu/graph_passes.h was left out.
  PassCoster InForm(const GraphForm& form) const;
  // The same model with other adapters, or none (0). REQUIRES: a rank that Options may have; of adapters under a mask, any.
  PassCoster WithAdapters(int rank, bool masked) const;

  const PhoneMemory& memory() const { return memory_; }
  // All matrices that a pass reads, together, on the phone.
  double bits_per_weight() const { return bits_ / weights_; }
  // Sessions that the NPU's part needs, each of which can address so many bytes.
  int64_t sessions() const;
  // Loading all graphs of one row capacity.
  double LoadSeconds() const;

 private:
  PassCoster(const DeviceProfile& profile, const Options& options) : profile_(profile), options_(options) {}

  CostSetting SettingOf(const PassShape& shape) const;
  CostSetting HeadSettingOf(const PassShape& shape) const;   // For output norm and head.
  absl::Status Add(const Graph& graph, const CostSetting& setting, int times, PassCost& pass, double& seconds) const;
  // The graph with the recipe's forms of matrices, whose bytes are counted.
  Graph Shape(Graph graph, const ModelConfig& config, const WeightRecipe& recipe);
  void MeasureMemory(const ModelConfig& config, const WeightLayout& layout);

  DeviceProfile profile_;
  Options options_;
  std::vector<std::pair<Graph, int>> layers_;   // Each distinct layer, and how many there are.
  std::vector<Graph> others_;                   // Output norm, then the head.
  PhoneMemory memory_;
  double bits_ = 0, weights_ = 0;
};

}  // namespace tessera
