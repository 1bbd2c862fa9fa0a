#include "tessera/model/reward_head.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/half.h"
#include "tessera/model/files/marked_model.h"
#include "tessera/tests/fakes/bad_reward_heads.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/loaded_weights.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/reward_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

std::vector<float> RandomState(int width, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<float> state(static_cast<size_t>(width));
  for (float& value : state) value = random.Uniform(-3, 3);
  return state;
}

// What the model's own norm makes of it.
std::vector<float> Normalized(const LoadedWeights& model, std::vector<float> state) {
  const GgufTensor& tensor = *model.file().FindTensor("output_norm.weight");
  std::vector<float> norm(state.size());
  Must(model.file().Read(tensor, 0, {reinterpret_cast<std::byte*>(norm.data()), norm.size() * sizeof(float)}));
  double squares = 0;
  for (const float value : state) squares += double{value} * double{value};
  const double factor = 1 / std::sqrt(squares / static_cast<double>(state.size()) + double{model.config().norm_epsilon});
  for (size_t i = 0; i < state.size(); ++i) state[i] = static_cast<float>(double{state[i]} * factor) * norm[i];
  return state;
}

absl::StatusOr<RewardHead> Open(const LoadedWeights& model, const std::string& path) {
  const MarkedModel marked(model.file());
  return RewardHead::Open(path, marked, model.config(), model.layout(), model.source());
}

class RewardHeadTest : public testing::Test {
 protected:
  RewardHeadTest() : model_(TinyModelBuilder({})), path_(folder_.Path("reward.safetensors")) {}

  void ExpectScores(const RewardFile& file, const RewardHead& head) const {
    for (const uint64_t seed : {1, 2, 3}) {
      const std::vector<float> state = RandomState(64, seed);
      const double logit = LogitOf(file, Normalized(model_, state));
      EXPECT_NEAR(head.Logit(state.data()), logit, 1e-5);
      EXPECT_NEAR(head.Score(state.data()), 1 / (1 + std::exp(-logit)), 1e-6);
      EXPECT_EQ(head.Score(state.data()), head.Score(state.data()));
    }
  }

  const TemporaryFolder folder_;
  const LoadedWeights model_;
  const std::string path_;
};

TEST_F(RewardHeadTest, HeaderExample) {
  RandomReward(64, 4, 1).WriteTo(path_);
  const MarkedModel model_file(model_.file());
  const ModelConfig& config = model_.config();
  const WeightLayout& layout = model_.layout();
  WeightSource& source = model_.source();
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const RewardHead head, RewardHead::Open(path_, model_file, config, layout, source));
    EXPECT_EQ(head.layer(), 2);
    EXPECT_EQ(head.hidden(), 4);
    EXPECT_GE(head.bytes(), 4 * (4 * 64 + 4 + 4 + 64));
    const std::vector<float> hidden = RandomState(64, 1);
    EXPECT_GT(head.Score(hidden.data()), 0);
    EXPECT_LT(head.Score(hidden.data()), 1);
    return head.CheckFits(config);
  };
  Must(run());
}

TEST_F(RewardHeadTest, EachLayoutIsReadByItsNames) {
  using Layout = RewardHead::Layout;
  const std::vector<std::pair<RewardFile, Layout>> files = {{RandomValueHead(64, 1), Layout::kValueHead},
                                                            {RandomClassifier(64, 2), Layout::kClassifier},
                                                            {RandomReward(64, 0, 3), Layout::kOwn},
                                                            {RandomReward(64, 7, 4), Layout::kOwn}};
  for (const auto& [file, layout] : files) {
    file.WriteTo(path_);
    const RewardHead head = Must(Open(model_, path_));
    EXPECT_EQ(head.layout(), layout) << RewardLayoutName(layout);
    ExpectScores(file, head);
  }
}

