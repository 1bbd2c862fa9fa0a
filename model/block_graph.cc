#include "tessera/model/block_graph.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/model/lora.h"

namespace tessera {
namespace {

// Rounding the inputs of two products changes the logits more than rounding all other inputs: the head, and attention's values. The head is
// computed for few rows (one of a prompt), and values are few outputs (a thirtieth of a layer). The inputs of both therefore get 16 bits
// (docs/numerics.md has the measurements).
constexpr bool kFine = true;

constexpr int Placeholder(LoraTarget target) { return static_cast<int>(target); }

// Adds the operators of one decoder layer, part by part.
class LayerBuilder {
 public:
  LayerBuilder(const ModelConfig& config, const WeightLayout& layout, int layer)
      : config_(config), layout_(layout), layer_(layer), queries_(int64_t{config.heads} * config.head_size),
        keys_(int64_t{config.kv_heads} * config.head_size) {}

  BlockGraph Build() {
    block_.graph.adapters = kLoraTargets;
    const BufferId hidden = block_.graph.AddInput("hidden", config_.width);
    const BufferId attended = AddAttention(Project(hidden, /*queries=*/true));
    const BufferId after_attention = block_.graph.AddScratch("after_attention", config_.width);
    block_.graph.Add(Add{.a = hidden, .b = attended, .y = after_attention});
    const BufferId fed = AddFeedForward(after_attention);
    block_.graph.Add(Add{.a = after_attention, .b = fed, .y = block_.graph.AddOutput("hidden", config_.width)});
    return std::move(block_);
  }

  BlockGraph BuildKeysAndValues() {
    block_.graph.adapters = kLoraTargets;
    Project(block_.graph.AddInput("hidden", config_.width), /*queries=*/false);
    return std::move(block_);
  }

 private:
  // Stores keys and values; returns the queries if requested.
  BufferId Project(BufferId hidden, bool queries) {
    const BufferId normed = Norm(hidden, "attn_norm.weight", "attn_normed");
    BufferId query = queries ? Scratch("query", queries_) : kNone, key = Scratch("key", keys_), value = Scratch("value", keys_);
    Linear project{.x = normed};
    if (queries) AddProducts(project, "attn_q.weight", query, LoraTarget::kQuery);
    AddProducts(project, "attn_k.weight", key, LoraTarget::kKey);
    AddProducts(project, "attn_v.weight", value, LoraTarget::kValue, kFine);
    block_.graph.Add(std::move(project));
    const LayerBiases& biases = config_.layers[layer_].biases;
    if (queries && biases.query) query = Bias(query, "attn_q.bias", "query_biased");
    if (biases.key) key = Bias(key, "attn_k.bias", "key_biased");
    if (biases.value) value = Bias(value, "attn_v.bias", "value_biased");
    if (config_.query_key_norm) {
      if (queries) query = Norm(query, "attn_q_norm.weight", "query_normed", config_.heads);
      key = Norm(key, "attn_k_norm.weight", "key_normed", config_.kv_heads);
    }
    if (queries) query = Rotate(query, config_.heads, "query_rotated");
    key = Rotate(key, config_.kv_heads, "key_rotated");
    block_.graph.Add(StoreKeyValue{.key = key, .value = value, .layer = 0});
    return query;
  }

  BufferId AddAttention(BufferId query) {
    const LayerConfig& layer = config_.layers[layer_];
    const BufferId mixed = Scratch("mixed", queries_);
    block_.graph.Add(Attention{.query = query, .y = mixed, .layer = 0, .heads = config_.heads, .scale = config_.attention_scale,
                               .window = layer.window});
    BufferId out = Multiply(mixed, "attn_output.weight", "attention", config_.width, LoraTarget::kOutput);
    if (layer.biases.output) out = Bias(out, "attn_output.bias", "attention_biased");
    return config_.post_norms ? Norm(out, "post_attention_norm.weight", "attention_normed") : out;
  }

  BufferId AddFeedForward(BufferId hidden) {
    const BufferId normed = Norm(hidden, "ffn_norm.weight", "ffn_normed");
    const LayerBiases& biases = config_.layers[layer_].biases;
    BufferId gate = Scratch("gate", config_.feed_forward), up = Scratch("up", config_.feed_forward);
    Linear widen{.x = normed};
    AddProducts(widen, "ffn_gate.weight", gate, LoraTarget::kGate);
    AddProducts(widen, "ffn_up.weight", up, LoraTarget::kUp);
    block_.graph.Add(std::move(widen));
    if (biases.gate) gate = Bias(gate, "ffn_gate.bias", "gate_biased");
    if (biases.up) up = Bias(up, "ffn_up.bias", "up_biased");
    const BufferId gated = Scratch("gated", config_.feed_forward);
    block_.graph.Add(GatedActivation{.gate = gate, .up = up, .y = gated, .activation = config_.activation});
    BufferId down = Multiply(gated, "ffn_down.weight", "feed_forward", config_.width, LoraTarget::kDown);
    if (biases.down) down = Bias(down, "ffn_down.bias", "feed_forward_biased");
    return config_.post_norms ? Norm(down, "post_ffw_norm.weight", "feed_forward_normed") : down;
  }

