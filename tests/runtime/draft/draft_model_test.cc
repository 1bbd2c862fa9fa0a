#include "tessera/runtime/draft/draft_model.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/runtime/draft/speculation.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/predictor_file.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

const std::string kLlama = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/llama.gguf";

// What was said while a draft was opened and used.
struct Said {
  std::vector<std::string> warnings, notes;
  int opened = 0;

  DraftModelOptions Of(DraftModelOptions options) {
    options.messages.on_warning = [this](const std::string& warning) { warnings.push_back(warning); };
    options.messages.on_note = [this](const std::string& note) { notes.push_back(note); };
    options.on_opened = [this](const Engine&) { ++opened; };
    return options;
  }
};

// The text that the model writes with this draft; `speculate` stands in both options.
absl::StatusOr<std::string> TextWith(const DraftModelOptions& asked, const std::string& model = kLlama, int tokens = 20) {
  EngineOptions options = {.model_path = model, .compute = {.threads = 1}};
  ASSIGN_OR_RETURN(const std::shared_ptr<DraftModel> draft, DraftModel::Create(asked));
  SpeculationOptions speculation = {.speculate = asked.speculate};
  if (draft != nullptr) speculation.own_drafters = {draft->AsDrafter()};
  RETURN_IF_ERROR(PlanSpeculation(speculation, options));
  if (draft != nullptr) draft->CountIn(options);
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
  if (draft != nullptr) {
    RETURN_IF_ERROR(draft->Open(*engine));
    EXPECT_GT(draft->bytes(), 0);
    EXPECT_GE(engine->planner().drafting(), draft->bytes());
  }
  RETURN_IF_ERROR(engine->LoadWeights());
  if (draft != nullptr) {
    RETURN_IF_ERROR(draft->LoadPredictor());
    speculation.prune = draft->pruning(), speculation.rule = draft->rule();
  }
  ASSIGN_OR_RETURN(Answerer answerer, Answerer::Create(*engine, {.sampling = {.temperature = 0}, .speculation = speculation}));
  ASSIGN_OR_RETURN(const Generation text, answerer.Run({70, 71, 72, 70, 71}, {.max_tokens = tokens}));
  return text.text;
}

class DraftModels : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  Said said_;
};

TEST_F(DraftModels, HeaderExample) {
  const std::string plain = Must(TextWith({.speculate = "none"}));
  EXPECT_EQ(Must(TextWith({.draft_model = {.file = kLlama}})), plain);
  EXPECT_EQ(Must(TextWith({.speculate = "draft", .draft_model = {.layers = 1}, .tree = "chain:tokens=4"})), plain);
  EXPECT_EQ(Must(DraftModel::Create({})), nullptr);
}

TEST_F(DraftModels, OptionsAreCheckedAndFilesNamed) {
  EXPECT_EQ(FieldOf(DraftModel::Create({.tree = "chain"}).status()), "tree");
  const std::string nowhere = folder_.Path("nowhere");
  EXPECT_TRUE(absl::StartsWith(TextWith({.draft_model = {.file = nowhere + ".gguf"}}).status().message(), nowhere + ".gguf: "));
  EXPECT_EQ(FieldOf(TextWith({.draft_model = {.file = kLlama}, .prune = nowhere}).status()), "prune");
  const absl::Status layers = TextWith({.draft_model = {.layers = 9}}).status();
  EXPECT_TRUE(absl::StartsWith(layers.message(), "draft_model: layers: found 9, expected 1 to 2")) << layers;
  EXPECT_EQ(FieldOf(layers), "draft_model");
  EXPECT_EQ(FieldOf(TextWith({.draft_model = {.copy = "q3"}}).status()), "cache_folder");
  const std::string other = folder_.Path("other.gguf");
  TinyModelBuilder({}).WriteTo(other);
  EXPECT_TRUE(absl::StrContains(TextWith({.draft_model = {.file = other}}).status().message(), "vocabulary: token "));
}

TEST_F(DraftModels, APredictorPrunesByTheThresholdThatIsAskedFor) {
  ModelConfig config;
  config.width = 64, config.vocabulary = 271, config.layers.resize(2);
  const std::string predictor = folder_.Path("exit.safetensors");
  WritePredictor(predictor, RandomPredictor(config, "width", /*layer=*/1, /*seed=*/3));
  const DraftModelOptions asked = {.draft_model = {.file = kLlama}, .tree = "eagle2:width=3", .prune = predictor, .prune_threshold = 0.6};
  EXPECT_EQ(Must(TextWith(asked)), Must(TextWith({.speculate = "none"})));
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const auto draft = Must(DraftModel::Create(asked));
  Must(draft->Open(*engine));
  EXPECT_EQ(draft->pruning().predictor, nullptr) << "it is not loaded";
  Must(draft->LoadPredictor());
  EXPECT_NE(draft->pruning().predictor, nullptr);
  EXPECT_EQ(draft->pruning().rule.threshold, 0.6f);
  EXPECT_GT(draft->parts().predictor, 64 * 64 * 2);
}

