// What drafters do is recorded the same each time, beside the text that the model writes without them; five texts of the recordings that
// are built in are recorded again.
#include "tessera/apps/lab/papers/record/record_texts.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/spec/spec_bench_run.h"
#include "tessera/base/sha256.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

const std::string& Samples() {
  static const std::string folder = std::string(TESSERA_SOURCE_DIR) + "/tests/data/speculation";
  return folder;
}

std::unique_ptr<Engine> EngineFor(const std::string& model, int threads, int context) {
  EngineOptions options = {.model_path = model};
  options.compute.threads = threads;
  options.cache.context = context;
  PlanRecording(options);
  return Must(Engine::Load(options));
}
// Its tokens are bytes, and pairs of them; its context has 512.
std::unique_ptr<Engine> SmallEngine(int threads = 2) { return EngineFor(TinyPath("llama"), threads, 0); }

std::vector<WrittenAnswer> RecordedUi(Engine& engine, const std::string& drafter, const RecordLimits& limits) {
  TextRecorder recorder = Must(TextRecorder::Create(engine, drafter, limits));
  return Must(recorder.Record(Must(ReadTasks(Samples(), "ui"))[0]));
}

// A text as a line: for messages, too.
std::string LineOf(const RecordedText& text) { return RecordingText({.texts = {text}}); }

std::vector<std::string> LinesOf(const std::vector<WrittenAnswer>& answers) {
  std::vector<std::string> lines;
  for (const WrittenAnswer& answer : answers) lines.push_back(LineOf(answer.text));
  return lines;
}

Tokens DraftOf(Drafter& drafter, const Tokens& text) {
  drafter.Begin(text);
  TokenTree tree(text.back());
  Must(drafter.Propose({.max_nodes = 31}, tree));
  return tree.PathTo(tree.size() - 1);
}

TEST(RecordTexts, HeaderExample) {
  const std::unique_ptr<Engine> engine = SmallEngine();
  const std::vector<PromptCategory> tasks = Must(ReadTasks(Samples(), "ui"));
  TextRecorder recorder = Must(TextRecorder::Create(*engine, "sam+ours", {.texts = 1, .most_tokens = 8}));
  Recording recording = {.drafter = "sam+ours", .command = "c", .model = "m", .model_sha256 = Must(Sha256OfFile(TinyPath("llama"))).Hex()};
  int written = 0;
  for (const PromptCategory& task : tasks) {
    const std::vector<WrittenAnswer> answers = Must(recorder.Record(task, [&] { ++written; }));
    for (const WrittenAnswer& answer : answers) recording.texts.push_back(answer.text);
  }
  EXPECT_EQ(written, 1);
  EXPECT_EQ(Must(ParseRecording(RecordingText(recording), "r")).texts, recording.texts);
}

TEST(RecordTexts, TasksHaveTheFirstPromptsOfTheirFiles) {
  const std::vector<PromptCategory> tasks = Must(ReadTasks(Samples(), "all"));
  std::vector<std::string> names;
  for (const PromptCategory& task : tasks) {
    names.push_back(task.name);
    ASSERT_EQ(task.ids.size(), task.prompts.size()) << task.name;
    EXPECT_EQ(std::set<std::string>(task.ids.begin(), task.ids.end()).size(), task.ids.size()) << task.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"summary", "rag", "ui", "reply"}));
  EXPECT_EQ(tasks[0].ids, (std::vector<std::string>{"241", "243"}));
  EXPECT_EQ(tasks[1].ids, (std::vector<std::string>{"481", "483"}));
  EXPECT_EQ(tasks[2].ids[1], "e13a913558e1841ee0580350128b1459b062c76d9aace09fbf550215850ca283:1");
  EXPECT_EQ(tasks[3].ids, (std::vector<std::string>{"1", "2"}));
  EXPECT_NE(ReadTasks(Samples(), "code").status().message().find("found code, expected some of summary, rag, ui, reply"),
            std::string::npos);
}

