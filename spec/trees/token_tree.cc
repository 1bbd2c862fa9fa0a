#include "tessera/spec/trees/token_tree.h"

#include <algorithm>

#include "glog/logging.h"

namespace tessera {

int TokenTree::Add(int parent, TokenId token, float probability, int source) {
  CHECK(parent >= 0 && parent < size()) << "parent " << parent;
  CHECK(probability > 0 && probability <= 1) << "probability " << probability;
  const int child = Child(parent, token);
  if (child == kNone) {
    nodes_.push_back({token, parent, nodes_[parent].depth + 1, probability, source});
    return size() - 1;
  }
  if (probability > nodes_[child].probability) {
    nodes_[child].probability = probability;
    nodes_[child].source = source;
  }
  return child;
}

int TokenTree::Child(int parent, TokenId token) const {
  for (int node = parent + 1; node < size(); ++node) {
    if (nodes_[node].parent == parent && nodes_[node].token == token) return node;
  }
  return kNone;
}

std::vector<float> TokenTree::PathProbabilities() const {
  std::vector<float> products(nodes_.size(), 1.0f);
  for (int node = 1; node < size(); ++node) products[node] = products[nodes_[node].parent] * nodes_[node].probability;
  return products;
}

int TokenTree::Leaves() const {
  std::vector<bool> has_child(nodes_.size());
  for (int node = 1; node < size(); ++node) has_child[nodes_[node].parent] = true;
  return static_cast<int>(std::count(has_child.begin(), has_child.end(), false));
}

int TokenTree::Depth() const {
  int depth = 0;
  for (const Node& node : nodes_) depth = std::max(depth, node.depth);
  return depth;
}

std::vector<TokenId> TokenTree::PathTo(int node) const {
  std::vector<TokenId> tokens;
  for (; node != kRoot; node = nodes_[node].parent) tokens.push_back(nodes_[node].token);
  std::reverse(tokens.begin(), tokens.end());
  return tokens;
}

TokenTree TokenTree::Pick(absl::Span<const int> kept) const {
  std::vector<std::vector<int>> children(nodes_.size());
  for (const int node : kept) children[nodes_[node].parent].push_back(node);
  for (std::vector<int>& of_one : children) {  // The likeliest last: a stack gives the last first.
    std::sort(of_one.begin(), of_one.end(), [this](int a, int b) {
      return nodes_[a].probability != nodes_[b].probability ? nodes_[a].probability < nodes_[b].probability : a > b;
    });
  }
  TokenTree picked(nodes_[kRoot].token);
  std::vector<int> place(nodes_.size(), kNone), stack = children[kRoot];
  place[kRoot] = kRoot;
  while (!stack.empty()) {
    const int node = stack.back();
    stack.pop_back();
    const Node& from = nodes_[node];
    place[node] = picked.size();
    picked.nodes_.push_back({from.token, place[from.parent], from.depth, from.probability, from.source});
    stack.insert(stack.end(), children[node].begin(), children[node].end());
  }
  CHECK_EQ(picked.size(), static_cast<int>(kept.size()) + 1) << "a node without its parent, or twice";
  return picked;
}

}  // namespace tessera