TEST_F(DraftModels, RejectionNeedsATemperatureOfTheOptionsOrOfTheModel) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const auto draft = Must(DraftModel::Create({.draft_model = {.file = kLlama}, .accept = "rejection"}));
  EXPECT_EQ(draft->rule(), DraftRule::kRejection);
  Must(draft->Open(*engine));
  EXPECT_EQ(Must(DraftModel::Create({.draft_model = {.file = kLlama}}))->rule(), DraftRule::kMatch);
  const std::string greedy = folder_.Path("greedy.gguf");
  GgufBuilder builder = TinyModelBuilder({});
  builder.Number("general.sampling.temp", 0.0f);
  builder.WriteTo(greedy);
  const auto other = Must(Engine::Load({.model_path = greedy, .compute = {.threads = 1}}));
  const auto refused = Must(DraftModel::Create({.draft_model = {.file = greedy}, .accept = "rejection"}));
  EXPECT_EQ(FieldOf(refused->Open(*other)), "accept");
  Must(Must(DraftModel::Create({.draft_model = {.file = greedy}, .accept = "rejection", .temperature = 0.7}))->Open(*other));
}

TEST_F(DraftModels, AShorterContextIsNoted) {
  const std::string target = folder_.Path("target.gguf"), draft = folder_.Path("draft.gguf");
  TinyModelBuilder({.context = 256}).WriteTo(target);
  TinyModelBuilder({.context = 64, .seed = 2}).WriteTo(draft);
  EXPECT_EQ(Must(TextWith(said_.Of({.speculate = "draft", .draft_model = {.file = draft}}), target, 100)),
            Must(TextWith({.speculate = "none"}, target, 100)));
  EXPECT_EQ(said_.notes, (std::vector<std::string>{"The draft model has a context of 64 tokens: longer texts go on without it."}));
  EXPECT_EQ(said_.opened, 1);
}

void FlipBit(const std::string& path, int64_t place) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(place);
  const int byte = file.get();
  file.seekp(place);
  file.put(static_cast<char>(byte ^ 1));
}

TEST_F(DraftModels, ACopyIsMadeOnceAndAgainWhereItIsBroken) {
  const DraftModelOptions asked = said_.Of({.speculate = "draft", .draft_model = {.copy = "q3"}, .cache_folder = folder_.path()});
  const std::string plain = Must(TextWith({.speculate = "none"}));
  EXPECT_EQ(Must(TextWith(asked)), plain);
  ASSERT_EQ(said_.notes.size(), 1u);
  EXPECT_TRUE(absl::StartsWith(said_.notes[0], absl::StrCat("Making a copy of ", kLlama, " to draft with ("))) << said_.notes[0];
  EXPECT_EQ(Must(TextWith(asked)), plain);
  EXPECT_EQ(said_.notes.size(), 1u) << "it is there";
  std::string copy;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.Path("drafts"))) copy = entry.path().string();
  FlipBit(copy, Must(TsrReader::Open(copy))->UnitOffset(0));
  EXPECT_EQ(Must(TextWith(asked)), plain);
  ASSERT_EQ(said_.warnings.size(), 1u) << "a weight is damaged";
  EXPECT_TRUE(absl::StartsWith(said_.warnings[0], "this copy is made again: ")) << said_.warnings[0];
  EXPECT_EQ(said_.notes.size(), 2u);
}

TEST_F(DraftModels, ADryRunMakesNoCopyAndKnowsItsSize) {
  const auto engine = Must(Engine::Open({.model_path = kLlama, .compute = {.threads = 1}}));
  const auto draft = Must(DraftModel::Create(said_.Of({.draft_model = {.copy = "q3"}, .cache_folder = folder_.path()})));
  Must(draft->Plan(*engine, /*vocabulary=*/1000));
  EXPECT_GT(draft->parts().weights, 0);
  EXPECT_EQ(draft->parts().vocabulary, 1000);
  EXPECT_EQ(draft->engine(), nullptr);
  ASSERT_EQ(said_.notes.size(), 1u);
  EXPECT_TRUE(absl::StartsWith(said_.notes[0], "A dry run makes no copy of the model: ")) << said_.notes[0];
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("drafts")));
}

// A program that chooses its drafters goes on without a draft for which there is no room.
TEST_F(DraftModels, OnlyADraftThatNobodyNamedMayBeLeftOut) {
  const auto may = [](const std::string& speculate, bool asked) {
    return Must(DraftModel::Create({.speculate = speculate, .draft_model = {.file = kLlama}, .may_be_left_out = asked}))->may_be_left_out();
  };
  EXPECT_TRUE(may("auto", true));
  EXPECT_FALSE(may("auto", false) || may("draft", true));
  EngineOptions options = {.model_path = kLlama, .compute = {.threads = 1}};
  const auto draft = Must(DraftModel::Create({.draft_model = {.file = kLlama}, .may_be_left_out = true}));
  draft->CountIn(options);
  const auto engine = Must(Engine::Open(options));
  Must(draft->Open(*engine));
  const int64_t with = engine->planner().drafting();
  draft->LeaveOut();
  EXPECT_EQ(draft->engine(), nullptr);
  EXPECT_LT(engine->planner().drafting(), with);
}

TEST_F(DraftModels, ABudgetWithoutRoomToMakeACopyNamesTheDraftModel) {
  const PackedModel packed(kLlama);
  EngineOptions options = {.model_path = packed.path(), .compute = {.threads = 1}, .cache = {.context = 64}};
  options.streaming.memory_budget = int64_t{64} << 20;
  const DraftModelOptions asked = {.draft_model = {.file = packed.gguf(), .copy = "q3"}, .cache_folder = folder_.path()};
  const auto draft = Must(DraftModel::Create(asked));
  const auto engine = Must(Engine::Open(options));
  const absl::Status status = draft->Open(*engine);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(FieldOf(status), "draft_model");
  EXPECT_TRUE(absl::EndsWith(status.message(), "or a run without memory_budget before, which makes it")) << status;
}

}  // namespace
}  // namespace tessera
