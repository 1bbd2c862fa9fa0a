#include "tessera/model/exit_predictor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/pass_text.h"
#include "tessera/tests/fakes/predictor_file.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/vanishing_source.h"

namespace tessera {
namespace {

using Question = ExitPredictor::Question;

absl::StatusOr<ExitPredictor> Load(const std::string& path, const LoadedWeights& model) {
  return ExitPredictor::Load(path, model.config(), model.layout(), model.source());
}

class ExitPredictorTest : public testing::Test {
 protected:
  // The scores of these tokens for one state.
  std::vector<float> Scores(const ExitPredictor& predictor, const std::vector<float>& state, const std::vector<TokenId>& tokens) {
    std::vector<float> scores(tokens.size());
    Must(predictor.Score({{state.data(), tokens, absl::MakeSpan(scores)}}, pool_));
    return scores;
  }
  std::string Refusal(const LoadedWeights& model) const {
    const absl::Status status = Load(path_, model).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_TRUE(absl::StartsWith(status.message(), path_ + ": ")) << status;
    return std::string(status.message().substr(std::min(status.message().size(), path_.size() + 2)));
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("exit.safetensors");
  ThreadPool pool_{2};
};

TEST_F(ExitPredictorTest, HeaderExample) {
  const LoadedWeights model(TinyModelBuilder({.layers = 3}));
  WritePredictor(folder_.Path("exit.safetensors"), RandomPredictor(model.config(), "vocabulary", 1, 1));
  Machine machine(model, {});
  PassText text(machine, {72, 101, 108});
  const ModelConfig& config = model.config();
  const WeightLayout& layout = model.layout();
  WeightSource& source = model.source();
  ThreadPool& pool = pool_;
  const std::vector<TokenId> tokens = {1, 260, 7};
  std::vector<float> scores(tokens.size());
  const auto run = [&](const std::string& path) -> absl::Status {
    Pass pass = text.Begin();
    ASSIGN_OR_RETURN(const ExitPredictor predictor, ExitPredictor::Load(path, config, layout, source));
    RETURN_IF_ERROR(pass.RunTo(predictor.layer()));
    ASSIGN_OR_RETURN(const TensorView<const float> hidden, pass.Hidden());
    RETURN_IF_ERROR(predictor.Score({{hidden.row(0), tokens, absl::MakeSpan(scores)}}, pool));
    return absl::OkStatus();
  };
  Must(run(path_));
  EXPECT_NE(scores[0], scores[1]);
}

// W's rows, one by one.
TEST_F(ExitPredictorTest, AVocabularysScoresAreProductsOfItsRows) {
  const LoadedWeights model(TinyModelBuilder({}));
  for (const bool halves : {true, false}) {
    PredictorFile file = RandomPredictor(model.config(), "vocabulary", 1, 2);
    file.halves = halves;
    WritePredictor(path_, file);
    const ExitPredictor predictor = Must(Load(path_, model));
    EXPECT_EQ(predictor.layer(), 1);
    EXPECT_EQ(predictor.kind(), ExitPredictor::Kind::kVocabulary);
    EXPECT_EQ(predictor.bytes(), int64_t{kTinyVocabulary} * 64 * (halves ? 2 : 4));
    std::vector<float> state;
    SeededRandom random(3);
    for (int i = 0; i < 64; ++i) state.push_back(random.Uniform(-1, 1));
    const std::vector<TokenId> tokens = {264, 0, 17, 0};
    const std::vector<float> scores = Scores(predictor, state, tokens);
    for (size_t i = 0; i < tokens.size(); ++i) {
      double expected = 0;
      for (int64_t k = 0; k < 64; ++k) {
        const float number = file.numbers[static_cast<size_t>(tokens[i] * 64 + k)];
        expected += static_cast<double>(state[static_cast<size_t>(k)]) * (halves ? HalfToFloat(FloatToHalf(number)) : number);
      }
      EXPECT_NEAR(scores[i], expected, 1e-5) << tokens[i];
    }
  }
}

// With a map that changes nothing, scores of the last layer's states are the model's logits, as nearly as its arithmetic allows.
TEST_F(ExitPredictorTest, AWidthsScoresGoThroughNormAndHead) {
  std::vector<std::unique_ptr<LoadedWeights>> models;
  for (const WeightEncoding encoding : {WeightEncoding::kPacked, WeightEncoding::kFloat32}) {
    models.push_back(std::make_unique<LoadedWeights>(TinyModelBuilder({.formats = {BlockFormat::kQ8_0, BlockFormat::kQ4_0}}), encoding));
    models.push_back(std::make_unique<LoadedWeights>(TinyModelBuilder({.architecture = "gemma3", .layers = 4, .tied = true}), encoding));
  }
  models.push_back(std::make_unique<LoadedWeights>(TinyModelBuilder({}), "001"));
  std::vector<TokenId> tokens;
  for (TokenId token = kTinyVocabulary - 1; token >= 0; token -= 3) tokens.push_back(token);
  for (const auto& model : models) {
    const bool tiles = model->layout().encoding() == WeightEncoding::kTiles;
    WritePredictor(path_, IdentityPredictor(model->config(), 1));
    const ExitPredictor predictor = Must(Load(path_, *model));
    EXPECT_EQ(predictor.kind(), ExitPredictor::Kind::kWidth);
    Machine machine(*model, {});
    PassText text(machine, {72, 101, 108, 108});
    Pass pass = text.Begin();
    Must(pass.RunTo(static_cast<int>(model->config().layers.size())));
    const std::vector<float> state = RowOfView(Must(pass.Hidden()), 3);
    const std::vector<float> logits = text.LogitsOf(Must(pass.FinishAll()), 3), scores = Scores(predictor, state, tokens);
    for (size_t i = 0; i < tokens.size(); ++i) EXPECT_NEAR(scores[i], logits[static_cast<size_t>(tokens[i])], tiles ? 0.2 : 0.01);
  }
}

// Questions do not depend on those beside them, nor on the threads.
TEST_F(ExitPredictorTest, SeveralQuestionsAreAnsweredAsEachAlone) {
  const LoadedWeights model(TinyModelBuilder({}));
  for (const char* kind : {"width", "vocabulary"}) {
    WritePredictor(path_, RandomPredictor(model.config(), kind, 1, 4));
    const ExitPredictor predictor = Must(Load(path_, model));
    SeededRandom random(5);
    std::vector<std::vector<float>> states(5), scores(5);
    std::vector<std::vector<TokenId>> tokens(5);
    std::vector<Question> questions;
    for (size_t q = 0; q < 5; ++q) {
      for (int i = 0; i < 64; ++i) states[q].push_back(random.Uniform(-1, 1));
      for (int64_t i = random.Below(9); i >= 0; --i) tokens[q].push_back(static_cast<TokenId>(random.Below(kTinyVocabulary)));
      scores[q].resize(tokens[q].size());
      questions.push_back({states[q].data(), tokens[q], absl::MakeSpan(scores[q])});
    }
    ThreadPool one(1);
    Must(predictor.Score(questions, one));
    for (size_t q = 0; q < 5; ++q) EXPECT_EQ(scores[q], Scores(predictor, states[q], tokens[q])) << kind << " " << q;
    Must(predictor.Score({}, one));
  }
}

// The norm once, then only the panels in which the tokens' rows lie; of a vocabulary's predictor nothing.
TEST_F(ExitPredictorTest, OnlyPanelsOfTheCandidatesAreRead) {
  const LoadedWeights model(TinyModelBuilder({}));
  VanishingSource source(model.Units());
  const std::vector<float> state(64, 0.5f);
  WritePredictor(path_, IdentityPredictor(model.config(), 1));
  {
    const ExitPredictor predictor = Must(ExitPredictor::Load(path_, model.config(), model.layout(), source));
    EXPECT_EQ(source.leases(), 1);
    Scores(predictor, state, {5, 260, 6, 5, 31});
    EXPECT_EQ(source.leases(), 1 + 2);
    EXPECT_EQ(source.live(), 0);
  }
  WritePredictor(path_, RandomPredictor(model.config(), "vocabulary", 1, 1));
  const ExitPredictor predictor = Must(ExitPredictor::Load(path_, model.config(), model.layout(), source));
  Scores(predictor, state, {5, 260, 6});
  EXPECT_EQ(source.leases(), 3);
}

TEST_F(ExitPredictorTest, TokensOutsideTheVocabularyAreRefused) {
  const LoadedWeights model(TinyModelBuilder({}));
  const std::vector<float> state(64, 0.5f);
  for (const char* kind : {"width", "vocabulary"}) {
    WritePredictor(path_, RandomPredictor(model.config(), kind, 1, 1));
    const ExitPredictor predictor = Must(Load(path_, model));
    for (const TokenId token : {-1, kTinyVocabulary}) {
      const std::vector<TokenId> tokens = {3, token};
      std::vector<float> scores(2);
      EXPECT_EQ(predictor.Score({{state.data(), tokens, absl::MakeSpan(scores)}}, pool_).message(),
                absl::StrCat("exit predictor: found token ", token, ", expected 0 to 264"));
    }
  }
}

TEST_F(ExitPredictorTest, FilesOfAnotherModelAreRefused) {
  const LoadedWeights model(TinyModelBuilder({.layers = 4})), deeper(TinyModelBuilder({.layers = 5}));
  const LoadedWeights wider(TinyModelBuilder({.width = 96, .layers = 4}));
  WritePredictor(path_, RandomPredictor(wider.config(), "width", 1, 1));
  EXPECT_EQ(Refusal(model), "tensor \"predictor.map\" shape: found [96, 96], expected [64, 64]");
  WritePredictor(path_, RandomPredictor(wider.config(), "vocabulary", 1, 1));
  EXPECT_EQ(Refusal(model), "tensor \"predictor.weight\" shape: found [265, 96], expected [265, 64]");
  WritePredictor(path_, RandomPredictor(deeper.config(), "width", 1, 1));
  EXPECT_EQ(Refusal(model), "__metadata__ layers: found \"5\", expected \"4\"");
  for (const char* kind : {"width", "vocabulary"}) {
    WritePredictor(path_, RandomPredictor(model.config(), kind, 3, 1));
    const ExitPredictor predictor = Must(Load(path_, model));
    Must(predictor.CheckFits(model.config(), model.source()));
    EXPECT_EQ(predictor.CheckFits(deeper.config(), deeper.source()).message(), "layers of an exit predictor: found 4, expected 5");
    EXPECT_EQ(predictor.CheckFits(wider.config(), wider.source()).message(), "width of an exit predictor: found 64, expected 96");
    // A head is read where it was found; the rows of a vocabulary are the predictor's own.
    const LoadedWeights twin(TinyModelBuilder({.layers = 4}));
    EXPECT_EQ(predictor.CheckFits(twin.config(), twin.source()).ok(), predictor.kind() == ExitPredictor::Kind::kVocabulary);
  }
}

TEST_F(ExitPredictorTest, FilesThatSayTooLittleOrTooMuchAreRefused) {
  const LoadedWeights model(TinyModelBuilder({.layers = 4}));
  const PredictorFile file = IdentityPredictor(model.config(), 2);
  WritePredictor(path_, file, {});
  EXPECT_EQ(Refusal(model), "__metadata__ kind: found none, expected \"vocabulary\" or \"width\"");
  WritePredictor(path_, file, {{"kind", "depth"}, {"layer", "2"}});
  EXPECT_EQ(Refusal(model), "__metadata__ kind: found \"depth\", expected \"vocabulary\" or \"width\"");
  WritePredictor(path_, file, {{"kind", "width"}});
  EXPECT_EQ(Refusal(model), "__metadata__ layer: found none, expected \"1\" to \"3\"");
  for (const char* layer : {"0", "4", "-1", "two", "", "99999999999999999999"}) {
    WritePredictor(path_, file, {{"kind", "width"}, {"layer", layer}});
    EXPECT_EQ(Refusal(model), absl::StrCat("__metadata__ layer: found \"", layer, "\", expected \"1\" to \"3\""));
  }
  WritePredictor(path_, file, {{"kind", "vocabulary"}, {"layer", "2"}});
  EXPECT_EQ(Refusal(model), "tensor \"predictor.map\": found it, expected predictor.weight alone");
  WritePredictor(path_, file, {{"kind", "width"}, {"layer", "2"}});
  EXPECT_EQ(Must(Load(path_, model)).layer(), 2);   // The other texts are of no matter.
  EXPECT_EQ(Load(folder_.Path("none"), model).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ExitPredictorTest, NumbersThatAreNoneAndTypesThatAreOthersAreRefused) {
  const LoadedWeights model(TinyModelBuilder({}));
  for (const char* kind : {"width", "vocabulary"}) {
    PredictorFile file = RandomPredictor(model.config(), kind, 1, 1);
    file.numbers[70] = NAN;
    WritePredictor(path_, file);
    EXPECT_TRUE(absl::StrContains(Refusal(model), "value 70 at byte ")) << kind;
    SafetensorsWriter writer = Must(SafetensorsWriter::Create(path_, {{file.Tensor(), SafetensorsType::kI32, {file.rows, file.width}}},
                                                              file.Texts()));
    Must(writer.Append(0, std::vector<std::byte>(static_cast<size_t>(file.rows * file.width) * 4)));
    Must(writer.Commit());
    EXPECT_EQ(Refusal(model), absl::StrCat("tensor \"", file.Tensor(), "\" dtype: found I32, expected F32, F16 or BF16"));
  }
}

TEST_F(ExitPredictorTest, AHeadWithABiasIsNotReadRowByRow) {
  const LoadedWeights model(TinyModelBuilder({.architecture = "qwen2", .biases = {"output.bias"}}));
  WritePredictor(path_, IdentityPredictor(model.config(), 1));
  EXPECT_EQ(Refusal(model), "rows of the head: found output.bias, expected no bias");
  WritePredictor(path_, RandomPredictor(model.config(), "vocabulary", 1, 1));
  EXPECT_EQ(Must(Load(path_, model)).layer(), 1);
}

}  // namespace
}  // namespace tessera
