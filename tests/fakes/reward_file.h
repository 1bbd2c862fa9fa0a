// Files of reward heads in each layout (model/reward_head.h), of random numbers; invalid files after changes to their contents.
//
//   RewardFile file = RandomReward(/*width=*/64, /*hidden=*/4, /*seed=*/1);      // as scripts/train/reward.py writes them; 0: linear
//   file.Of("reward.out.bias").numbers = {0.5f};
//   file.WriteTo(folder.Path("reward.safetensors"));
//   LogitOf(file, state);                                                       // by plain arithmetic
//
// Pure except for WriteTo.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/forecast_file.h"

namespace tessera {

using RewardFile = ForecastFile;   // Tensors and texts, as in any safetensors file.

// Makes numbers large enough that scores differ.
inline RewardFile::Tensor RandomTensor(const std::string& name, const std::vector<int64_t>& shape, SeededRandom& random) {
  RewardFile::Tensor tensor = {name, shape, {}};
  int64_t count = 1;
  for (const int64_t length : shape) count *= length;
  const float size = std::sqrt(3.0f / static_cast<float>(shape.back()));
  for (int64_t i = 0; i < count; ++i) tensor.numbers.push_back(random.Uniform(-size, size));
  return tensor;
}

inline RewardFile RandomReward(int64_t width, int64_t hidden, uint64_t seed) {
  SeededRandom random(seed);
  RewardFile file;
  if (hidden > 0) {
    file.tensors = {RandomTensor("reward.hidden.weight", {hidden, width}, random), RandomTensor("reward.hidden.bias", {hidden}, random)};
    file.texts = {{"made_by", "reward.py"}, {"activation", "relu"}};
  }
  file.tensors.push_back(RandomTensor("reward.out.weight", {1, hidden > 0 ? hidden : width}, random));
  file.tensors.push_back(RandomTensor("reward.out.bias", {1}, random));
  return file;
}

// Makes a value head as TRL writes one; without a bias, as in sequence classification.
inline RewardFile RandomValueHead(int64_t width, uint64_t seed) {
  SeededRandom random(seed);
  return {.tensors = {RandomTensor("v_head.summary.weight", {1, width}, random), RandomTensor("v_head.summary.bias", {1}, random)}};
}
inline RewardFile RandomClassifier(int64_t width, uint64_t seed) {
  SeededRandom random(seed);
  return {.tensors = {RandomTensor("score.weight", {1, width}, random)}};
}

// Returns the logit for a state after the model's norm.
inline double LogitOf(const RewardFile& file, absl::Span<const float> state) {
  std::vector<double> inputs(state.begin(), state.end());
  for (size_t at = 0; at < file.tensors.size();) {
    const std::vector<float>& weight = file.tensors[at].numbers;
    const bool has_bias = at + 1 < file.tensors.size();
    std::vector<double> outputs(weight.size() / inputs.size());
    for (size_t row = 0; row < outputs.size(); ++row) {
      outputs[row] = has_bias ? double{file.tensors[at + 1].numbers[row]} : 0;
      for (size_t i = 0; i < inputs.size(); ++i) outputs[row] += double{weight[row * inputs.size() + i]} * inputs[i];
      if (at + 2 < file.tensors.size()) outputs[row] = std::fmax(outputs[row], 0);
    }
    inputs = outputs;
    at += has_bias ? 2 : 1;
  }
  return inputs[0];
}

}  // namespace tessera
