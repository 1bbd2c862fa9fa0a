// A decoder block with every part of today's models, each optional, in unusual shapes.
//
//   Graph graph = VariedBlock({.width = 33, .heads = 6, .kv_heads = 2, .head_size = 20, .rope_dimensions = 10, .post_norms =
//   true});
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/npu/graph.h"

namespace tessera {

struct VariedShape {
  int64_t width = 64;
  int64_t inner = 96;
  int heads = 4;
  int kv_heads = 2;
  int head_size = 16;
  int rope_dimensions = 16;
  RopePairs pairs = RopePairs::kHalves;
  int window = 0;
  bool bias = false;
  bool head_norms = false;  // Norms of queries and keys.
  bool post_norms = false;
  Activation activation = Activation::kSilu;
  bool adapters = false;                                   // A placeholder at each of the seven products.
  bool fine_values = false;                                // Fine rows for the value matrix (Product::fine).
  std::vector<BlockFormat> formats = {BlockFormat::kF32};  // Taken in turn.
  std::vector<TileScheme> tiles = {};                      // Taken in turn in place of `formats`. Empty: none.
};

class VariedBlockBuilder {
 public:
  explicit VariedBlockBuilder(const VariedShape& shape) : shape_(shape) {}

  Graph Build() && {
    const BufferId hidden = graph_.AddInput("hidden", shape_.width);
    const BufferId mixed = Sum(hidden, PostNorm(Mix(Norm(hidden))), graph_.AddScratch("sum", shape_.width));
    Sum(mixed, PostNorm(FeedForward(Norm(mixed))), graph_.AddOutput("out", shape_.width));
    return std::move(graph_);
  }

 private:
  int64_t Columns(BufferId id) const { return graph_.buffers[id].columns; }

  Product Into(BufferId y, int64_t in, bool fine = false) {
    const BlockFormat format = shape_.formats[next_format_++ % shape_.formats.size()];
    const MatrixSpec spec = {"matrix " + std::to_string(next_format_), format, Columns(y), in};
    std::optional<TileScheme> tile;
    if (!shape_.tiles.empty()) tile = shape_.tiles[(next_format_ - 1) % shape_.tiles.size()];
    return {.weight = graph_.AddMatrix(spec, tile), .y = y, .adapter = shape_.adapters ? graph_.adapters++ : kNone, .fine = fine};
  }

  BufferId Norm(BufferId x, int groups = 1) {
    const BufferId y = graph_.AddScratch("normed", Columns(x));
    graph_.Add(
        RmsNorm{.x = x, .weight = graph_.AddVector("norm", Columns(x) / groups), .y = y, .epsilon = 1e-5f, .groups = groups});
    return y;
  }
  BufferId PostNorm(BufferId x) { return shape_.post_norms ? Norm(x) : x; }

  BufferId Biased(BufferId x) {
    if (!shape_.bias) return x;
    const BufferId y = graph_.AddScratch("biased", Columns(x));
    graph_.Add(AddBias{.x = x, .weight = graph_.AddVector("bias", Columns(x)), .y = y});
    return y;
  }

  BufferId Turned(BufferId x, int heads) {
    const BufferId normed = shape_.head_norms ? Norm(x, heads) : x;
    const BufferId y = graph_.AddScratch("turned", Columns(x));
    graph_.Add(Rope{.x = normed, .y = y, .heads = heads, .dimensions = shape_.rope_dimensions, .pairs = shape_.pairs});
    return y;
  }

  BufferId Sum(BufferId a, BufferId b, BufferId y) {
    graph_.Add(Add{.a = a, .b = b, .y = y});
    return y;
  }

  BufferId Mix(BufferId x) {
    const int64_t queries = shape_.heads * shape_.head_size, keys = shape_.kv_heads * shape_.head_size;
    const BufferId q = graph_.AddScratch("q", queries), k = graph_.AddScratch("k", keys), v = graph_.AddScratch("v", keys);
    graph_.Add(
        Linear{.x = x, .products = {Into(q, Columns(x)), Into(k, Columns(x)), Into(v, Columns(x), shape_.fine_values)}});
    const BufferId turned_query = Turned(Biased(q), shape_.heads), turned_key = Turned(Biased(k), shape_.kv_heads);
    graph_.Add(StoreKeyValue{.key = turned_key, .value = Biased(v), .layer = 0});
    const BufferId mixed = graph_.AddScratch("mixed", queries), y = graph_.AddScratch("projected", shape_.width);
    const float scale = 1.0f / static_cast<float>(shape_.head_size);  // Keeps scores small for any head.
    graph_.Add(Attention{.query = turned_query, .y = mixed, .heads = shape_.heads, .scale = scale, .window = shape_.window});
    graph_.Add(Linear{.x = mixed, .products = {Into(y, queries)}});
    return y;
  }

  BufferId FeedForward(BufferId x) {
    const BufferId gate = graph_.AddScratch("gate", shape_.inner), up = graph_.AddScratch("up", shape_.inner);
    const BufferId gated = graph_.AddScratch("gated", shape_.inner), y = graph_.AddScratch("down", shape_.width);
    graph_.Add(Linear{.x = x, .products = {Into(gate, Columns(x)), Into(up, Columns(x))}});
    graph_.Add(GatedActivation{.gate = gate, .up = up, .y = gated, .activation = shape_.activation});
    graph_.Add(Linear{.x = gated, .products = {Into(y, shape_.inner)}});
    return y;
  }

  const VariedShape shape_;
  Graph graph_;
  size_t next_format_ = 0;
};

inline Graph VariedBlock(const VariedShape& shape) { return VariedBlockBuilder(shape).Build(); }

}  // namespace tessera
