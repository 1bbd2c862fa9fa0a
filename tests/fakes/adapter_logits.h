// Computes logits of a text with an adapter, and their distance from the true logits (adapter_truth.h).
//
//   EXPECT_LE(FarthestFrom(truth.Logits(tokens), LogitsOf(machine, tokens, &adapter)), 1e-3);
//
// Thread-compatible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/lora.h"
#include "tessera/tests/fakes/adapter_truth.h"
#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {

// Returns the largest difference between a logit and the true logit, relative to the largest logit of the row.
inline double FarthestFrom(const AdapterTruth::Rows& truth, const std::vector<std::vector<float>>& logits) {
  double farthest = 0;
  for (size_t row = 0; row < truth.size(); ++row) {
    double most = 0, largest = 0;
    for (size_t i = 0; i < truth[row].size(); ++i) {
      most = std::max(most, std::abs(truth[row][i] - logits[row][i]));
      largest = std::max(largest, std::abs(truth[row][i]));
    }
    farthest = std::max(farthest, most / largest);
  }
  return farthest;
}

inline std::vector<std::vector<float>> LogitsOf(Machine& machine, const std::vector<TokenId>& tokens, const LoraAdapter* adapter) {
  const KvCache::SequenceId sequence = machine.cache().NewSequence();
  std::vector<std::vector<float>> logits;
  constexpr size_t kMostRows = 32;
  for (size_t begin = 0; begin < tokens.size(); begin += kMostRows) {
    for (std::vector<float>& row : machine.Extend(sequence, absl::MakeConstSpan(tokens).subspan(begin, kMostRows), adapter)) {
      logits.push_back(std::move(row));
    }
  }
  machine.cache().Release(sequence);
  return logits;
}

}  // namespace tessera
