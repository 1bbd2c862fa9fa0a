// Costs of the parts of a cycle of Lever on a phone: reading a layer from flash, computing a layer, the head, and the draft, by place.
//
//   CosterCache costers(profiles, models);
//   ASSIGN_OR_RETURN(const LeverCosts costs, LeverCosts::Of({.device = "8gen3", .flash = "ufs4.0", .shape = "qwen3-8b"}, costers));
//   costs.read_seconds();                                     // of a layer, 4.5 bits per weight
//   ASSIGN_OR_RETURN(const double layer, costs.LayerSeconds(/*rows=*/16, /*positions=*/640));
//   costs.HeadSeconds(HeadWay::kOnDemandCpu, /*rows=*/16, /*reached=*/3);
//   costs.DraftSeconds(DraftWay::kBatched, /*nodes=*/6);
//
// All matrices have 4 bits in groups of 32 (Lever, section 5.1: Q4_0 for target and draft), on flash as in memory. The NPU's costs are
// those of operators by mailbox (npu/modeled), which are free in their rows. The costs apply to layers of the target, and to a draft or a
// head on the NPU, with one call each. The CPU takes the longer of reading weights and multiplying. Flash reads at the best speed of its
// profile. Embedding table and head stay in memory, as in table 1 of the paper: the table's times of reading are those of layers alone.
// Leaves cost nothing: rows of a tree share the cache here, and no sequence is copied.
//
// A draft is a known shape, or kDraftHead. The latter has a layer of the target whose queries, keys and values have inputs twice as wide,
// and a product with the states of three layers, counted in every pass. Its head has kDraftVocabulary tokens (EAGLE-3). Threads: one at a
// time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/apps/lab/papers/figures/coster_cache.h"
#include "tessera/npu/graph.h"

namespace tessera {

inline constexpr char kDraftHead[] = "eagle3";
inline constexpr int64_t kDraftVocabulary = 32000;   // The vocabulary of published heads.

// The ways to draft nodes (figure 13): one after another on either processor, or all waiting nodes in one pass, on the faster processor.
enum class DraftWay : uint8_t { kSingleNpu, kSingleCpu, kBatched };
inline constexpr DraftWay kDraftWays[] = {DraftWay::kSingleNpu, DraftWay::kSingleCpu, DraftWay::kBatched};
// The ways to compute the logits of verified nodes (figure 14): of all rows in the pass, or node by node for the nodes that the text
// reaches.
enum class HeadWay : uint8_t { kEagerNpu, kOnDemandNpu, kOnDemandCpu };
inline constexpr HeadWay kHeadWays[] = {HeadWay::kEagerNpu, HeadWay::kOnDemandNpu, HeadWay::kOnDemandCpu};
const char* NameOf(DraftWay way);   // "single-node NPU", ...
const char* NameOf(HeadWay way);    // "eager NPU", ...

class LeverCosts {
 public:
  static constexpr int kMostRows = 128;   // In a pass of the draft, or of the head; more rows count as kMostRows.

  struct Question {
    std::string device = {}, flash = {}, shape = {};
    std::string draft = kDraftHead;
  };
  // Computes the costs. The errors of CosterCache, LoadFlashProfile and CostOfGraph.
  static absl::StatusOr<LeverCosts> Of(const Question& question, CosterCache& costers);

  int layers() const { return layers_; }
  int64_t layer_bytes() const { return layer_bytes_; }
  double read_seconds() const { return static_cast<double>(layer_bytes_) / flash_bytes_per_second_; }
  double call_seconds() const { return call_seconds_; }                     // A pass takes this time in addition to its layers.
  double drafter_seconds() const { return profile_.draft_seconds; }         // A step of drafting from the text.
  bool draft_is_head() const { return draft_is_head_; }

  // Returns the seconds of a layer of the target, without reading from flash. Positions count by kPositions.
  absl::StatusOr<double> LayerSeconds(int rows, int64_t positions) const;
  // Returns the head's seconds in a cycle that verifies `rows` rows, `reached` of which the text reaches.
  double HeadSeconds(HeadWay way, int rows, int reached) const;
  // Returns the seconds to draft `nodes` nodes. `text_rows`: rows of the text before the nodes, which are in the first pass.
  double DraftSeconds(DraftWay way, int nodes, int text_rows = 0) const;

 private:
  static constexpr int64_t kPositions = 64;
  using Table = std::vector<double>;   // By rows; the first is 0.

  explicit LeverCosts(const DeviceProfile& profile) : profile_(profile) {}
  absl::StatusOr<double> NpuSeconds(const Graph& graph, int rows, int64_t positions) const;
  double CpuSeconds(const Graph& graph, int rows) const;
  // Returns the seconds of a pass in these graphs by rows, each graph as often as its count says.
  absl::StatusOr<Table> OnNpu(const std::vector<std::pair<Graph, int>>& graphs) const;
  Table OnCpu(const std::vector<std::pair<Graph, int>>& graphs) const;
  static double At(const Table& table, int rows);

  DeviceProfile profile_;
  double flash_bytes_per_second_ = 1, call_seconds_ = 0;
  int layers_ = 0;
  int64_t layer_bytes_ = 0;
  bool draft_is_head_ = false;
  Graph layer_;
  Table head_npu_, head_cpu_, draft_npu_, draft_cpu_;
  mutable std::map<std::pair<int, int64_t>, double> layer_seconds_;   // By rows and positions.
};

}  // namespace tessera
