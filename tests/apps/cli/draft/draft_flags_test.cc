// --draft_model and --tree: a text is the same with a draft, whatever it is; what they leave nothing to do is refused.
#include "tessera/apps/cli/draft/draft_flags.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/draft_runs.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

class DraftFlags : public DraftRuns {};

absl::StatusOr<std::string> TextByFlags() {
  EngineOptions options = {.model_path = TinyPath("llama"), .compute = {.threads = 1}};
  ASSIGN_OR_RETURN(const std::shared_ptr<DraftModel> draft, DraftModelOfFlags(FLAGS_speculate));
  RETURN_IF_ERROR(PlanSpeculation(SpeculationOfFlags(draft), options));
  if (draft != nullptr) draft->CountIn(options);
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Open(options));
  if (draft != nullptr) {
    RETURN_IF_ERROR(draft->Open(*engine));
    EXPECT_GT(draft->bytes(), 0);
    EXPECT_GE(engine->planner().drafting(), draft->bytes());
  }
  RETURN_IF_ERROR(engine->LoadWeights());
  ASSIGN_OR_RETURN(Answerer answerer, AnswererOfFlags(*engine, /*flash_bytes_per_second=*/0, draft));
  ASSIGN_OR_RETURN(const Generation text, answerer.Run({70, 71, 72, 70, 71}, {.max_tokens = 20}));
  return text.text;
}

TEST_F(DraftFlags, HeaderExample) {
  FLAGS_temperature = 0;
  FLAGS_speculate = "none";
  const absl::StatusOr<std::string> plain = TextByFlags();
  ASSERT_TRUE(plain.ok()) << plain.status();
  FLAGS_speculate = "draft";
  FLAGS_draft_model = TinyPath("llama");
  const absl::StatusOr<std::string> drafted = TextByFlags();
  ASSERT_TRUE(drafted.ok()) << drafted.status();
  EXPECT_EQ(*drafted, *plain);
}

TEST_F(DraftFlags, TheTextIsTheSame) {
  ExpectTheSameTexts({{"--speculate=draft", Draft()}, {Draft()}, {"--speculate=draft,suffix", "--tree=eagle2:width=3", Draft()}});
}

TEST_F(DraftFlags, ADraftLikeTheTargetIsRightAndTheSummaryCountsItsWork) {
  const Ended ended = Generate({Draft(), "--speculate=draft", "--tree=chain:tokens=4", "--prompt=a a a", "--n_predict=60",
                                "--temperature=0", "--json", "--stats", "--cost_profile=" + FreeRows()});
  const JsonValue figures = *Json(ended.output).Object("timings")->Object("speculation");
  EXPECT_LT(*figures.Int("passes"), *figures.Int("tokens"));
  const JsonValue drafter = (*figures.Array("drafters"))[0];
  EXPECT_EQ(*drafter.String("name"), "draft");
  EXPECT_GT(*drafter.Int("accepted"), 0);
  EXPECT_EQ(*drafter.Int("failures"), 0);
  EXPECT_TRUE(absl::StrContains(ended.errors, "draft model: llama.gguf, ")) << ended.errors;
}

TEST_F(DraftFlags, FlagsWithoutEffectAreRefused) {
  const std::pair<Flags, std::string> cases[] = {
      {{"--speculate=draft"}, "--speculate: found draft without --draft_model, expected both"},
      {{"--speculate=lookup,draft"}, "--speculate: found draft without --draft_model"},
      {{"--tree=chain"}, "--tree: found without --draft_model"},
      {{Draft(), "--speculate=none"}, "--draft_model: found with --speculate=none, expected auto, draft"},
      {{Draft(), "--speculate=lookup,suffix"}, "--draft_model: found with --speculate=lookup,suffix"},
      {{Draft(), "--device=8gen3"}, "--draft_model: found beside --device"},
      {{Draft(), "--tree=oak"}, "--tree: "},
      {{Draft(), "--tree=chain:length=3"}, "--tree: "},
      {{"--draft_model=self:q5"}, "--draft_model: found \"self:q5\", expected a file, or a copy"},
      {{"--draft_model="}, "--draft_model: found an empty value, expected FILE"},
      {{Draft(), "--trace=" + TinyPath("llama")}, "found the model itself"}};
  for (const auto& [flags, said] : cases) ExpectError(flags, 2, said);
  ExpectError("tessera_bench spec", {"--model=" + TinyPath("llama"), Draft(), "--speculate=oracle"}, 2,
              "--draft_model: found with --speculate=oracle");
  ExpectError("tessera_verify", {"--model=" + TinyPath("llama"), Draft(), "--b=speculate=lookup"}, 2,
              "--draft_model: found a value that neither");
}

