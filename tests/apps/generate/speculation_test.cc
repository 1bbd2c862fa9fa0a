// With --speculate a text takes fewer passes, and not one byte of it changes.
#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/runtime/draft/vocabulary_of.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/breakable_device.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

Ended Generate(const std::string& model, const std::string& speculate, std::vector<std::string> flags, const std::string& input = "") {
  flags.insert(flags.begin(), {"--model=" + TinyPath(model), "--threads=1", "--speculate=" + speculate});
  Ended ended = RunProgram("tessera_generate", flags, input);
  EXPECT_EQ(ended.code, 0) << ended.errors;
  return ended;
}

// What a run writes is the same with and without drafts.
void ExpectSame(const std::string& model, const std::vector<std::string>& flags, const std::string& input = "") {
  const std::string plain = WithoutTimes(Generate(model, "none", flags, input).output);
  for (const std::string speculate : {"auto", "lookup", "suffix,reuse"}) {
    EXPECT_EQ(WithoutTimes(Generate(model, speculate, flags, input).output), plain) << model << ", --speculate=" << speculate;
  }
}

TEST(Speculate, TextIsTheSameWithoutDrafts) {
  for (const std::string model : kArchitectures) {
    for (const std::string prompt : {"the in re", "a a a a a a", "If you can keep your head when all about you"}) {
      ExpectSame(model, {"--prompt=" + prompt, "--n_predict=40", "--temperature=0"});
      ExpectSame(model, {"--prompt=" + prompt, "--n_predict=40", "--temperature=0.3", "--seed=7", "--repetition_penalty=1.1",
                         "--min_p=0.1"});
    }
  }
}

TEST(Speculate, StopStringsAndTheContextEndDraftedTextLikePlainText) {
  const JsonValue whole = Json(Generate("llama", "none", {"--prompt=the in re", "--n_predict=40", "--temperature=0", "--json"}).output);
  const std::string text = *whole.String("text");
  ASSERT_GT(text.size(), 20u);
  for (size_t i = 0; i + 2 < 20; i += 3) {
    ExpectSame("llama", {"--prompt=the in re", "--n_predict=40", "--temperature=0", absl::StrCat("--stop=", text.substr(i, 2))});
  }
  ExpectSame("llama", {"--prompt=the in re", "--n_predict=0", "--context=50", "--temperature=0"});
}

TEST(Speculate, RequestsAndDialoguesAreAnsweredTheSame) {
  ExpectSame("llama", {"--jsonl", "--temperature=0"},
             "{\"id\": 1, \"text\": \"the in re the in\", \"n\": 30}\n{\"id\": 2, \"tokens\": [70, 71, 70, 71], \"n\": 30}\n");
  ExpectSame("llama", {"--jsonl", "--temperature=1", "--seed=3", "--parallel=2"},
             "{\"id\": 1, \"text\": \"the\", \"n\": 30}\n{\"id\": 2, \"text\": \"the in re\", \"n\": 30}\n");
  ExpectSame("llama", {"--jsonl", "--temperature=1", "--seed=3"},
             "{\"id\": 1, \"text\": \"the\", \"n\": 30}\n{\"id\": 2, \"text\": \"the\", \"n\": 30}\n");
  for (const char* dialogue : {"the\nin\nthe\n", "the in re\n/reset\nin\nthe in re\n"}) {
    ExpectSame("llama", {"--chat", "--chat_template=chatml", "--n_predict=20", "--temperature=0"}, dialogue);
    ExpectSame("llama", {"--chat", "--chat_template=chatml", "--n_predict=20", "--temperature=0.5"}, dialogue);
  }
}

// Costs of a machine where rows cost nothing, so that every draft pays.
std::string FreeRows(const TemporaryFolder& folder) {
  CostProfile costs;
  for (const int rows : {1, 2, 16}) {
    costs.AddPass({.rows = rows}, 0.01);
    costs.AddHead(rows, 0.001);
  }
  CHECK(costs.Save(folder.Path("costs.json")).ok());
  return folder.Path("costs.json");
}

