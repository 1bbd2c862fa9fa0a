// A decoder's layers as a small static graph, for tests that need one of every operator with real data flow.
//
//   Graph graph = DecoderBlock({.layers = 2, .adapters = true});      // "hidden" in, "out" out
#pragma once

#include <string>

#include "tessera/npu/graph.h"

namespace tessera {

struct DecoderShape {
  int layers = 1;
  int64_t width = 64;
  int64_t inner = 96;
  int heads = 4;
  int kv_heads = 2;
  int head_size = 16;
  int window = 0;
  bool adapters = false;    // A placeholder on each query projection.
  bool embedding = false;   // Starts from tokens (vocabulary of 40, cut in two tables) instead of an input.
  BlockFormat format = BlockFormat::kF32;
};

class DecoderBlockBuilder {
 public:
  explicit DecoderBlockBuilder(const DecoderShape& shape) : shape_(shape) {}

  Graph Build() && {
    BufferId hidden = Begin();
    for (int layer = 0; layer < shape_.layers; ++layer) {
      hidden = Mix(hidden, layer);
      hidden = FeedForward(hidden, layer + 1 == shape_.layers);
    }
    return std::move(graph_);
  }

 private:
  BufferId Scratch(const char* name, int64_t columns) { return graph_.AddScratch(name, columns); }
  WeightId Matrix(const char* name, int64_t out, int64_t in) { return graph_.AddMatrix({name, shape_.format, out, in}); }

  BufferId Begin() {
    if (!shape_.embedding) return graph_.AddInput("hidden", shape_.width);
    const BufferId hidden = Scratch("hidden", shape_.width);
    graph_.Add(Embedding{.table = Matrix("embedding.0", 24, shape_.width), .y = hidden, .scale = 2});
    graph_.Add(Embedding{.table = Matrix("embedding.1", 16, shape_.width), .y = hidden, .first_token = 24, .scale = 2});
    return hidden;
  }

  BufferId Norm(BufferId x) {
    const BufferId y = Scratch("normed", shape_.width);
    graph_.Add(RmsNorm{.x = x, .weight = graph_.AddVector("norm.weight", shape_.width), .y = y, .epsilon = 1e-5f});
    return y;
  }

  BufferId Rotate(BufferId x, int heads) {
    const BufferId y = Scratch("rotated", heads * shape_.head_size);
    graph_.Add(Rope{.x = x, .y = y, .heads = heads, .dimensions = shape_.head_size, .pairs = RopePairs::kHalves});
    return y;
  }

  BufferId Sum(BufferId a, BufferId b, bool last) {
    const BufferId y = last ? graph_.AddOutput("out", shape_.width) : Scratch("sum", shape_.width);
    graph_.Add(Add{.a = a, .b = b, .y = y});
    return y;
  }

  BufferId Mix(BufferId hidden, int layer) {
    const int64_t queries = shape_.heads * shape_.head_size, keys = shape_.kv_heads * shape_.head_size;
    const BufferId normed = Norm(hidden);
    const BufferId q = Scratch("q", queries), k = Scratch("k", keys), v = Scratch("v", keys);
    const int adapter = shape_.adapters ? graph_.adapters++ : kNone;
    graph_.Add(Linear{.x = normed, .products = {{.weight = Matrix("q.weight", queries, shape_.width), .y = q, .adapter = adapter},
                                                {.weight = Matrix("k.weight", keys, shape_.width), .y = k},
                                                {.weight = Matrix("v.weight", keys, shape_.width), .y = v}}});
    const BufferId biased = Scratch("v_biased", keys);
    graph_.Add(AddBias{.x = v, .weight = graph_.AddVector("v.bias", keys), .y = biased});
    const BufferId rotated_q = Rotate(q, shape_.heads), rotated_k = Rotate(k, shape_.kv_heads);
    graph_.Add(StoreKeyValue{.key = rotated_k, .value = biased, .layer = layer});
    const BufferId mixed = Scratch("mixed", queries), projected = Scratch("projected", shape_.width);
    graph_.Add(Attention{
        .query = rotated_q, .y = mixed, .layer = layer, .heads = shape_.heads, .scale = 0.25f, .window = shape_.window});
    graph_.Add(Linear{.x = mixed, .products = {{.weight = Matrix("o.weight", shape_.width, queries), .y = projected}}});
    return Sum(hidden, projected, /*last=*/false);
  }

  BufferId FeedForward(BufferId hidden, bool last) {
    const BufferId normed = Norm(hidden);
    const BufferId gate = Scratch("gate", shape_.inner), up = Scratch("up", shape_.inner), gated = Scratch("gated", shape_.inner);
    graph_.Add(Linear{.x = normed, .products = {{.weight = Matrix("gate.weight", shape_.inner, shape_.width), .y = gate},
                                                {.weight = Matrix("up.weight", shape_.inner, shape_.width), .y = up}}});
    graph_.Add(GatedActivation{.gate = gate, .up = up, .y = gated, .activation = Activation::kSilu});
    const BufferId down = Scratch("down", shape_.width);
    graph_.Add(Linear{.x = gated, .products = {{.weight = Matrix("down.weight", shape_.width, shape_.inner), .y = down}}});
    return Sum(hidden, down, last);
  }

  const DecoderShape shape_;
  Graph graph_;
};

inline Graph DecoderBlock(const DecoderShape& shape) { return DecoderBlockBuilder(shape).Build(); }

}  // namespace tessera
