#include "tessera/npu/modeled/operator_cost.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/modeled/tile_plan.h"

namespace tessera {

namespace {

constexpr int64_t kTile = 32, kLanes = 64, kTileWeights = 1024, kGroupsWeights = 256, kMostCount = int64_t{1} << 24;
constexpr int64_t kExpTableBytes = 64 << 10;     // Kept in tightly coupled memory (the test-time scaling paper, section 5.2.1).
constexpr int64_t kScoreBlock = 64;              // Keys of a block of attention are a multiple of this (htp-ops-lib).
// The cost of 2^x by a polynomial, relative to the table: 22 and 44 operations in place of the gather (notes of ggml's kernels).
constexpr double kHalfPolynomialPackets = 22, kFloatPolynomialPackets = 44;

double& Busy(OperatorCost& cost, Bound bound) { return cost.busy[static_cast<size_t>(bound)]; }

double Tiles(int64_t count) { return static_cast<double>(CeilDiv(count, kTile)); }

// Sets the bound to the part that takes longest.
void SetBound(OperatorCost& cost) {
  const auto longest = std::max_element(std::begin(cost.busy), std::end(cost.busy));
  cost.bound = static_cast<Bound>(longest - std::begin(cost.busy));
}

class Coster {
 public:
  Coster(const Graph& graph, const CostSetting& setting)
      : graph_(graph), setting_(setting), profile_(setting.profile), form_(is_static() ? graph.form : GraphForm()) {
    for (const GraphWeight& weight : graph.weights) integers_ = integers_ || IsInteger(weight);
    for (const Operator& op : graph.operators) {
      if (const auto* store = std::get_if<StoreKeyValue>(&op)) key_columns_ = ColumnsOf(store->key);
      if (const auto* attention = std::get_if<Attention>(&op)) head_size_ = ColumnsOf(attention->query) / attention->heads;
    }
  }

  absl::StatusOr<OperatorCost> CostOf(const Operator& op) const {
    if (const auto* linear = std::get_if<Linear>(&op)) return OfLinear(*linear);
    if (const auto* attention = std::get_if<Attention>(&op)) return OfAttention(*attention);
    if (const auto* embedding = std::get_if<Embedding>(&op)) return OfEmbedding(*embedding);
    return OfRows(op);
  }

 private:
  static bool IsInteger(const GraphWeight& weight) { return weight.tile.has_value() && weight.tile->input != TileInput::kHalf; }

  int64_t ColumnsOf(BufferId id) const { return graph_.buffers[static_cast<size_t>(id)].columns; }
  double VectorPackets() const { return profile_.vector_threads * profile_.vector_hertz; }
  bool is_static() const { return setting_.style.static_graphs; }
  double Overhead() const { return is_static() ? profile_.operator_seconds : profile_.kernel_seconds; }
  bool IsOnCpu(const GraphWeight& weight) const {
    return !weight.tile.has_value() && setting_.style.plain_matrices == ComputePlace::kCpu;
  }
  int64_t PlainRows() const { return setting_.plain_rows < 0 ? setting_.rows : setting_.plain_rows; }

  // Packets that a thread takes for one tile of weights.
  double DequantizePackets() const {
    constexpr double kGroups = static_cast<double>(kTileWeights) / kGroupsWeights;
    if (is_static()) return kGroups * profile_.dequantize_static_packets;
    switch (setting_.arrangement) {
      case WeightArrangement::kSuperGroups: return kGroups * profile_.dequantize_packets;
      case WeightArrangement::kTileGroups: return kGroups * profile_.dequantize_group_packets;
      case WeightArrangement::kScattered: return kGroups * profile_.dequantize_scatter_packets;
      // A copy: 1024 FP16 numbers are 16 registers.
      case WeightArrangement::kNotDequantized: return static_cast<double>(kTileWeights) / kLanes;
    }
    return 0;
  }