TEST(Speculate, TheSummaryReportsTheGainOfDrafts) {
  const TemporaryFolder folder;
  std::vector<std::string> flags = {"--prompt=a a a a a a a a", "--n_predict=60", "--temperature=0", "--json", "--stats"};
  const Ended without = Generate("llama", "none", flags);
  flags.push_back("--cost_profile=" + FreeRows(folder));
  const Ended with = Generate("llama", "suffix", flags);
  const JsonValue figures = *Json(with.output).Object("timings")->Object("speculation");
  const int64_t tokens = *Json(with.output).Object("timings")->Int("output_tokens") - 1, passes = *figures.Int("passes");
  EXPECT_EQ(*figures.Int("tokens"), tokens);
  EXPECT_LT(passes, tokens) << "no draft was ever right";
  EXPECT_GT(*figures.Int("rows"), passes);
  EXPECT_NEAR(*figures.Double("tokens_per_pass"), static_cast<double>(tokens) / static_cast<double>(passes), 1e-4);
  const JsonValue gain = *figures.Value("gain");
  EXPECT_TRUE(gain.is_null() || *gain.AsDouble() > 0) << "null: no pass was without draft";
  EXPECT_GT(*figures.Double("predicted_gain"), 1);
  const JsonValue drafter = (*figures.Array("drafters"))[0];
  EXPECT_EQ(*drafter.String("name"), "suffix");
  EXPECT_EQ(*drafter.Int("accepted"), tokens - passes) << "a pass gives one more than was accepted";
  EXPECT_NE(with.errors.find(" tok per pass | "), std::string::npos) << with.errors;
  EXPECT_NE(with.errors.find("drafts: "), std::string::npos) << with.errors;
  EXPECT_NE(with.errors.find(" tokens per pass of "), std::string::npos) << with.errors;
  EXPECT_FALSE(Json(without.output).Object("timings")->Has("speculation"));
  EXPECT_EQ(without.errors.find(" per pass"), std::string::npos) << without.errors;
}

TEST(Speculate, WithACostProfileDraftsCanBeRepeated) {
  const TemporaryFolder folder;
  const auto drafts = [&](const std::string& profile) {
    const Ended ended = Generate("llama", "auto", {"--prompt=a a a a a a a a", "--n_predict=60", "--json", "--cost_profile=" + profile});
    const JsonValue figures = *Json(ended.output).Object("timings")->Object("speculation");
    return std::make_pair(*figures.Int("passes"), *figures.Int("rows"));
  };
  const std::string measured = folder.Path("measured.json");
  drafts(measured);
  EXPECT_TRUE(std::filesystem::exists(measured)) << "the first run writes it";
  for (const std::string& profile : {measured, FreeRows(folder)}) EXPECT_EQ(drafts(profile), drafts(profile));
  std::ofstream(folder.Path("bad.json")) << "{";
  const Ended bad = RunProgram("tessera_generate",
                               {"--model=" + TinyPath("llama"), "--prompt=a", "--cost_profile=" + folder.Path("bad.json")});
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.errors.find("--cost_profile: " + folder.Path("bad.json")), std::string::npos) << bad.errors;
  const Ended unused = RunProgram("tessera_generate", {"--model=" + TinyPath("llama"), "--prompt=a", "--speculate=none",
                                                       "--cost_profile=" + measured});
  EXPECT_EQ(unused.code, 2);
  EXPECT_NE(unused.errors.find("--cost_profile: found with speculate=none"), std::string::npos) << unused.errors;
}

TEST(Speculate, AHistoryIsDraftedFromInTheNextRun) {
  const TemporaryFolder folder;
  const CacheFolderFor cache(folder.path());
  const std::vector<std::string> flags = {"--prompt=the in re",
                                          "--n_predict=40",
                                          "--temperature=1.5",
                                          "--top_k=0",
                                          "--json",
                                          "--history=test",
                                          "--cost_profile=" + FreeRows(folder)};
  const auto run = [&] { return Json(Generate("llama", "suffix", flags).output); };
  const auto passes = [](const JsonValue& json) { return *json.Object("timings")->Object("speculation")->Int("passes"); };
  const JsonValue first = run(), second = run();
  EXPECT_EQ(*first.String("text"), *second.String("text"));
  EXPECT_LT(passes(second), passes(first) / 2) << "the whole text was there before";
  const Ended bad = RunProgram("tessera_generate", {"--model=" + TinyPath("llama"), "--prompt=a", "--history=a/b"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.errors.find("--history: "), std::string::npos) << bad.errors;
}

// The history's only file, whole; empty while there is none.
std::string HistoryFile(const TemporaryFolder& cache) {
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(cache.Path("history"), none)) {
    if (file.path().extension() == ".history") return file.path().string();
  }
  return "";
}

