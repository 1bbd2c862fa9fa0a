// --draft_model as a draft head or the model's first layers, --prune and --accept: texts, errors and plans of the programs.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/draft_flags.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/spec/prune_rule.h"
#include "tessera/tests/apps/run_program.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/eagle_builder.h"
#include "tessera/tests/fakes/exit_map_file.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/predictor_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

using Flags = std::vector<std::string>;

constexpr int kWidth = 64, kLayers = 2, kVocabulary = 271;   // As TinyPath("llama") has them.
const EagleSizes kHead = {.width = kWidth, .vocabulary = 50, .target_vocabulary = kVocabulary};

Flags operator+(Flags flags, const Flags& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

class DraftKinds : public testing::Test {
 protected:
  DraftKinds() {
    EagleBuilder(kHead).WriteTo(head_);
    ModelConfig config;
    config.width = kWidth, config.vocabulary = kVocabulary;
    config.layers.resize(kLayers);
    WritePredictor(predictor_, RandomPredictor(config, "width", /*layer=*/1, /*seed=*/3));
    WriteExitMap(map_, kWidth, [](int row, int column) { return row == column ? 1.0f : 0.0f; }, {{"layer", "1"}});
  }

  static Ended Generate(const Flags& flags, const std::string& input = "") {
    Ended ended = RunProgram("tessera_generate", Flags{"--model=" + TinyPath("llama"), "--threads=1"} + flags, input);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return ended;
  }
  static void ExpectError(const Flags& flags, int code, const std::string& said) {
    const Ended ended = RunProgram("tessera_generate", Flags{"--model=" + TinyPath("llama"), "--prompt=the", "--n_predict=2"} + flags);
    EXPECT_EQ(ended.code, code) << said << ": " << ended.errors;
    EXPECT_EQ(ended.output, "") << said;
    EXPECT_TRUE(absl::StrContains(ended.errors, said)) << said << ": " << ended.errors;
  }
  // All ways to write texts, with these drafts and with none.
  static void ExpectTheSameTexts(const Flags& drafts) {
    const std::string requests = "{\"id\": 1, \"text\": \"the in re\", \"n\": 30}\n{\"id\": 2, \"text\": \"a a a\", \"n\": 30}\n"
                                 "{\"id\": 3, \"text\": \"in\", \"n\": 9}\n";
    const std::pair<Flags, std::string> ways[] = {
        {{"--prompt=the in re the in", "--n_predict=40", "--temperature=0"}, ""},
        {{"--prompt=the in re the in", "--n_predict=40", "--temperature=0.9", "--seed=5"}, ""},
        {{"--prompt=the", "--n_predict=20", "--answers=3", "--seed=2"}, ""},
        {{"--jsonl", "--seed=3"}, requests},
        {{"--jsonl", "--seed=3", "--parallel=2"}, requests},
        {{"--chat", "--chat_template=chatml", "--n_predict=12", "--temperature=0"}, "the\nin\n/reset\nthe in\n"}};
    for (const auto& [flags, input] : ways) {
      const std::string plain = WithoutTimes(Generate(flags + Flags{"--speculate=none"}, input).output);
      EXPECT_EQ(WithoutTimes(Generate(flags + drafts, input).output), plain) << flags[0] << " " << drafts.back();
    }
  }

  const gflags::FlagSaver flags_before_;
  const TemporaryFolder folder_;
  const CacheFolderFor cache_{folder_.path()};
  const std::string head_ = folder_.Path("eagle.safetensors"), predictor_ = folder_.Path("exit.safetensors"), map_ = folder_.Path("map");
};

TEST_F(DraftKinds, ASourceMayBeAHeadOrTheFirstLayers) {
  EXPECT_TRUE(Must(DraftSource::Parse("a/b.safetensors")).IsHead());
  EXPECT_TRUE(Must(DraftSource::Parse(folder_.path())).IsHead());
  for (const char* model : {"a/b.gguf", "a/b.tsr", "self:q3", "self:q3:b.safetensors", "self:layers=2"}) {
    EXPECT_FALSE(Must(DraftSource::Parse(model)).IsHead()) << model;
  }
  const DraftSource layers = Must(DraftSource::Parse("self:layers=8")), mapped = Must(DraftSource::Parse("self:layers=8,head=a,b:c"));
  EXPECT_EQ(layers.layers, 8);
  EXPECT_EQ(layers.map, "");
  EXPECT_EQ(mapped.layers, 8);
  EXPECT_EQ(mapped.map, "a,b:c");
  for (const char* wrong : {"self:layers=", "self:layers=0", "self:layers=-1", "self:layers=x", "self:layers=8,", "self:layers=8,head=",
                            "self:layers=8,map=a", "self:layers"}) {
    EXPECT_FALSE(DraftSource::Parse(wrong).ok()) << wrong;
  }
}

TEST_F(DraftKinds, TextsWithAHeadAreTheSame) {
  ExpectTheSameTexts({"--speculate=draft", "--tree=eagle2:width=3", "--draft_model=" + head_});
  ExpectTheSameTexts({"--draft_model=" + head_});
  const std::string published = folder_.Path("published");
  std::filesystem::create_directory(published);
  EagleBuilder(kHead).WriteTo(published + "/model.safetensors", published + "/config.json");
  const Ended ended = Generate({"--draft_model=" + published, "--prompt=the in", "--n_predict=30", "--temperature=0", "--stats"});
  EXPECT_TRUE(absl::StrContains(ended.errors, "draft head: published, ")) << ended.errors;
}

// Its listener hears of the prompt and of the text's passes: else nothing would be proposed.
TEST_F(DraftKinds, AHeadProposesInEachWayToWrite) {
  CostProfile costs;   // On a machine where rows cost nothing.
  for (const int rows : {1, 2, 16}) {
    costs.AddPass({.rows = rows}, 0.01);
    costs.AddHead(rows, 0.001);
  }
  Must(costs.Save(folder_.Path("costs.json")));
  const Flags drafts = {"--draft_model=" + head_, "--speculate=draft", "--tree=chain:tokens=3", "--json", "--n_predict=30",
                        "--temperature=0.9", "--cost_profile=" + folder_.Path("costs.json"), "--prompt=the in re"};
  for (const Flags& way : {Flags{"--answers=1"}, Flags{"--answers=3"}}) {
    const JsonValue speculation = *Json(Generate(drafts + way).output).Object("timings")->Object("speculation");
    const JsonValue drafter = (*speculation.Array("drafters"))[0];
    EXPECT_EQ(*drafter.String("name"), "eagle");
    EXPECT_GT(*drafter.Int("proposed"), 0) << way[0];
    EXPECT_EQ(*drafter.Int("failures"), 0);
  }
}

TEST_F(DraftKinds, TextsWithTheFirstLayersAreTheSame) {
  ExpectTheSameTexts({"--speculate=draft", "--tree=chain:tokens=4", "--draft_model=self:layers=1"});
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
    ExpectTheSameTexts({"--speculate=draft", "--tree=eagle2:width=3", "--prune_threshold=0.6", "--prune=" + predictor_,
                        "--draft_model=" + draft});
  }
  const std::string data = "--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";
  const Ended timed = RunProgram("tessera_spec_bench", {"--model=" + TinyPath("llama"), "--threads=1", "--draft_model=" + TinyPath("llama"),
                                                        "--speculate=draft", "--prune=" + predictor_, data, "--categories=code",
                                                        "--texts=1", "--generate_tokens=8"});
  EXPECT_EQ(timed.code, 0) << timed.errors;
}