  absl::StatusOr<OperatorCost> OfLinear(const Linear& linear) const {
    OperatorCost sum;
    for (const Product& product : linear.products) {
      const GraphWeight& weight = graph_.weights[static_cast<size_t>(product.weight)];
      OperatorCost cost;
      if (IsOnCpu(weight)) {
        cost = OnCpu(weight);
      } else if (!weight.tile.has_value()) {
        cost = InGraph(weight, kTileWeights, /*integers=*/true);
      } else if (is_static()) {
        cost = InGraph(weight, TileBytes(*weight.tile), IsInteger(weight));
      } else {
        ASSIGN_OR_RETURN(cost, ByMailbox(weight));
      }
      if (const int rank = AdapterRankOf(product); rank > 0) AddAdapter(weight, rank, cost);
      Accumulate(cost, sum);
    }
    AddForm(linear, sum);
    SetBound(sum);
    return sum;
  }

  static void Accumulate(const OperatorCost& cost, OperatorCost& sum) {
    sum.seconds += cost.seconds;
    sum.read_bytes += cost.read_bytes;
    for (int part = 0; part < kBounds; ++part) sum.busy[part] += cost.busy[part];
  }

  // A product in a static graph: weights come while the ones before are multiplied.
  OperatorCost InGraph(const GraphWeight& weight, int64_t tile_bytes, bool integers) const {
    OperatorCost cost;
    const double tiles = Tiles(weight.spec.in_features) * Tiles(weight.spec.out_features);
    cost.read_bytes = static_cast<int64_t>(tiles) * tile_bytes;
    const double rate = profile_.matrix_tiles_per_second * profile_.matrix_efficiency * (integers ? profile_.matrix_integer_speedup : 1);
    Busy(cost, Bound::kDma) = static_cast<double>(cost.read_bytes) / profile_.dma_bytes_per_second;
    Busy(cost, Bound::kMatrix) = tiles * Tiles(setting_.rows) / rate;
    Busy(cost, Bound::kVector) = integers ? 0 : tiles * DequantizePackets() / VectorPackets();
    Busy(cost, Bound::kCall) = Overhead();
    cost.seconds = Overhead() + std::max(Busy(cost, Bound::kDma), Busy(cost, Bound::kMatrix) + Busy(cost, Bound::kVector));
    return cost;
  }

  // A product of the operator that the test-time scaling paper calls by mailbox.
  absl::StatusOr<OperatorCost> ByMailbox(const GraphWeight& weight) const {
    const TileProduct product = {.rows = setting_.rows,
                                 .inputs = weight.spec.in_features,
                                 .outputs = weight.spec.out_features,
                                 .tile_bytes = TileBytes(*weight.tile)};
    ASSIGN_OR_RETURN(const TilePlan plan, PlanTiles(product, static_cast<int64_t>(profile_.tcm_bytes) - kExpTableBytes));
    // Conversion and storing have one thread (htp-ops-lib).
    const double convert = static_cast<double>(kTileWeights / kLanes) * profile_.row_packets / profile_.vector_hertz;
    const TileStages stages = {.convert = convert,
                               .read = static_cast<double>(product.tile_bytes) / profile_.dma_bytes_per_second,
                               .dequantize = DequantizePackets() / VectorPackets(),
                               .multiply = 1 / (profile_.matrix_tiles_per_second * profile_.matrix_efficiency),
                               .store = convert};
    const TileSchedule schedule = ScheduleTiles(plan, stages);
    OperatorCost cost;
    const auto busy = [&](TileStep::Stage stage) { return schedule.busy[static_cast<size_t>(stage)]; };
    cost.read_bytes = static_cast<int64_t>(Tiles(product.inputs) * Tiles(product.outputs)) * product.tile_bytes * plan.row_chunks;
    Busy(cost, Bound::kDma) = busy(TileStep::Stage::kRead);
    Busy(cost, Bound::kMatrix) = busy(TileStep::Stage::kMultiply);
    Busy(cost, Bound::kVector) = busy(TileStep::Stage::kConvert) + busy(TileStep::Stage::kDequantize) + busy(TileStep::Stage::kStore);
    Busy(cost, Bound::kCall) = Overhead();
    cost.seconds = Overhead() + schedule.seconds;
    return cost;
  }

