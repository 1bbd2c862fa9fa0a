// Estimates how probably each node of a tree comes, from the estimates of several drafters. Drafters that agree count more than one alone.
// Only one of several siblings can come, so each counts against the others.
//
//   EstimateMixer mixer;
//   std::vector<Estimates> said(tree.size());
//   said[1].Add(/*source=*/0, 0.6f);                                  // what two drafters say of node 1
//   said[1].Add(/*source=*/1, 0.4f);
//   const std::vector<float> chances = mixer.Mix(tree, said);         // of each node, if its parent comes
//   mixer.Learn(tree, said, verdict.emitted);                         // once the text is known
//
// The chance of a node is e^z / (1 + the sum of e^z over the node and its siblings). z is the sum of ln(p / (1 - p)) over the node's
// estimates p, each times a weight. 1 stands for tokens that were not drafted. This is a choice among alternatives (McFadden 1974), of
// experts mixed by log odds as compressors mix experts (Mahoney 2005). At first z is the log odds of the largest estimate. Weights are
// learnt for all nodes and for each set of drafters with estimates of a node, by one gradient step per node. Depends on the learnt outcomes
// alone. Thread-compatible.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

// The drafters' estimates of one node.
class Estimates {
 public:
  static constexpr int kMostSources = 8;

  // Adds a drafter's estimate. REQUIRES: 0 <= source < kMostSources, without an estimate so far; 0 < probability < 1.
  void Add(int source, float probability);

 private:
  friend class EstimateMixer;
  // One term per drafter, one for the most confident drafter, and a constant.
  static constexpr int kLargest = kMostSources, kConstant = kLargest + 1, kTerms = kConstant + 1;

  uint32_t sources_ = 0;                     // A bit for each.
  std::array<float, kTerms> terms_ = {};     // Log odds; 0 for drafters without an estimate.
};

class EstimateMixer {
 public:
  // Returns by node: the chance if the parent comes; 1 for the root. REQUIRES: estimates by node, some for each node except the root.
  std::vector<float> Mix(const TokenTree& tree, absl::Span<const Estimates> said) const;

  // Learns weights from the nodes whose parents came, verified or not. `emitted` are the tokens after the root.
  void Learn(const TokenTree& tree, absl::Span<const Estimates> said, absl::Span<const TokenId> emitted);

 private:
  using Weights = std::array<float, Estimates::kTerms>;

  static float Sum(const Weights& weights, const Estimates& said);
  static void Step(float length, const Estimates& said, Weights& weights);

  Weights of_all_ = {};
  std::array<Weights, 1 << Estimates::kMostSources> of_set_ = {};   // Added to the weights of all; by the bits of the set's drafters.
};

}  // namespace tessera