TEST_F(RewardHeadTest, NumbersOf16BitsAreWidened) {
  RewardFile file = RandomClassifier(64, 2);
  std::string bytes;
  for (float& number : file.Of("score.weight").numbers) {
    const uint16_t half = FloatToHalf(number);
    number = HalfToFloat(half);
    bytes.append(reinterpret_cast<const char*>(&half), sizeof half);
  }
  SafetensorsBuilder builder;
  builder.metadata = "{}";
  builder.entries = {{"score.weight", "\"F16\"", "[1,64]", "[0,128]"}};
  builder.data = bytes;
  std::ofstream(path_, std::ios::binary) << builder.Build();
  ExpectScores(file, Must(Open(model_, path_)));
}

TEST_F(RewardHeadTest, ALayerBelowTheLastIsReadThroughTheSameNorm) {
  RewardFile file = RandomReward(64, 0, 3);
  file.texts = {{"layer", "1"}, {"layers", "2"}};
  file.WriteTo(path_);
  const RewardHead head = Must(Open(model_, path_));
  EXPECT_EQ(head.layer(), 1);
  ExpectScores(file, head);
}

TEST_F(RewardHeadTest, StatesAfterTheNormAreUsedUnchanged) {
  const RewardFile file = RandomReward(64, 4, 5);
  const std::string bytes = file.Bytes();
  const auto read = Must(SafetensorsFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "reward"));
  const RewardHead head = Must(RewardHead::Read(*read, model_.config()));
  const std::vector<float> state = RandomState(64, 9);
  EXPECT_NEAR(head.Logit(state.data()), LogitOf(file, state), 1e-5);
}

TEST_F(RewardHeadTest, ScoresKeepTheOrderOfLogitsUpToTheRoundingTo1) {
  RewardFile file = RandomReward(64, 0, 1);
  std::vector<double> scores;
  for (const float bias : {-800.f, -30.f, -1.f, 0.f, 1.f, 30.f, 35.f, 800.f}) {
    file.Of("reward.out.weight").numbers.assign(64, 0);
    file.Of("reward.out.bias").numbers = {bias};
    file.WriteTo(path_);
    scores.push_back(Must(Open(model_, path_)).Score(RandomState(64, 1).data()));
  }
  for (size_t i = 1; i < scores.size(); ++i) EXPECT_GT(scores[i], scores[i - 1]) << i;
  EXPECT_EQ(scores[3], 0.5);
  EXPECT_EQ(scores.front(), 0);
  EXPECT_EQ(scores.back(), 1);
}

TEST_F(RewardHeadTest, AStateWithoutANumberHasNoScore) {
  RandomReward(64, 4, 1).WriteTo(path_);
  std::vector<float> state = RandomState(64, 1);
  state[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(Must(Open(model_, path_)).Score(state.data())));
}

std::string BytesOf(const std::vector<float>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}

// GGUF's fastest dimension comes first.
GgufBuilder AsGguf(const RewardFile& file) {
  GgufBuilder builder;
  for (const auto& [key, value] : file.texts) builder.String("reward." + key, value);
  for (const RewardFile::Tensor& tensor : file.tensors) {
    const std::vector<uint64_t> shape(tensor.shape.rbegin(), tensor.shape.rend());
    builder.Tensor(tensor.name, shape, /*gguf_type=*/0, BytesOf(tensor.numbers));
  }
  return builder;
}

TEST_F(RewardHeadTest, AGgufFileHoldsTheSameHead) {
  RewardFile file = RandomReward(64, 4, 6);
  file.texts.push_back({"layer", "1"});
  file.WriteTo(path_);
  const std::string gguf = folder_.Path("reward.gguf");
  AsGguf(file).WriteTo(gguf);
  const RewardHead a = Must(Open(model_, path_)), b = Must(Open(model_, gguf));
  EXPECT_EQ(b.layer(), 1);
  const std::vector<float> state = RandomState(64, 2);
  EXPECT_EQ(a.Score(state.data()), b.Score(state.data()));
  // A row without its dimension of 1.
  GgufBuilder flat;
  flat.Tensor("score.weight", {64}, 0, BytesOf(RandomClassifier(64, 2).tensors[0].numbers)).WriteTo(gguf);
  ExpectScores(RandomClassifier(64, 2), Must(Open(model_, gguf)));
}