  // Returns the cost of a product on the CPU: the longer of multiplying and reading.
  OperatorCost OnCpu(const GraphWeight& weight) const {
    OperatorCost cost;
    const double weights = static_cast<double>(weight.spec.in_features) * static_cast<double>(weight.spec.out_features);
    const BlockFormatInfo& format = InfoOf(weight.spec.format);
    cost.read_bytes = static_cast<int64_t>(weights * format.bytes_per_block / format.values_per_block);
    cost.seconds = std::max(weights * static_cast<double>(PlainRows()) / profile_.cpu_products_per_second,
                            static_cast<double>(cost.read_bytes) / profile_.cpu_bytes_per_second);
    Busy(cost, Bound::kCpu) = cost.seconds;
    return cost;
  }

  // Returns the vector unit's seconds to write numbers, each like a norm, rotation, activation or conversion.
  double RowSeconds(int64_t numbers) const {
    const double packets = is_static() && integers_ ? profile_.row_integer_packets : profile_.row_packets;
    return static_cast<double>(numbers) / kLanes * packets / VectorPackets();
  }

  // Adds separate operators that together write `numbers` numbers.
  void AddOperators(int operators, int64_t numbers, OperatorCost& cost) const {
    const double seconds = RowSeconds(numbers), overhead = operators * Overhead();
    Busy(cost, Bound::kVector) += seconds;
    Busy(cost, Bound::kCall) += overhead;
    cost.seconds += seconds + overhead;
  }

  // Adds the costs in addition to products: biases, and rows laid out as tiles and back.
  void AddForm(const Linear& linear, OperatorCost& cost) const {
    int64_t outputs = 0;
    for (const Product& product : linear.products) {
      const GraphWeight& weight = graph_.weights[static_cast<size_t>(product.weight)];
      if (IsOnCpu(weight)) continue;
      outputs += weight.spec.out_features;
      if (form_.folded_scalars || product.bias == kNone) continue;
      // One operator for each bias, of which each product has a part.
      AddOperators(product.first_column == 0 ? 1 : 0, weight.spec.out_features * setting_.rows, cost);
    }
    if (!form_.convolutions && outputs > 0) AddOperators(2, (ColumnsOf(linear.x) + outputs) * setting_.rows, cost);
  }

  // Adds the costs in addition to the NPU's attention: queries and results reordered by heads, queries times the scale, and keys
  // transposed.
  void AddForm(const Attention& attention, int64_t keys, OperatorCost& cost) const {
    const int64_t queries = ColumnsOf(attention.query) * setting_.rows;
    if (!form_.split_heads && attention.heads > 1) AddOperators(2, 2 * queries, cost);
    if (!form_.folded_scalars) AddOperators(1, queries, cost);
    if (!form_.transposed_keys) AddOperators(1, keys, cost);
  }

  // Adds the costs in addition to other operators: a norm's numbers times the weight; keys and values of several heads reordered for the
  // NPU's attention.
  void AddForm(const Operator& op, int64_t numbers, OperatorCost& cost) const {
    if (!form_.folded_scalars && std::holds_alternative<RmsNorm>(op)) AddOperators(1, numbers, cost);
    const bool reordered = std::holds_alternative<StoreKeyValue>(op) && setting_.style.attention == ComputePlace::kNpu;
    if (!form_.split_heads && reordered && key_columns_ != head_size_) AddOperators(2, numbers, cost);
  }

  // 0: there is none.
  int AdapterRankOf(const Product& product) const {
    if (product.adapter == kNone) return 0;
    return setting_.adapter_ranks.empty() ? setting_.adapter_rank : setting_.adapter_ranks[static_cast<size_t>(product.adapter)];
  }

