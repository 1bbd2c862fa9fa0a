// All known bad files of reward heads, each with a name and the expected error message: for tests, and as seeds of fuzzing.
//
//   for (const BadReward& row : AllBadRewards()) Refuse(row.name, row.spoil, row.message);
//
// All are RandomReward(64, 4, 1) with one defect, for a model 64 wide with 2 layers. FILE stands for the path. A message that ends in *
// gives only the start of the expected message. Pure.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/tests/fakes/reward_file.h"

namespace tessera {

struct BadReward {
  std::string name;
  std::function<void(RewardFile&)> spoil;
  std::string message;
};

inline std::string OfRewardTensor(const std::string& name, const std::string& rest) {
  return absl::StrCat("FILE: tensor \"", name, "\"", rest);
}

// Tensors that are missing, or have another shape.
inline std::vector<BadReward> RewardsOfBadShapes() {
  using F = RewardFile;
  const std::string rows = "reward.hidden.weight", inner = "reward.hidden.bias", out = "reward.out.weight", bias = "reward.out.bias";
  const std::string heads = "expected v_head.summary.weight, score.weight or reward.out.weight, a reward head";
  const auto reshaped = [](const std::string& tensor, const std::vector<int64_t>& shape, const std::string& says) {
    return BadReward{absl::StrCat(tensor, "-", shape.size(), "-", shape[0]), [=](F& f) { f.Reshape(tensor, shape); },
                     OfRewardTensor(tensor, " shape: found " + says)};
  };
  return {
      {"no-tensors", [](F& f) { f.tensors.clear(); }, "FILE: found 0 tensors, " + heads},
      {"no-out", [=](F& f) { f.Remove(out); }, absl::StrCat("FILE: found 3 tensors, ", rows, " first, ", heads)},
      {"no-bias", [=](F& f) { f.Remove(bias); }, OfRewardTensor(bias, ": found nothing, expected [1]")},
      {"no-hidden-weight", [=](F& f) { f.Remove(rows); }, OfRewardTensor(rows, ": found nothing, expected [4, 64]")},
      {"no-hidden-bias", [=](F& f) { f.Remove(inner); }, OfRewardTensor(inner, " shape: found [], expected [1] to [8192]")},
      reshaped(inner, {0}, "[0], expected [1] to [8192]"),
      reshaped(inner, {8193}, "[8193], expected [1] to [8192]"),
      reshaped(inner, {2, 2}, "[2, 2], expected [1] to [8192]"),
      reshaped(rows, {5, 64}, "[5, 64], expected [4, 64]"),
      reshaped(rows, {4, 63}, "[4, 63], expected [4, 64]"),
      reshaped(rows, {64, 4}, "[64, 4], expected [4, 64]"),
      reshaped(out, {1, 64}, "[1, 64], expected [1, 4]"),
      reshaped(out, {2, 4}, "[2, 4], expected [1, 4]"),
      reshaped(out, {4}, "[4], expected [1, 4]"),
      reshaped(bias, {2}, "[2], expected [1]"),
  };
}

// Numbers that are not finite, tensors that do not belong there, texts with other contents.
inline std::vector<BadReward> RewardsOfBadContent() {
  using F = RewardFile;
  const std::string rows = "reward.hidden.weight", inner = "reward.hidden.bias", out = "reward.out.weight", bias = "reward.out.bias";
  const auto text = [](const std::string& rest) { return absl::StrCat("FILE: __metadata__ ", rest); };
  const auto say = [](F& f, const std::string& key, const std::string& value) { f.texts.push_back({key, value}); };
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
  const std::string own = "reward.hidden.weight, reward.hidden.bias, reward.out.weight, reward.out.bias";
  return {
      {"whole-numbers", [=](F& f) { f.Of(bias).type = "I32"; }, OfRewardTensor(bias, " dtype: found I32, expected F32, F16 or BF16")},
      {"a-nan", [=](F& f) { f.Of(inner).numbers[2] = nan; }, OfRewardTensor(inner, " value 2 at byte *")},
      {"an-infinity", [=](F& f) { f.Of(rows).numbers[255] = infinite; }, OfRewardTensor(rows, " value 255 at byte *")},
      {"a-nan-weight", [=](F& f) { f.Of(out).numbers[0] = -nan; }, OfRewardTensor(out, " value 0 at byte *")},
      {"an-infinite-bias", [=](F& f) { f.Of(bias).numbers[0] = -infinite; }, OfRewardTensor(bias, " value 0 at byte *")},
      {"its-model", [](F& f) { f.tensors.push_back({"model.norm.weight", {1}, {0}}); },
       OfRewardTensor("model.norm.weight", absl::StrCat(": found it, expected ", own, " alone: a head without its model"))},
      {"a-third-layer", [](F& f) { f.tensors.push_back({"reward.hidden2.bias", {1}, {0}}); },
       OfRewardTensor("reward.hidden2.bias", ": found it, expected *")},
      {"two-heads", [](F& f) { f.tensors.push_back({"score.weight", {1, 64}, std::vector<float>(64)}); },
       OfRewardTensor(rows, ": found it, expected score.weight alone: a head without its model")},
      {"another-activation", [](F& f) { f.texts = {{"activation", "gelu"}}; }, text("activation: found \"gelu\", expected \"relu\"")},
      {"no-activation", [](F& f) { f.texts.clear(); }, text("activation: found none, expected \"relu\"")},
      {"layer-0", [=](F& f) { say(f, "layer", "0"); }, text("layer: found \"0\", expected \"1\" to \"2\"")},
      {"layer-3", [=](F& f) { say(f, "layer", "3"); }, text("layer: found \"3\", expected \"1\" to \"2\"")},
      {"layer-last", [=](F& f) { say(f, "layer", "last"); }, text("layer: found \"last\", expected \"1\" to \"2\"")},
      {"more-layers", [=](F& f) { say(f, "layers", "30"); }, text("layers: found \"30\", expected \"2\"")},
  };
}

inline std::vector<BadReward> AllBadRewards() {
  std::vector<BadReward> all = RewardsOfBadShapes();
  for (BadReward& row : RewardsOfBadContent()) all.push_back(std::move(row));
  return all;
}

}  // namespace tessera