void FlipBit(const std::string& path, int64_t place) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(place);
  const int byte = file.get();
  file.seekp(place);
  file.put(static_cast<char>(byte ^ 1));
}

// Whether it is asked for by its name or not: who names a file wants to know what is wrong with it.
TEST_F(DraftFlags, AWrongDraftIsAnErrorThatNamesTheFile) {
  const std::string other = folder_.Path("other.gguf"), text = std::string(TESSERA_SOURCE_DIR) + "/CMakeLists.txt";
  const std::string nowhere = "/nowhere/draft.gguf", cut = folder_.Path("cut.gguf");
  TinyModelBuilder({}).WriteTo(other);
  std::filesystem::copy_file(TinyPath("llama"), cut);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 2);
  for (const Flags& speculate : {Flags{}, Flags{"--speculate=draft"}}) {
    ExpectError(speculate + Flags{"--draft_model=" + other}, 1, "vocabulary: token ");
    ExpectError(speculate + Flags{"--draft_model=" + other}, 1, other);
    ExpectError(speculate + Flags{"--draft_model=" + text}, 1, "tessera_generate: " + text + ": ");
    ExpectError(speculate + Flags{"--draft_model=" + cut}, 1, "tessera_generate: " + cut + ": ");
    ExpectError(speculate + Flags{"--draft_model=" + nowhere}, 1, "tessera_generate: " + nowhere + ": cannot open");
    ExpectError(speculate + Flags{"--draft_model=" + nowhere, "--dry_run"}, 1, nowhere);
  }
}

// A packed draft's weights are compared as they are read.
TEST_F(DraftFlags, ADraftWhoseWeightsAreDamagedIsAnErrorToo) {
  const PackedModel packed(TinyPath("llama"));
  FlipBit(packed.path(), Must(TsrReader::Open(packed.path()))->UnitOffset(0));
  for (const Flags& speculate : {Flags{}, Flags{"--speculate=draft"}}) {
    ExpectError(speculate + Flags{"--draft_model=" + packed.path()}, 1, packed.path());
  }
}

TEST_F(DraftFlags, ATextLongerThanTheDraftsContextContinuesWithoutTheDraft) {
  const std::string target = folder_.Path("target.gguf"), draft = folder_.Path("draft.gguf");
  TinyModelBuilder({.context = 256}).WriteTo(target);
  TinyModelBuilder({.context = 64, .seed = 2}).WriteTo(draft);
  const Flags flags = {"--model=" + target, "--threads=1", "--raw", "--prompt=abc", "--n_predict=150", "--temperature=0"};
  const Ended plain = RunProgram("tessera_generate", flags + Flags{"--speculate=none"});
  const Ended drafted = RunProgram("tessera_generate", flags + Flags{"--speculate=draft", "--draft_model=" + draft});
  EXPECT_EQ(drafted.code, 0) << drafted.errors;
  EXPECT_EQ(drafted.output, plain.output);
  EXPECT_TRUE(absl::StrContains(drafted.errors, "The draft model has a context of 64 tokens: longer texts go on without it.\n"))
      << drafted.errors;
}

// The only copy in the cache.
std::string CopyIn(const TemporaryFolder& cache) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(cache.Path("drafts"))) {
    EXPECT_EQ(found, "") << entry.path();
    found = entry.path().string();
  }
  return found;
}

