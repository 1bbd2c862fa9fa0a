// --draft_model as a draft head or the model's first layers, --prune and --accept: texts, errors and plans of the programs.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/apps/cli/draft/draft_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/spec/policies/prune_rule.h"
#include "tessera/tests/fakes/eagle_builder.h"
#include "tessera/tests/fakes/exit_map_file.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/predictor_file.h"
#include "tessera/tests/fakes/programs/draft_runs.h"

namespace tessera {
namespace {

constexpr int kWidth = 64, kLayers = 2, kVocabulary = 271;   // As TinyPath("llama") has them.
const EagleSizes kHead = {.width = kWidth, .vocabulary = 50, .target_vocabulary = kVocabulary};

class DraftKinds : public DraftRuns {
 protected:
  DraftKinds() {
    EagleBuilder(kHead).WriteTo(head_);
    ModelConfig config;
    config.width = kWidth, config.vocabulary = kVocabulary;
    config.layers.resize(kLayers);
    WritePredictor(predictor_, RandomPredictor(config, "width", /*layer=*/1, /*seed=*/3));
    WriteExitMap(map_, kWidth, [](int row, int column) { return row == column ? 1.0f : 0.0f; }, {{"layer", "1"}});
  }

  const std::string head_ = folder_.Path("eagle.safetensors"), predictor_ = folder_.Path("exit.safetensors"), map_ = folder_.Path("map");
};

TEST_F(DraftKinds, TextsWithAHeadAreTheSame) {
  ExpectTheSameTexts({{"--speculate=draft", "--tree=eagle2:width=3", "--draft_model=" + head_}, {"--draft_model=" + head_}});
  const std::string published = folder_.Path("published");
  std::filesystem::create_directory(published);
  EagleBuilder(kHead).WriteTo(published + "/model.safetensors", published + "/config.json");
  const Ended ended = Generate({"--draft_model=" + published, "--prompt=the in", "--n_predict=30", "--temperature=0", "--stats"});
  EXPECT_TRUE(absl::StrContains(ended.errors, "draft head: published, ")) << ended.errors;
}

// Its listener hears of the prompt and of the text's passes: else nothing would be proposed.
TEST_F(DraftKinds, AHeadProposesInEachWayToWrite) {
  const Flags drafts = {"--draft_model=" + head_, "--speculate=draft", "--tree=chain:tokens=3", "--json", "--n_predict=30",
                        "--temperature=0.9", "--cost_profile=" + FreeRows(), "--prompt=the in re"};
  for (const Flags& way : {Flags{"--answers=1"}, Flags{"--answers=3"}}) {
    const JsonValue speculation = *Json(Generate(drafts + way).output).Object("timings")->Object("speculation");
    const JsonValue drafter = (*speculation.Array("drafters"))[0];
    EXPECT_EQ(*drafter.String("name"), "eagle");
    EXPECT_GT(*drafter.Int("proposed"), 0) << way[0];
    EXPECT_EQ(*drafter.Int("failures"), 0);
  }
}

TEST_F(DraftKinds, TextsWithTheFirstLayersAreTheSame) {
  ExpectTheSameTexts({{"--speculate=draft", "--tree=chain:tokens=4", "--draft_model=self:layers=1"}});
  const Flags answer = {"--prompt=the in re the in", "--n_predict=40", "--temperature=0"};
  const std::string plain = Generate(answer + Flags{"--speculate=none"}).output;
  for (const std::string source : {"self:layers=2", "self:layers=1,head="}) {
    const std::string flag = "--draft_model=" + source + (absl::EndsWith(source, "=") ? map_ : "");
    EXPECT_EQ(Generate(answer + Flags{"--speculate=draft", flag}).output, plain) << source;
  }
  const PackedModel packed(TinyPath("llama"));
  const Ended streamed = RunProgram("tessera_generate", Flags{"--model=" + packed.path(), "--threads=1", "--context=256",
                                                              "--memory_budget=1GiB", "--pin=none", "--flash=ufs4.0", "--speculate=draft",
                                                              "--draft_model=self:layers=1"} + answer);
  EXPECT_EQ(streamed.code, 0) << streamed.errors;
  EXPECT_EQ(streamed.output, plain);
}

TEST_F(DraftKinds, WrongSourcesAreErrorsThatNameThem) {
  ExpectError({"--draft_model=self:layers=0"}, 2, "--draft_model: found \"self:layers=0\", expected a file, or a copy");
  ExpectError({"--draft_model=self:layers=9"}, 2, "--draft_model: layers: found 9, expected 1 to 2");
  ExpectError({"--draft_model=self:layers=1,head=/nowhere/map"}, 1, "/nowhere/map: ");
  ExpectError({"--draft_model=self:layers=1,head=" + head_}, 1, head_ + ": ");
  ExpectError({"--draft_model=/nowhere/eagle.safetensors"}, 1, "/nowhere/eagle.safetensors: ");
  ExpectError({"--draft_model=" + predictor_}, 1, predictor_ + ": ");
  EagleSizes other = kHead;
  other.width = 32;
  EagleBuilder(other).WriteTo(folder_.Path("other.safetensors"));
  ExpectError({"--draft_model=" + folder_.Path("other.safetensors")}, 1, "other.safetensors");
}

TEST_F(DraftKinds, PruningChangesNoText) {
  EXPECT_EQ(PruneOptions().threshold, static_cast<float>(FLAGS_prune_threshold));
  for (const std::string& draft : {TinyPath("llama"), head_}) {
    ExpectTheSameTexts({{"--speculate=draft", "--tree=eagle2:width=3", "--prune_threshold=0.6", "--prune=" + predictor_,
                         "--draft_model=" + draft}});
  }
  const std::string data = "--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";
  const Ended timed = RunProgram("tessera_bench spec", {"--model=" + TinyPath("llama"), "--threads=1", "--draft_model=" + TinyPath("llama"),
                                                        "--speculate=draft", "--prune=" + predictor_, data, "--categories=code",
                                                        "--texts=1", "--generate_tokens=8"});
  EXPECT_EQ(timed.code, 0) << timed.errors;
}

TEST_F(DraftKinds, PruningAndAcceptingFlagsWithoutEffectAreRefused) {
  const std::string draft = "--draft_model=" + TinyPath("llama"), prune = "--prune=" + predictor_;
  const std::pair<Flags, std::string> cases[] = {
      {{prune}, "--prune: found without --draft_model, expected both"},
      {{draft, "--prune_threshold=0.2"}, "--prune_threshold: found without --prune, expected both"},
      {{draft, prune, "--prune_threshold=-1"}, "--prune_threshold: "},
      {{draft, "--prune=/nowhere/exit"}, "--prune: /nowhere/exit: "},
      {{draft, "--prune=" + head_}, "--prune: " + head_ + ": "},
      {{draft, prune, "--speculate=none"}, "--draft_model: found with --speculate=none"},
      {{"--accept=rejection"}, "--accept: found rejection without --draft_model, expected both"},
      {{draft, "--accept=rejection", "--temperature=0"}, "--accept: found rejection with --temperature=0, expected match"},
      {{draft, "--accept=all"}, "--accept: found \"all\", expected match or rejection"}};
  for (const auto& [flags, said] : cases) ExpectError(flags, 2, said);
}

// Its distribution is tests/runtime/draft/texts/rejection_text_test.cc's concern.
TEST_F(DraftKinds, RejectionWritesTexts) {
  const Flags draft = {"--accept=rejection", "--speculate=draft", "--tree=specinfer:widths=2x2", "--temperature=0.9"};
  for (const std::string& source : {TinyPath("llama"), head_, std::string("self:layers=1")}) {
    const Flags flags = draft + Flags{"--draft_model=" + source};
    EXPECT_NE(Generate(flags + Flags{"--prompt=the in re", "--n_predict=20", "--answers=2"}).output, "");
    EXPECT_NE(Generate(flags + Flags{"--jsonl", "--parallel=2"}, "{\"id\": 1, \"text\": \"the\", \"n\": 9}\n").output, "");
  }
}

TEST_F(DraftKinds, ATraceHasTheComputationsOfDrafts) {
  const std::string trace = folder_.Path("trace.json");
  for (const std::string& source : {TinyPath("llama"), head_}) {
    Generate({"--draft_model=" + source, "--speculate=draft", "--tree=chain:tokens=3", "--cost_profile=" + FreeRows(),
              "--prompt=the in re", "--n_predict=20", "--temperature=0", "--trace=" + trace});
    std::ostringstream written;
    written << std::ifstream(trace).rdbuf();
    EXPECT_TRUE(absl::StrContains(written.str(), "{\"name\":\"draft\",\"cat\":\"cpu\"")) << source;
  }
}

TEST_F(DraftKinds, AllPartsOfADraftCountInTheMemoryPlanAndAreShown) {
  const auto plan = [](const Flags& drafts) {
    const Flags flags = {"--model=" + TinyPath("llama"), "--dry_run", "--context=128", "--json", "--speculate=draft"};
    const Ended ended = RunProgram("tessera_generate", flags + drafts);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    const JsonValue all = Json(ended.output), memory = *all.Object("memory_bytes"), parts = *all.Object("draft_model_bytes");
    int64_t sum = 0;
    for (const std::string& part : parts.Keys()) sum += part == "trees" ? 0 : *parts.Int(part);
    EXPECT_EQ(sum, *memory.Int("draft_model")) << drafts.back();
    EXPECT_GT(*parts.Int("trees"), 0);
    EXPECT_GE(*memory.Int("drafting"), *parts.Int("trees"));
    return parts;
  };
  const Flags head = {"--draft_model=" + head_};
  const JsonValue of_head = plan(head);
  EXPECT_GT(*of_head.Int("head"), 0);
  for (const char* none : {"weights", "cache", "scratch", "exit_map", "predictor"}) EXPECT_EQ(*of_head.Int(none), 0) << none;
  EXPECT_GT(*plan(head + Flags{"--prune=" + predictor_}).Int("predictor"), kWidth * kWidth * 2);
  EXPECT_GT(*plan(head + Flags{"--answers=4", "--seed=1"}).Int("trees"), 3 * *of_head.Int("trees"));
  const JsonValue of_layers = plan({"--draft_model=self:layers=1"}), mapped = plan({"--draft_model=self:layers=1,head=" + map_});
  for (const char* some : {"weights", "cache", "scratch"}) EXPECT_GT(*of_layers.Int(some), 0) << some;
  EXPECT_EQ(*of_layers.Int("exit_map"), 0);
  EXPECT_GE(*mapped.Int("exit_map"), kWidth * kWidth * 4);
  EXPECT_EQ(*of_layers.Int("head"), 0);
  const Ended text = RunProgram("tessera_generate", Flags{"--model=" + TinyPath("llama"), "--dry_run"} + head);
  for (const char* line : {"a head of 50 tokens", "draft: head", "draft: trees"}) {
    EXPECT_TRUE(absl::StrContains(text.output, line)) << text.output << text.errors;
  }
}

}  // namespace
}  // namespace tessera