TEST(Speculate, AnswersOfADialogueAreInItsHistoryAfterAnyEnd) {
  constexpr int kCtrlD = 101, kExit = 102, kCtrlCTwice = 103;   // Beside signals.
  for (const int end : {kCtrlD, kExit, kCtrlCTwice, SIGTERM, SIGHUP, SIGKILL}) {
    const TemporaryFolder folder;
    const CacheFolderFor cache(folder.path());
    const std::vector<std::string> flags = {"--model=" + TinyPath("llama"),
                                            "--threads=1",
                                            "--chat",
                                            "--chat_template=chatml",
                                            "--n_predict=30",
                                            "--temperature=0",
                                            "--history=test"};
    Program program("tessera_generate", flags);
    program.Write("the in re\n/reset\n");
    ASSERT_TRUE(program.WaitForErrors("The dialogue is forgotten."));   // And the next message is waited for.
    ASSERT_FALSE(HistoryFile(folder).empty()) << "no answer was kept";
    if (end < kCtrlD) program.Signal(end);
    if (end == kCtrlCTwice) {
      program.Signal(SIGINT);
      ASSERT_TRUE(program.WaitForErrors("Ctrl-C again"));
      program.Signal(SIGINT);
    }
    if (end != kCtrlD && end != kExit) {
      EXPECT_TRUE(program.Ends());   // Before the end of its input comes, too.
    }
    const int code = program.Finish(end == kExit ? "/exit\n" : "").code;
    EXPECT_EQ(code, end == kCtrlD || end == kExit ? 0 : 128 + (end == kCtrlCTwice ? SIGINT : end));
    EXPECT_GT(std::filesystem::file_size(HistoryFile(folder)), 60u) << "30 tokens are more, however they are written";
  }
}

TEST(Speculate, AnswersToRequestsAreInTheirHistoryAfterAnyEnd) {
  constexpr int kNoJson = 101, kEndOfInput = 102;   // Beside signals.
  for (const int end : {kEndOfInput, kNoJson, SIGINT, SIGTERM, SIGHUP, SIGKILL}) {
    const TemporaryFolder folder;
    const CacheFolderFor cache(folder.path());
    Program program("tessera_generate", {"--model=" + TinyPath("llama"), "--threads=1", "--jsonl", "--temperature=0", "--history=test"});
    program.Write("{\"id\": 1, \"text\": \"the in re\", \"n\": 30}\n");
    ASSERT_NE(program.FirstOutput(), "");
    if (end < kNoJson) {
      program.Signal(end);
      EXPECT_TRUE(program.Ends());   // Before the end of its input comes, too.
    }
    const int code = program.Finish(end == kNoJson ? "{\n" : "").code;
    EXPECT_EQ(code, end == kEndOfInput ? 0 : end == kNoJson ? 1 : 128 + end);
    ASSERT_FALSE(HistoryFile(folder).empty()) << end;
    EXPECT_GT(std::filesystem::file_size(HistoryFile(folder)), 60u) << "30 tokens are more, however they are written";
  }
}

TEST(Speculate, AHistoryWhoseFileIsDeletedIsForgotten) {
  const TemporaryFolder folder;
  const CacheFolderFor cache(folder.path());
  const std::vector<std::string> flags = {"--prompt=the in re",
                                          "--n_predict=40",
                                          "--temperature=1.5",
                                          "--top_k=0",
                                          "--json",
                                          "--history=test",
                                          "--cost_profile=" + FreeRows(folder)};
  const auto passes = [&] {
    return *Json(Generate("llama", "suffix", flags).output).Object("timings")->Object("speculation")->Int("passes");
  };
  const int64_t first = passes();
  EXPECT_LT(passes(), first);
  ASSERT_TRUE(std::filesystem::remove(HistoryFile(folder)));
  EXPECT_TRUE(std::filesystem::is_empty(folder.Path("history"))) << "that file was all";
  EXPECT_EQ(passes(), first);
}

// Whether the file has these tokens, one after another.
bool Holds(const std::string& path, const std::vector<TokenId>& tokens) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return absl::StrContains(bytes, absl::string_view(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(TokenId)));
}