TEST_F(DraftFlags, ACopyIsMadeOnceAndAgainAfterDamage) {
  const Flags flags = {"--prompt=the in re", "--n_predict=12", "--temperature=0"};
  const std::string plain = Generate(flags + Flags{"--speculate=none"}).output;
  const auto errors = [&] {
    const Ended ended = Generate(flags + Flags{"--speculate=draft", "--draft_model=self:q3"});
    EXPECT_EQ(ended.output, plain);
    return ended.errors;
  };
  EXPECT_TRUE(absl::StrContains(errors(), "Making a copy of "));
  const std::string copy = CopyIn(folder_);
  EXPECT_TRUE(absl::StrContains(copy, "/drafts/llama.q3-")) << copy;
  EXPECT_FALSE(absl::StrContains(errors(), "copy")) << "it is there";
  const int64_t first = Must(TsrReader::Open(copy))->UnitOffset(0);
  FlipBit(copy, first);
  EXPECT_TRUE(absl::StrContains(errors(), "this copy is made again: ")) << "a weight is damaged";
  EXPECT_FALSE(absl::StrContains(errors(), "copy"));
  std::filesystem::resize_file(copy, 100);
  EXPECT_TRUE(absl::StrContains(errors(), "this copy is made again: ")) << "it is cut";
  EXPECT_FALSE(absl::StrContains(errors(), "copy"));
  EXPECT_EQ(CopyIn(folder_), copy);
}

TEST_F(DraftFlags, EachCopyDrafts) {
  for (const std::string name : {"q2", "q4"}) {
    Generate({"--prompt=the in", "--n_predict=8", "--temperature=0", "--draft_model=self:" + name});
  }
}

TEST_F(DraftFlags, OfAPackedModelTheGgufFileIsNamed) {
  const PackedModel packed(TinyPath("llama"));
  const Flags answer = {"--model=" + packed.path(), "--prompt=the", "--n_predict=4", "--temperature=0", "--speculate=draft"};
  ExpectError("tessera_generate", answer + Flags{"--draft_model=self:q3"}, 2,
              "which is packed, expected the GGUF file that it was packed from: self:q3:FILE");
  const Ended named = RunProgram("tessera_generate", answer + Flags{"--draft_model=self:q3:" + packed.gguf()});
  EXPECT_EQ(named.code, 0) << named.errors;
}

TEST_F(DraftFlags, ADryRunReportsTheDraftsMemoryAndMakesNoCopy) {
  const Flags plan = {"--model=" + TinyPath("llama"), "--dry_run", "--context=128"};
  const JsonValue bytes = *Json(RunProgram("tessera_generate", plan + Flags{Draft(), "--json"}).output).Object("memory_bytes");
  EXPECT_GT(*bytes.Int("draft_model"), 0);
  int64_t sum = 0;
  for (const std::string& part : bytes.Keys()) {
    if (part != "total" && part != "reserve") sum += *bytes.Int(part);
  }
  EXPECT_EQ(*bytes.Int("total"), sum);
  const Ended text = RunProgram("tessera_generate", plan + Flags{"--draft_model=self:q3"});
  EXPECT_EQ(text.code, 0) << text.errors;
  EXPECT_TRUE(absl::StrContains(text.output, "draft model")) << text.output;
  EXPECT_TRUE(absl::StrContains(text.errors, "A dry run makes no copy of the model")) << text.errors;
  EXPECT_FALSE(std::filesystem::exists(folder_.Path("drafts")));
}

TEST_F(DraftFlags, OtherProgramsTakeThem) {
  const Flags model = {"--model=" + TinyPath("llama"), "--threads=1"};
  const std::string setting = "--b=speculate=draft,lookup tree=sequoia " + Draft().substr(2);
  for (const Flags& flags : {Flags{Draft(), "--b=speculate=draft"}, Flags{setting}}) {
    const Ended verified = RunProgram("tessera_verify", model + flags + Flags{"--n_predict=16", "--temperature=0"}, "the in re\na a a\n");
    EXPECT_EQ(verified.code, 0) << verified.errors;
    EXPECT_TRUE(absl::StartsWith(verified.output, "equal: 2 prompts")) << verified.output;
  }
  const std::string data = "--data=" + std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";
  const Flags bench = {Draft(), "--speculate=draft", data, "--categories=code", "--texts=1", "--generate_tokens=8", "--json"};
  const Ended timed = RunProgram("tessera_bench spec", model + bench);
  EXPECT_EQ(timed.code, 0) << timed.errors;
  EXPECT_EQ(*Json(timed.output).String("tree"), "lever");
}

}  // namespace
}  // namespace tessera