  // y += B (A x), A and B being inputs of the graph (the one-for-all paper, section 3.2): read and multiplied in each run. B split by heads
  // has the same tiles.
  void AddAdapter(const GraphWeight& weight, int rank, OperatorCost& cost) const {
    const int64_t numbers = (weight.spec.in_features + weight.spec.out_features) * rank;
    const double tiles = (Tiles(weight.spec.in_features) + Tiles(weight.spec.out_features)) * Tiles(rank);
    const double read = static_cast<double>(2 * numbers) / profile_.dma_bytes_per_second;
    const double multiply = tiles * Tiles(setting_.rows) / (profile_.matrix_tiles_per_second * profile_.matrix_efficiency);
    cost.read_bytes += 2 * numbers;
    Busy(cost, Bound::kDma) += read;
    Busy(cost, Bound::kMatrix) += multiply;
    Busy(cost, Bound::kCall) += 2 * Overhead();
    cost.seconds += std::max(read, multiply) + 2 * Overhead();
    if (setting_.masks_adapters) AddOperators(1, rank * setting_.rows, cost);   // A x, times the mask.
  }

  double SoftmaxPackets() const {
    if (is_static() && integers_) return profile_.softmax_integer_packets;
    switch (setting_.exp) {
      case ModeledExp::kTable: return profile_.softmax_packets;
      case ModeledExp::kHalfPolynomial: return profile_.softmax_packets - profile_.gather_packets + kHalfPolynomialPackets;
      case ModeledExp::kFloatPolynomial: return profile_.softmax_packets - profile_.gather_packets + kFloatPolynomialPackets;
    }
    return 0;
  }

  absl::StatusOr<OperatorCost> OfAttention(const Attention& attention) const {
    const int64_t head_size = ColumnsOf(attention.query) / attention.heads;
    const int64_t kv_heads = std::max<int64_t>(1, key_columns_ / head_size);
    const int64_t positions = attention.window > 0 ? std::min<int64_t>(attention.window, setting_.positions) : setting_.positions;
    OperatorCost cost;
    const double numbers = 2.0 * static_cast<double>(kv_heads * head_size) * static_cast<double>(positions);
    cost.read_bytes = static_cast<int64_t>(numbers * setting_.style.key_value_bytes);
    if (setting_.style.attention == ComputePlace::kCpu) {
      const int64_t rows = setting_.attention_rows < 0 ? setting_.rows : setting_.attention_rows;
      const double scores = static_cast<double>(attention.heads) * static_cast<double>(rows * positions);
      cost.seconds = Overhead() + std::max(scores * static_cast<double>(head_size) / profile_.cpu_scores_per_second,
                                           static_cast<double>(cost.read_bytes) / profile_.cpu_bytes_per_second);
      Busy(cost, Bound::kCpu) = cost.seconds;
      SetBound(cost);
      return cost;
    }
    // By mailbox the query heads of a key/value head share tiles. In a static graph each head has separate tiles (the one-for-all paper,
    // section 3.3).
    const int64_t groups = is_static() ? attention.heads : kv_heads;
    const int64_t group_rows = AlignUp(setting_.rows * attention.heads / groups, kTile);
    const int64_t blocks = AlignUp(positions, kScoreBlock);
    const double threads = is_static() ? profile_.vector_threads : std::min(profile_.vector_threads, static_cast<double>(kv_heads));
    // The vector unit takes rows by twos, and no padding; the matrix unit takes whole tiles.
    const double scores = static_cast<double>(groups * AlignUp(setting_.rows * attention.heads / groups, 2)) * static_cast<double>(blocks);
    const double tiles = 2 * static_cast<double>(groups) * Tiles(group_rows) * Tiles(blocks) * Tiles(head_size);
    const double read_rate = is_static() ? profile_.dma_bytes_per_second : profile_.vector_bytes_per_second;
    Busy(cost, Bound::kDma) = static_cast<double>(cost.read_bytes) / read_rate;
    Busy(cost, Bound::kMatrix) = tiles / (profile_.matrix_tiles_per_second * profile_.matrix_efficiency);
    Busy(cost, Bound::kVector) = scores / kLanes * SoftmaxPackets() / (threads * profile_.vector_hertz);
    Busy(cost, Bound::kCall) = Overhead();
    cost.seconds = Overhead() + std::max(Busy(cost, Bound::kDma), Busy(cost, Bound::kMatrix) + Busy(cost, Bound::kVector));
    AddForm(attention, kv_heads * head_size * positions, cost);
    SetBound(cost);
    return cost;
  }