TEST(Speculate, AHistoryHoldsPromptsOnlyIfAsked) {
  const std::vector<TokenId> prompt = {70, 81, 72, 93, 74, 85, 76, 97, 78, 89, 71, 92};
  for (const std::string speculate : {"auto", "none"}) {
    for (const bool asked : {false, true}) {
      const TemporaryFolder folder;
      const CacheFolderFor cache(folder.path());
      const std::string flag = absl::StrCat("--history_prompts=", asked ? "true" : "false");
      const Ended ended = Generate("llama", speculate, {"--jsonl", "--history=test", flag},
                                   absl::StrCat("{\"id\": 1, \"tokens\": [", absl::StrJoin(prompt, ","), "], \"n\": 8}\n"));
      const std::vector<int64_t> answer = *Json(ended.output).Array("output_tokens")->AsInts();
      EXPECT_TRUE(Holds(HistoryFile(folder), {answer.begin(), answer.end()}));
      EXPECT_EQ(Holds(HistoryFile(folder), prompt), asked);
    }
  }
  const Ended alone = RunProgram("tessera_generate", {"--model=" + TinyPath("llama"), "--prompt=a", "--history_prompts"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_NE(alone.errors.find("--history_prompts: found without history, expected both"), std::string::npos) << alone.errors;
}

TEST(Speculate, WithoutDraftersAHistoryKeepsAnswersAllTheSame) {
  const TemporaryFolder folder;
  const CacheFolderFor cache(folder.path());
  std::vector<std::string> flags = {"--prompt=the in re", "--n_predict=40", "--temperature=1.5", "--top_k=0", "--json", "--stats"};
  const std::string text = *Json(Generate("llama", "none", flags).output).String("text");
  EXPECT_EQ(HistoryFile(folder), "");
  flags.push_back("--history=test");
  const Ended kept = Generate("llama", "none", flags);
  EXPECT_EQ(*Json(kept.output).String("text"), text);
  EXPECT_NE(kept.errors.find("drafts: none\n"), std::string::npos) << kept.errors;
  flags.push_back("--cost_profile=" + FreeRows(folder));
  const JsonValue drafted = Json(Generate("llama", "suffix", flags).output);
  EXPECT_EQ(*drafted.String("text"), text);
  EXPECT_LT(*drafted.Object("timings")->Object("speculation")->Int("passes"), 20) << "the whole text was there before";
  const Ended bad = RunProgram("tessera_generate", {"--model=" + TinyPath("llama"), "--prompt=a", "--speculate=none", "--history=a/b"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.errors.find("--history: "), std::string::npos) << bad.errors;
}

// Answers in this process, whose engine a test can stop or break.
class SpeculateKeeps : public ::testing::Test {
 protected:
  SpeculateKeeps() {
    FLAGS_history = "test";
    FLAGS_temperature = 0;
  }
  // If `spoil` ends an answer after some tokens, nothing of it is kept; the next one, which is finished, is kept whole.
  void ExpectOnlyTheNextIsKept(Engine& engine, const std::function<void()>& spoil, const std::function<void()>& repair) {
    constexpr int kTokens = 100;
    const std::vector<TokenId> prompt = {70, 71, 72, 70, 71};
    Answerer answerer = *AnswererOfFlags(engine, /*flash_bytes_per_second=*/0);
    int tokens = 0;
    const auto spoil_it = [&](TokenId, absl::Span<const float>) {
      if (++tokens == 5) spoil();
    };
    const absl::StatusOr<Generation> spoiled = answerer.Run(prompt, {.max_tokens = kTokens, .on_token = spoil_it});
    EXPECT_TRUE(!spoiled.ok() || spoiled->reason == FinishReason::kCancelled);
    EXPECT_TRUE(tokens >= 5 && tokens < kTokens) << tokens;
    EXPECT_TRUE(answerer.Save().ok());
    EXPECT_EQ(KeptTokens(engine), 0);
    repair();
    answerer.Reset();
    const absl::StatusOr<Generation> whole = answerer.Run(prompt, {.max_tokens = kTokens});
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_TRUE(answerer.Save().ok());
    EXPECT_EQ(KeptTokens(engine), static_cast<int64_t>(whole->tokens.size()) + 1) << "with what ends a text";
  }

 private:
  int64_t KeptTokens(const Engine& engine) const {
    return (*HistoryStore::Open(folder_.Path("history"), "test", VocabularyOf(engine.tokenizer()), {}))->tokens();
  }

  const gflags::FlagSaver flags_before_;
  const TemporaryFolder folder_;
  const CacheFolderFor cache_{folder_.path()};
};

TEST_F(SpeculateKeeps, NoAnswerThatWasCancelled) {
  std::atomic<bool> cancel = false;
  const auto engine = *Engine::Load({.model_path = TinyPath("llama"), .compute = {.threads = 1}, .cancel = &cancel});
  ExpectOnlyTheNextIsKept(*engine, [&] { cancel = true; }, [&] { cancel = false; });
}

TEST_F(SpeculateKeeps, NoAnswerThatFailed) {
  const PackedModel packed(TinyPath("gemma3"));  // Larger than the ring, so that each pass reads it anew.
  Breaker breaker;
  EngineOptions options = {
      .model_path = packed.path(), .compute = {.threads = 1}, .streaming = {.memory_budget = 1 << 30, .pin = PinPolicy::kNone}};
  options.hooks = Hooks({.wrap_device = [&](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
    return std::make_unique<BreakableDevice>(std::move(device), breaker);
  }});
  const auto engine = *Engine::Load(options);
  ExpectOnlyTheNextIsKept(*engine, [&] { breaker.BreakReadFromNow(0); }, [&] { breaker.Repair(); });
}

TEST(Speculate, AWrongNameIsWrongUsage) {
  const Ended ended = RunProgram("tessera_generate", {"--model=" + TinyPath("llama"), "--prompt=a", "--speculate=lokup"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.output, "");
  EXPECT_NE(ended.errors.find("--speculate: "), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find("did you mean lookup?"), std::string::npos) << ended.errors;
}

}  // namespace
}  // namespace tessera