TEST_F(DraftKinds, WhatPruningAndAcceptingLeaveNothingToDoIsRefused) {
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

// Its law is tests/runtime/rejection_text_test.cc's concern.
TEST_F(DraftKinds, RejectionWritesTexts) {
  const Flags draft = {"--accept=rejection", "--speculate=draft", "--tree=specinfer:widths=2x2", "--temperature=0.9"};
  for (const std::string& source : {TinyPath("llama"), head_, std::string("self:layers=1")}) {
    const Flags flags = draft + Flags{"--draft_model=" + source};
    EXPECT_NE(Generate(flags + Flags{"--prompt=the in re", "--n_predict=20", "--answers=2"}).output, "");
    EXPECT_NE(Generate(flags + Flags{"--jsonl", "--parallel=2"}, "{\"id\": 1, \"text\": \"the\", \"n\": 9}\n").output, "");
  }
}

TEST_F(DraftKinds, AllOfItCountsInTheMemoryPlan) {
  const auto bytes = [](const Flags& drafts, const std::string& part) {
    const Flags plan = {"--model=" + TinyPath("llama"), "--dry_run", "--context=128", "--json", "--speculate=draft"};
    const Ended ended = RunProgram("tessera_generate", plan + drafts);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return *Json(ended.output).Object("memory_bytes")->Int(part);
  };
  const Flags head = {"--draft_model=" + head_};
  EXPECT_GT(bytes(head, "draft_model"), 0);
  EXPECT_GT(bytes(head + Flags{"--prune=" + predictor_}, "draft_model"), bytes(head, "draft_model") + kWidth * kWidth * 2);
  EXPECT_GT(bytes(head + Flags{"--answers=4", "--seed=1"}, "drafting"), 3 * bytes(head, "drafting"));
  EXPECT_GT(bytes({"--draft_model=self:layers=1"}, "draft_model"), 0);
  const Ended text = RunProgram("tessera_generate", Flags{"--model=" + TinyPath("llama"), "--dry_run"} + head);
  EXPECT_TRUE(absl::StrContains(text.output, "a head of 50 tokens")) << text.output << text.errors;
}

}  // namespace
}  // namespace tessera