TEST(RecordTexts, ARecordedPassDraftsAsBeforeAndTheTextEqualsPlainDecoding) {
  const RecordLimits limits = {.texts = 2, .most_tokens = 40};
  const std::unique_ptr<Engine> engine = SmallEngine(2), other = SmallEngine(1);
  const std::unique_ptr<Engine> third = SmallEngine();   // Whose cache plain texts may fill.
  PairRunner plain = Must(PairRunner::Create(*third, limits.most_tokens));
  for (const std::string& drafter : RecordedDrafters()) {
    const std::vector<WrittenAnswer> answers = RecordedUi(*engine, drafter, limits);
    ASSERT_EQ(answers.size(), 2u) << drafter;
    EXPECT_EQ(LinesOf(answers), LinesOf(RecordedUi(*engine, drafter, limits))) << drafter;
    EXPECT_EQ(LinesOf(answers), LinesOf(RecordedUi(*other, drafter, limits))) << drafter << ", another number of threads";
    int drafted = 0;
    for (const WrittenAnswer& answer : answers) {
      EXPECT_EQ(answer.tokens, Must(plain.Write(answer.prompt, nullptr)).tokens) << drafter;
      EXPECT_EQ(answer.text.tokens, static_cast<int>(answer.tokens.size())) << drafter;
      EXPECT_EQ(answer.text.prompt_tokens, static_cast<int>(answer.prompt.size())) << drafter;
      int given = 1, rejected = 0;
      for (const RecordedPass& pass : answer.text.passes) {
        EXPECT_LT(pass.drafted, RecordLimits::kRows) << drafter;
        EXPECT_LE(pass.accepted, pass.drafted) << drafter;
        drafted += pass.drafted;
        rejected += pass.accepted < pass.drafted ? 1 : 0;
        given += pass.accepted + 1;
      }
      EXPECT_EQ(given, answer.text.tokens) << drafter;
      const int cases = answer.text.missing + answer.text.synonym + answer.text.redundant;
      EXPECT_LE(cases, rejected) << drafter;
      // A chain that is not accepted whole was rejected, but for one that the end of the text cuts off.
      const bool chains = !absl::EndsWith(drafter, "+ours");
      EXPECT_GE(cases, chains ? rejected - 1 : 0) << drafter;
    }
    EXPECT_GT(drafted, 0) << drafter;
  }
}

TEST(RecordTexts, OursAreTheSameDraftersBesideTheDraftersOfSdNpu) {
  const std::vector<Tokens> none;
  const auto names_of = [&](const std::string& name) {
    std::vector<std::string> names;
    for (const std::unique_ptr<Drafter>& drafter : Must(DraftersToRecord(name, none))) names.emplace_back(drafter->name());
    return names;
  };
  for (const std::string base : {"lookup", "sam"}) {
    std::vector<std::string> expected = names_of(base);
    ASSERT_EQ(expected.size(), 1u);
    expected.insert(expected.end(), {"calibrated", "reuse"});
    EXPECT_EQ(names_of(base + "+ours"), expected);
  }
}

TEST(RecordTexts, EarlierAnswersAreDraftedFromBySamAlone) {
  std::vector<Tokens> earlier;
  const std::vector<std::unique_ptr<Drafter>> sam = Must(DraftersToRecord("sam", earlier));
  const std::vector<std::unique_ptr<Drafter>> lookup = Must(DraftersToRecord("lookup", earlier));
  const Tokens text = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_EQ(sam.size(), 1u);
  EXPECT_EQ(DraftOf(*sam[0], text), Tokens());
  earlier.push_back({2, 3, 4, 5, 6, 7, 8, 20, 21});
  EXPECT_EQ(DraftOf(*sam[0], text), (Tokens{20, 21}));
  EXPECT_EQ(DraftOf(*lookup[0], text), Tokens());
}

