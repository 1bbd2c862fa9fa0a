// Files of reward heads: the bytes of a safetensors file. What is refused is refused in words that name the file; what is accepted has a
// layer of the model, and scores states between 0 and 1.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/reward_head.h"
#include "tessera/tests/fakes/bad_reward_heads.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr char kName[] = "reward.safetensors";

ModelConfig Target(int width) {
  ModelConfig config;
  config.width = width;
  config.layers.resize(2);
  return config;
}

absl::Status Checked(const absl::Status& status) {
  CHECK(status.ok() || absl::StartsWith(status.message(), kName)) << status;
  CHECK(status.ok() || absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status)) << status;
  return status;
}

void Use(const RewardHead& head) {
  CHECK(head.layer() >= 1 && head.layer() <= 2 && head.width() == 4 && head.hidden() >= 0 && head.hidden() <= RewardHead::kMostHidden);
  CHECK(!RewardLayoutName(head.layout()).empty());
  for (const std::vector<float>& state : {std::vector<float>{0, 0, 0, 0}, {1, -1, 1e30f, -1e30f}}) {
    const double score = head.Score(state.data());
    CHECK((score >= 0 && score <= 1) || head.hidden() > 0) << score;   // A hidden unit may be more than FP32 holds.
  }
}

std::string Good(int64_t hidden) { return RandomReward(4, hidden, 1).Bytes(); }

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  const auto file = SafetensorsFile::Parse(input, kName);
  RETURN_IF_ERROR(Checked(file.status()));
  const auto head = RewardHead::Read(**file, Target(4));
  RETURN_IF_ERROR(Checked(head.status()));
  Use(*head);
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds = {{"empty", ""}, {"linear", Good(0)}, {"hidden", Good(3)}, {"value_head", RandomValueHead(4, 1).Bytes()},
                                 {"classifier", RandomClassifier(4, 1).Bytes()}};
  const std::string good = Good(2);
  for (size_t cut = 1; cut < good.size(); cut += 29) seeds.push_back({absl::StrCat("cut_", cut), good.substr(0, cut)});
  for (const char* name : {"reward.hidden.weight", "reward.hidden.bias", "reward.out.weight", "reward.out.bias"}) {
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1}, {2}, {0}, {2, 4}, {1, 2}, {1, 4}, {4, 2}, {1, 1, 2}}) {
      RewardFile file = RandomReward(4, 2, 1);
      file.Reshape(name, shape);
      seeds.push_back({absl::StrCat("shape_", seeds.size()), file.Bytes()});
    }
  }
  for (const BadReward& row : AllBadRewards()) {
    RewardFile file = RandomReward(64, 4, 1);   // Those are spoiled in places that a small one lacks.
    row.spoil(file);
    seeds.push_back({"bad_" + row.name, file.Bytes()});
  }
  return seeds;
}

}  // namespace tessera