  // The CPU's: a row of the table for each token.
  OperatorCost OfEmbedding(const Embedding& embedding) const {
    OperatorCost cost;
    cost.read_bytes = ColumnsOf(embedding.y) * PlainRows() * 2;
    cost.seconds = static_cast<double>(cost.read_bytes) / profile_.cpu_bytes_per_second;
    Busy(cost, Bound::kCpu) = cost.seconds;
    cost.bound = Bound::kCpu;
    return cost;
  }

  // Returns the cost of norms, rotations, activations and stores: the vector unit's time, by the numbers that the operators write.
  OperatorCost OfRows(const Operator& op) const {
    const Access access = AccessOf(op);
    int64_t columns = 0;
    for (const BufferId id : access.writes.empty() ? access.reads : access.writes) columns += ColumnsOf(id);
    OperatorCost cost;
    Busy(cost, Bound::kVector) = RowSeconds(columns * setting_.rows);
    Busy(cost, Bound::kCall) = Overhead();
    cost.seconds = Busy(cost, Bound::kVector) + Overhead();
    AddForm(op, columns * setting_.rows, cost);
    SetBound(cost);
    return cost;
  }

  const Graph& graph_;
  const CostSetting& setting_;
  const DeviceProfile& profile_;
  const GraphForm form_;        // By mailbox, that of the test-time scaling paper's operators: nothing is left to do.
  bool integers_ = false;       // Some matrix takes rows of whole numbers: the graph is one of integers.
  int64_t key_columns_ = 0;
  int64_t head_size_ = 0;       // 0: the graph has no attention.
};

absl::Status CheckCount(absl::string_view name, int64_t found) {
  if (found >= 1 && found <= kMostCount) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("cost of a graph: ", name, ": found ", found, ", expected 1 to ", kMostCount));
}

}  // namespace

absl::string_view BoundName(Bound bound) {
  static constexpr std::array<absl::string_view, kBounds> kNames = {"matrix", "vector", "dma", "cpu", "call"};
  return kNames[static_cast<size_t>(bound)];
}

absl::StatusOr<GraphCost> CostOfGraph(const Graph& graph, const CostSetting& setting) {
  RETURN_IF_ERROR(CheckCount("rows", setting.rows));
  RETURN_IF_ERROR(CheckCount("positions", setting.positions));
  const Coster coster(graph, setting);
  GraphCost sum;
  std::array<double, kBounds> bounded = {};
  for (const Operator& op : graph.operators) {
    absl::StatusOr<OperatorCost> cost = coster.CostOf(op);
    if (!cost.ok()) {
      return absl::Status(cost.status().code(),
                          absl::StrCat("operator ", sum.operators.size(), " (", OperatorName(op), "): ", cost.status().message()));
    }
    sum.seconds += cost->seconds;
    sum.read_bytes += cost->read_bytes;
    for (int part = 0; part < kBounds; ++part) sum.busy[part] += cost->busy[part];
    bounded[static_cast<size_t>(cost->bound)] += cost->seconds;
    sum.operators.push_back(*std::move(cost));
  }
  sum.bound = static_cast<Bound>(std::max_element(bounded.begin(), bounded.end()) - bounded.begin());
  return sum;
}

double CallSeconds(const DeviceProfile& profile, const ExecutionStyle& style) {
  return style.static_graphs ? profile.call_seconds : profile.mailbox_seconds;
}

double JoulesOf(const GraphCost& cost, const DeviceProfile& profile) {
  const auto busy = [&](Bound bound) { return cost.busy[static_cast<size_t>(bound)]; };
  return cost.seconds * profile.idle_watts + busy(Bound::kMatrix) * profile.matrix_watts + busy(Bound::kVector) * profile.vector_watts +
         busy(Bound::kDma) * profile.dma_watts + busy(Bound::kCpu) * profile.cpu_watts;
}

}  // namespace tessera
