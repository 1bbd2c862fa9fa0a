#include "tessera/npu/fold_biases.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera {
namespace {

int64_t ReadersOf(const Graph& graph, BufferId buffer) {
  int64_t readers = 0;
  for (const Operator& op : graph.operators) {
    const Access access = AccessOf(op);
    readers += std::count(access.reads.begin(), access.reads.end(), buffer);
  }
  return readers;
}

// The products that write a buffer, if all are with matrices in tiles; else none.
std::vector<Product*> TileProductsInto(Graph& graph, BufferId buffer) {
  std::vector<Product*> products;
  for (Operator& op : graph.operators) {
    Linear* const linear = std::get_if<Linear>(&op);
    if (linear == nullptr) continue;
    for (Product& product : linear->products) {
      if (product.y != buffer) continue;
      if (!graph.weights[static_cast<size_t>(product.weight)].tile.has_value()) return {};
      products.push_back(&product);
    }
  }
  return products;
}

bool Fold(Graph& graph, const AddBias& op) {
  if (graph.buffers[static_cast<size_t>(op.x)].kind != BufferKind::kScratch || ReadersOf(graph, op.x) != 1) return false;
  const std::vector<Product*> products = TileProductsInto(graph, op.x);
  for (Product* const product : products) {
    product->y = op.y;
    product->bias = op.weight;
  }
  return !products.empty();
}

}  // namespace

Graph FoldBiases(Graph graph) {
  for (size_t i = 0; i < graph.operators.size();) {
    const AddBias* const op = std::get_if<AddBias>(&graph.operators[i]);
    if (op != nullptr && Fold(graph, AddBias(*op))) {
      graph.operators.erase(graph.operators.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return graph;
}

}  // namespace tessera