  BufferId Scratch(const char* name, int64_t columns) { return block_.graph.AddScratch(name, columns); }
  int64_t Columns(BufferId buffer) const { return block_.graph.buffers[buffer].columns; }
  absl::Span<const TensorPart> PartsOf(const char* label) const {
    return layout_.Parts(absl::StrCat("blk.", layer_, ".", label));
  }

  WeightId Vector(const char* label) {
    const TensorPart& part = PartsOf(label)[0];
    block_.parts.push_back(part);
    return block_.graph.AddVector(label, part.weight.spec.in_features);
  }
  BufferId Norm(BufferId x, const char* weight, const char* name, int groups = 1) {
    const BufferId y = Scratch(name, Columns(x));
    block_.graph.Add(RmsNorm{.x = x, .weight = Vector(weight), .y = y, .epsilon = config_.norm_epsilon, .groups = groups});
    return y;
  }
  BufferId Bias(BufferId x, const char* weight, const char* name) {
    const BufferId y = Scratch(name, Columns(x));
    block_.graph.Add(AddBias{.x = x, .weight = Vector(weight), .y = y});
    return y;
  }
  BufferId Rotate(BufferId x, int heads, const char* name) {
    const int table = config_.layers[layer_].rope;
    const BufferId y = Scratch(name, Columns(x));
    block_.graph.Add(Rope{.x = x, .y = y, .heads = heads, .dimensions = config_.ropes[table].dimensions, .table = table,
                          .pairs = config_.rope_pairs});
    return y;
  }
  // Splits a product if the tensor has several parts: one product per part, each with a range of columns. All share the tensor's
  // placeholder.
  void AddProducts(Linear& product, const char* label, BufferId y, LoraTarget target, bool fine = false) {
    for (const TensorPart& part : PartsOf(label)) {
      block_.parts.push_back(part);
      const WeightId matrix = block_.graph.AddMatrix(part.weight.spec, part.weight.tile);
      product.products.push_back({matrix, y, part.first_row, Placeholder(target), fine});
    }
  }
  BufferId Multiply(BufferId x, const char* weight, const char* name, int64_t columns, LoraTarget target) {
    const BufferId y = Scratch(name, columns);
    Linear product{.x = x};
    AddProducts(product, weight, y, target);
    block_.graph.Add(std::move(product));
    return y;
  }

  const ModelConfig& config_;
  const WeightLayout& layout_;
  const int layer_;
  const int64_t queries_;
  const int64_t keys_;
  BlockGraph block_;
};

}  // namespace

BlockGraph BuildLayerGraph(const ModelConfig& config, const WeightLayout& layout, int layer) {
  return LayerBuilder(config, layout, layer).Build();
}

BlockGraph BuildKeyValueGraph(const ModelConfig& config, const WeightLayout& layout, int layer) {
  return LayerBuilder(config, layout, layer).BuildKeysAndValues();
}

BlockGraph BuildEmbeddingGraph(const ModelConfig& config, const TensorPart& panel) {
  BlockGraph block;
  const BufferId hidden = block.graph.AddOutput("hidden", config.width);
  block.graph.Add(Embedding{.table = block.graph.AddMatrix(panel.weight.spec), .y = hidden, .scale = config.embedding_scale});
  block.parts.push_back(panel);
  return block;
}

BlockGraph BuildOutputNormGraph(const ModelConfig& config, const WeightLayout& layout) {
  BlockGraph block;
  const TensorPart& part = layout.Parts(OutputNormNeed(config).name)[0];
  const BufferId hidden = block.graph.AddInput("hidden", config.width), normed = block.graph.AddOutput("normed", config.width);
  const WeightId weight = block.graph.AddVector(part.weight.spec.name, config.width);
  block.graph.Add(RmsNorm{.x = hidden, .weight = weight, .y = normed, .epsilon = config.norm_epsilon});
  block.parts.push_back(part);
  return block;
}

std::vector<BlockGraph> BuildHeadGraphs(const ModelConfig& config, const WeightLayout& layout) {
  std::vector<BlockGraph> blocks;
  const absl::Span<const TensorPart> parts = layout.Parts(HeadNeed(config).name);
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t rows = parts[i].weight.spec.out_features;
    BlockGraph block;
    Graph& graph = block.graph;
    const BufferId normed = graph.AddInput("normed", config.width), logits = graph.AddOutput("logits", rows);
    const BufferId product = config.head_bias ? graph.AddScratch("product", rows) : logits;
    graph.Add(Linear{.x = normed, .products = {{graph.AddMatrix(parts[i].weight.spec), product, 0, kNone, kFine}}});
    block.parts.push_back(parts[i]);
    if (config.head_bias) {
      const TensorPart& bias = layout.Parts(HeadBiasNeed(config).name)[i];
      graph.Add(AddBias{.x = product, .weight = graph.AddVector(bias.weight.spec.name, rows), .y = logits});
      block.parts.push_back(bias);
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace tessera
