// How probably each node of a tree comes, from the estimates of several drafters: drafters that agree count more than one alone, and since
// only one of several siblings can come, each counts against the others.
//
//   EstimateMixer mixer;
//   std::vector<Estimates> said(tree.size());
//   said[1].Add(/*source=*/0, 0.6f);                                  // what two drafters say of node 1
//   said[1].Add(/*source=*/1, 0.4f);
//   const std::vector<float> chances = mixer.Mix(tree, said);         // of each node, if its parent comes
//   mixer.Learn(tree, said, verdict.emitted);                         // once the text is known
//
// The chance of a node is e^z / (1 + the sum of e^z over it and its siblings), where z is the sum of ln(p / (1 - p)) over its estimates p,
// each times a weight, and 1 stands for what nobody drafted: a choice among alternatives (McFadden 1974), of experts that are mixed by
// their log odds as compressors mix theirs (Mahoney 2005). At first z is that of the largest estimate. Weights are learnt for all nodes
// and for each set of drafters that speak of a node, by one gradient step per node. Depends on what was learnt alone. Thread-compatible.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tessera/spec/trees/token_tree.h"

namespace tessera {

// What drafters say of one node.
class Estimates {
 public:
  static constexpr int kMostSources = 8;

  // REQUIRES: 0 <= source < kMostSources, which said nothing before; 0 < probability < 1.
  void Add(int source, float probability);

 private:
  friend class EstimateMixer;
  // One term per drafter, one for the most confident of them, and a constant.
  static constexpr int kLargest = kMostSources, kConstant = kLargest + 1, kTerms = kConstant + 1;

  uint32_t sources_ = 0;                     // A bit for each.
  std::array<float, kTerms> terms_ = {};     // Log odds; 0 of those that say nothing.
};

class EstimateMixer {
 public:
  // [node], 1 for the root. REQUIRES: [node] estimates, some of each but the root.
  std::vector<float> Mix(const TokenTree& tree, absl::Span<const Estimates> said) const;

  // `emitted` is the text after the root. Weights are learnt from the nodes whose parents came, verified or not.
  void Learn(const TokenTree& tree, absl::Span<const Estimates> said, absl::Span<const TokenId> emitted);

 private:
  using Weights = std::array<float, Estimates::kTerms>;

  static float Sum(const Weights& weights, const Estimates& said);
  static void Step(float length, const Estimates& said, Weights& weights);

  Weights of_all_ = {};
  std::array<Weights, 1 << Estimates::kMostSources> of_set_ = {};   // Beside those of all; by the bits of its drafters.
};

}  // namespace tessera