TEST(RecordTexts, DraftsAreAsLongAsTheirRuleSays) {
  const std::vector<Tokens> none;
  const std::vector<std::unique_ptr<Drafter>> sam = Must(DraftersToRecord("sam", none));
  const std::vector<std::unique_ptr<Drafter>> lookup = Must(DraftersToRecord("lookup", none));
  Tokens text(60);
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<TokenId>(i);
  text.insert(text.end(), {5, 6});
  EXPECT_EQ(DraftOf(*lookup[0], text), (Tokens{7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  EXPECT_EQ(DraftOf(*sam[0], text), (Tokens{7, 8, 9, 10, 11, 12, 13, 14, 15}));   // 1 + 4 for each of two that matched.
  for (TokenId token = 7; token < 15; ++token) text.push_back(token);
  EXPECT_EQ(DraftOf(*sam[0], text).size(), 31u);
}

TEST(RecordTexts, PromptsThatAreTooLongArePassedOver) {
  const std::unique_ptr<Engine> engine = SmallEngine();   // The prompts have 374, 386, 396 and more tokens.
  const std::vector<WrittenAnswer> all = RecordedUi(*engine, "lookup", {.most_tokens = 4});
  ASSERT_EQ(all.size(), 3u) << "the context has no room for more";
  EXPECT_EQ(RecordedUi(*engine, "lookup", {.most_tokens = 4, .most_prompt_tokens = all[1].text.prompt_tokens}).size(), 2u);
  EXPECT_EQ(RecordedUi(*engine, "lookup", {.most_tokens = engine->context() - all[0].text.prompt_tokens}).size(), 1u);
  TextRecorder recorder = Must(TextRecorder::Create(*engine, "lookup", {.most_prompt_tokens = 100}));
  const absl::Status status = recorder.Record(Must(ReadTasks(Samples(), "ui"))[0]).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("ui: found no prompt of at most 100 tokens among 6"), std::string::npos) << status;
}

TEST(RecordTexts, AnotherDrafterIsWrongUsage) {
  const std::unique_ptr<Engine> engine = SmallEngine();
  for (const std::string name : {"", "auto", "none", "ours", "+ours", "sam+ours+ours", "lookup,sam"}) {
    EXPECT_EQ(FieldOf(TextRecorder::Create(*engine, name, {}).status()), "speculate") << name;
  }
}

class RecordingModels : public testing::TestWithParam<std::string> {};

// The prompts that tests have are the first of their files, so their texts are the first of each task.
TEST_P(RecordingModels, FiveTextsAreRecordedAgain) {
  const std::string model = RealModelPath("smollm2");
  ASSERT_FALSE(model.empty()) << RealModelMissing("smollm2");
  const absl::StatusOr<Recording> recording = BuiltInRecording(GetParam());
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_EQ(Must(Sha256OfFile(model)).Hex(), recording->model_sha256);
  const std::unique_ptr<Engine> engine = EngineFor(model, 2, 1200);
  std::vector<PromptCategory> tasks = Must(ReadTasks(Samples(), "all"));
  ASSERT_EQ(tasks.size(), 4u);
  tasks.resize(static_cast<size_t>(Fewer(4, 1)));
  for (const PromptCategory& task : tasks) {
    std::vector<std::string> expected;
    for (const RecordedText& text : recording->texts) {
      if (text.task == task.name) expected.push_back(LineOf(text));
    }
    const size_t count = task.name == "ui" ? 2 : 1;   // The second drafts from the first one's answer.
    ASSERT_GE(expected.size(), count) << task.name;
    expected.resize(count);
    TextRecorder recorder = Must(TextRecorder::Create(*engine, GetParam(), {.texts = static_cast<int>(count)}));
    EXPECT_EQ(LinesOf(Must(recorder.Record(task))), expected) << task.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RecordingModels, testing::ValuesIn(RecordedDrafters()),
                         [](const auto& info) { return absl::StrCat("Drafter", info.index); });

}  // namespace
}  // namespace tessera
