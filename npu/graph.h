// A static graph: a block of a model as plain data that a compiler can plan and a device can run.
//
//   Graph graph;
//   BufferId x = graph.AddInput("hidden", 576);
//   WeightId norm = graph.AddVector("attn_norm.weight", 576);
//   WeightId up = graph.AddMatrix({"ffn_up.weight", BlockFormat::kQ4_1, 1536, 576});
//   BufferId normed = graph.AddScratch("normed", 576), y = graph.AddOutput("up", 1536);
//   graph.Add(RmsNorm{.x = x, .weight = norm, .y = normed, .epsilon = 1e-5f});
//   graph.Add(Linear{.x = normed, .products = {{.weight = up, .y = y}}});
//
// Every buffer is FP32 [rows, columns] and is written by exactly one operator, before any read. Operators name no model: an architecture is
// only the order in which model/files/architectures adds operators. Operators act on each row alone, except Attention: Attention reads the
// keys and values that StoreKeyValue wrote.
//
// Threads: thread-compatible; a finished graph is constant data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tessera/quant/graph_weight.h"
#include "tessera/tensor/operator_variants.h"

namespace tessera {

using BufferId = int;
using WeightId = int;
constexpr int kNone = -1;

// y = x / sqrt(mean(x^2) + epsilon) * weight. With groups > 1: for each of `groups` equal parts (heads) of a row alone.
struct RmsNorm { BufferId x = kNone; WeightId weight = kNone; BufferId y = kNone; float epsilon = 0; int groups = 1; };

// y[first_column ..] = W x for each product. All products share x, which is rounded once.
//
// adapter: kNone, or a placeholder. A row whose adapter binds the placeholder gets y += scale * B (A x) in this product's columns. A, B and
// scale come from the row (multi-LoRA paper, section 3: LoRA as graph inputs). Other rows cost nothing and keep their bits. B covers all
// columns of y.
//
// fine: a device that rounds x uses 16 bits for this product, not 8; other devices ignore `fine`.
//
// bias: a vector for all columns of y, added before a matrix unit rounds this product. Compile folds an AddBias into `bias`; CheckGraph
// rejects a graph with `bias`.
struct Product {
  WeightId weight = kNone;
  BufferId y = kNone;
  int64_t first_column = 0;
  int adapter = kNone;
  bool fine = false;
  WeightId bias = kNone;
};
struct Linear { BufferId x = kNone; std::vector<Product> products = {}; };

// y = x + weight, with the same weight for each row.
struct AddBias { BufferId x = kNone; WeightId weight = kNone; BufferId y = kNone; };

// y = a + b.
struct Add { BufferId a = kNone; BufferId b = kNone; BufferId y = kNone; };

// y = activation(gate) * up.
struct GatedActivation { BufferId gate = kNone; BufferId up = kNone; BufferId y = kNone; Activation activation = Activation::kSilu; };

// Rotates the `dimensions` leading numbers of each head by the angles of rope table `table` (RunArguments). `pairs` gives the pairing.
struct Rope {
  BufferId x = kNone;
  BufferId y = kNone;
  int heads = 0;
  int dimensions = 0;
  int table = 0;
  RopePairs pairs = RopePairs::kAdjacent;
};

// Writes the row's key and value to the row's slot, rounded to the cache's format. layer: relative to the KvView given to Run.
struct StoreKeyValue { BufferId key = kNone; BufferId value = kNone; int layer = 0; };

// For each head: softmax(scale * q . k) v over the row's path, or over the last `window` positions of the path if window > 0. Query heads
// share key/value heads evenly, in order.
struct Attention { BufferId query = kNone; BufferId y = kNone; int layer = 0; int heads = 0; float scale = 0; int window = 0; };

// y = scale * table[token - first_token] for rows whose token is in the table; other rows of y stay unchanged.
struct Embedding { WeightId table = kNone; BufferId y = kNone; int64_t first_token = 0; float scale = 1; };

using Operator = std::variant<RmsNorm, Linear, AddBias, Add, GatedActivation, Rope, StoreKeyValue, Attention, Embedding>;

enum class BufferKind : uint8_t { kInput, kScratch, kOutput };
struct GraphBuffer { std::string name = {}; BufferKind kind = BufferKind::kScratch; int64_t columns = 0; };

// The form of the graph given to a phone's compiler: the one-for-all paper's transformations that are done, one field for each pass of
// graph_passes.h. No bit depends on the form. Devices that compute ignore the form; a modeled phone charges for transformations that are
// not done.
struct GraphForm {
  // Each head's attention is a separate operator; else queries, keys, values and results are reordered by heads.
  bool split_heads = true;
  bool convolutions = true;      // Products are 1x1 convolutions; else rows are laid out as tiles before products, and as rows after.
  // Weights of norms, scales of attention and biases of products are part of operators; else separate operators.
  bool folded_scalars = true;
  bool split_adapters = true;    // An adapter's B is one product per head; else one product for all heads.
  bool transposed_keys = true;   // The cache holds keys in the layout that scores read; else each run transposes all keys.

  friend bool operator==(const GraphForm&, const GraphForm&) = default;
};

struct Graph {
  std::vector<GraphBuffer> buffers = {};
  std::vector<GraphWeight> weights = {};
  std::vector<Operator> operators = {};   // In order of execution.
  int adapters = 0;                       // Number of adapter placeholders.
  GraphForm form = {};

  BufferId AddInput(std::string name, int64_t columns);
  BufferId AddScratch(std::string name, int64_t columns);
  BufferId AddOutput(std::string name, int64_t columns);
  WeightId AddVector(std::string name, int64_t size);
  // tile: the tile scheme of a matrix that a device with WeightEncoding::kTiles runs. With `tile`, spec.format is ignored.
  WeightId AddMatrix(MatrixSpec spec, std::optional<TileScheme> tile = {});
  void Add(Operator op) { operators.push_back(std::move(op)); }
};

// The buffers and weights that an operator reads and writes, for planners and checks.
struct Access { std::vector<BufferId> reads = {}; std::vector<BufferId> writes = {}; std::vector<WeightId> weights = {}; };
Access AccessOf(const Operator& op);
std::string OperatorName(const Operator& op);       // "Linear".
std::string OperatorDetails(const Operator& op);    // Attributes for display: "epsilon=1e-05 groups=9".
// Returns the name under which costs of the operator are listed: a product's first weight ("attn_q.weight"), else the operator's name.
std::string OperatorLabel(const Graph& graph, const Operator& op);

// Returns one line per operator, buffer and weight, for comparing and for display. Equal texts mean equal graphs.
std::string GraphText(const Graph& graph);

}  // namespace tessera