TEST_F(RewardHeadTest, WrongGgufFilesAreRefusedByName) {
  const std::string gguf = folder_.Path("reward.gguf");
  const auto refused = [&](GgufBuilder builder) {
    builder.WriteTo(gguf);
    const absl::Status status = Open(model_, gguf).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return absl::StrReplaceAll(status.message(), {{gguf, "FILE"}});
  };
  RewardFile file = RandomReward(64, 0, 1);
  file.Reshape("reward.out.weight", {1, 32});
  EXPECT_EQ(refused(AsGguf(file)), "FILE: tensor \"reward.out.weight\" shape: found [1, 32], expected [1, 64]");
  file = RandomReward(64, 0, 1);
  file.Of("reward.out.weight").numbers[5] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(refused(AsGguf(file)), "FILE: tensor \"reward.out.weight\": value 5: found inf, expected a finite number");
  file = RandomReward(64, 0, 1);
  file.Remove("reward.out.bias");
  EXPECT_EQ(refused(AsGguf(file)), "FILE: tensor \"reward.out.bias\": found nothing, expected [1]");
  file = RandomReward(64, 0, 1);
  file.tensors.push_back({"token_embd.weight", {1}, {0}});
  const std::string alone = "reward.out.weight, reward.out.bias alone: a head without its model";
  EXPECT_EQ(refused(AsGguf(file)), "FILE: tensor \"token_embd.weight\": found it, expected " + alone);
  file = RandomReward(64, 0, 1);
  file.texts = {{"layer", "9"}};
  EXPECT_EQ(refused(AsGguf(file)), "FILE: metadata reward.layer: found \"9\", expected \"1\" to \"2\"");
  GgufBuilder blocks;
  blocks.Tensor("score.weight", {64, 1}, /*gguf_type=*/8, std::string(68, '\0'));   // Q8_0
  EXPECT_EQ(refused(blocks), "FILE: tensor \"score.weight\" type: found Q8_0, expected F32, F16 or BF16");
  GgufBuilder number = AsGguf(RandomReward(64, 0, 1));
  number.Number<uint32_t>("reward.layer", 1);
  EXPECT_TRUE(absl::StrContains(refused(number), "reward.layer")) << refused(number);
}

TEST_F(RewardHeadTest, FilesThatAreWrongAreRefusedByName) {
  for (const BadReward& row : AllBadRewards()) {
    RewardFile file = RandomReward(64, 4, 1);
    row.spoil(file);
    file.WriteTo(path_);
    const absl::Status status = Open(model_, path_).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << row.name << ": " << status;
    const std::string message = absl::StrReplaceAll(status.message(), {{path_, "FILE"}});
    if (absl::EndsWith(row.message, "*")) {
      EXPECT_TRUE(absl::StartsWith(message, row.message.substr(0, row.message.size() - 1))) << row.name << ": " << message;
    } else {
      EXPECT_EQ(message, row.message) << row.name;
    }
  }
  EXPECT_TRUE(absl::IsNotFound(Open(model_, folder_.Path("none")).status()));
  std::ofstream(path_) << "";
  EXPECT_TRUE(absl::IsInvalidArgument(Open(model_, path_).status()));
}

TEST_F(RewardHeadTest, AHeadOfAnotherModelIsRefused) {
  RewardFile file = RandomReward(64, 0, 1);
  const uint32_t mark = Must(MarkedModel(model_.file()).Vectors());
  file.texts = {{"tessera.model.vectors", absl::StrCat(mark)}};
  file.WriteTo(path_);
  Must(Open(model_, path_).status());
  const LoadedWeights other(TinyModelBuilder({.seed = 2}));
  const absl::Status status = Open(other, path_).status();
  EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("tessera.model.vectors: found \"", mark, "\", expected \""))) << status;
  const LoadedWeights deeper(TinyModelBuilder({.layers = 3}));
  EXPECT_EQ(Must(Open(model_, path_)).CheckFits(deeper.config()).message(), "layers of a reward head: found 2, expected 3");
}

}  // namespace
}  // namespace tessera
