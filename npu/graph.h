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
// Every buffer is FP32 [rows, columns] and is written by exactly one operator, before it is read. Operators name no model: an
// architecture is only the order in which model/files/architectures adds them. Operators act on each row alone, but for Attention,
// which reads what StoreKeyValue wrote. Thread-compatible; a finished graph is constant data.
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

// y = x / sqrt(mean(x^2) + epsilon) * weight; with groups > 1 for each of `groups` equal parts of a row alone (heads).
struct RmsNorm { BufferId x = kNone; WeightId weight = kNone; BufferId y = kNone; float epsilon = 0; int groups = 1; };

// y[first_column ..] = W x for each product; all share x, which is rounded once. Where `adapter` is not kNone, a row whose adapter
// binds that placeholder gets y += scale * B (A x) in this product's columns, with A, B and scale from the row (multi-LoRA paper,
// section 3: LoRA as graph inputs); other rows cost nothing and keep their bits. B covers all columns of y. fine: a device that
// rounds x does so to 16 bits for this product, not to 8; others ignore it. bias: of all columns of y, added before a matrix unit rounds
// this product; Compile makes it of an AddBias, and CheckGraph refuses it.
struct Product {
  WeightId weight = kNone;
  BufferId y = kNone;
  int64_t first_column = 0;
  int adapter = kNone;
  bool fine = false;
  WeightId bias = kNone;
};
struct Linear { BufferId x = kNone; std::vector<Product> products = {}; };

// y = x + weight, the same for each row.
struct AddBias { BufferId x = kNone; WeightId weight = kNone; BufferId y = kNone; };

// y = a + b.
struct Add { BufferId a = kNone; BufferId b = kNone; BufferId y = kNone; };

// y = activation(gate) * up.
struct GatedActivation { BufferId gate = kNone; BufferId up = kNone; BufferId y = kNone; Activation activation = Activation::kSilu; };

// Rotates `dimensions` leading numbers of each head, paired as `pairs` says, by the angles of rope table `table` (RunArguments).
struct Rope {
  BufferId x = kNone;
  BufferId y = kNone;
  int heads = 0;
  int dimensions = 0;
  int table = 0;
  RopePairs pairs = RopePairs::kAdjacent;
};

// Writes the row's key and value to its slot, rounded to the cache's format. layer: relative to the KvView given to Run.
struct StoreKeyValue { BufferId key = kNone; BufferId value = kNone; int layer = 0; };

// For each head: softmax(scale * q . k) v over the row's path, its last `window` positions if window > 0. Query heads share
// key/value heads evenly, in order.
struct Attention { BufferId query = kNone; BufferId y = kNone; int layer = 0; int heads = 0; float scale = 0; int window = 0; };

// y = scale * table[token - first_token], for rows whose token lies in the table; other rows of y are left as they are.
struct Embedding { WeightId table = kNone; BufferId y = kNone; int64_t first_token = 0; float scale = 1; };

using Operator = std::variant<RmsNorm, Linear, AddBias, Add, GatedActivation, Rope, StoreKeyValue, Attention, Embedding>;

enum class BufferKind : uint8_t { kInput, kScratch, kOutput };
struct GraphBuffer { std::string name = {}; BufferKind kind = BufferKind::kScratch; int64_t columns = 0; };

// How the graph that a phone's compiler is given says all this: what paper 004's transformations have done to it, one field for each pass
// of graph_passes.h. No bit depends on it: devices that compute look at none of it, and a modeled phone charges what was not done.
struct GraphForm {
  bool split_heads = true;       // Each head's attention stands by itself; else queries, keys, values and results are reordered by heads.
  bool convolutions = true;      // Products are 1x1 convolutions; else rows are laid out as tiles before them, and as rows after.
  bool folded_scalars = true;    // Norms' weights, attention's scales, products' biases are part of operators; else operators themselves.
  bool split_adapters = true;    // An adapter's B is a product for each head; else one for all.
  bool transposed_keys = true;   // The cache holds keys as scores read them; else each run transposes all of them.

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
  // tile: of a matrix in tiles, which a device with WeightEncoding::kTiles runs. spec.format then says nothing.
  WeightId AddMatrix(MatrixSpec spec, std::optional<TileScheme> tile = {});
  void Add(Operator op) { operators.push_back(std::move(op)); }
};

// What an operator reads and writes, for planners and checks.
struct Access { std::vector<BufferId> reads = {}; std::vector<BufferId> writes = {}; std::vector<WeightId> weights = {}; };
Access AccessOf(const Operator& op);
std::string OperatorName(const Operator& op);       // "Linear".
std::string OperatorDetails(const Operator& op);    // "epsilon=1e-05 groups=9", for people.
// What costs of operators are listed by: a product's first weight ("attn_q.weight"), else the operator's name.
std::string OperatorLabel(const Graph& graph, const Operator& op);

// One line per operator, buffer and weight: equal texts mean equal graphs. For comparing and for people.
std::string GraphText(const Graph& graph);

}  // namespace tessera
