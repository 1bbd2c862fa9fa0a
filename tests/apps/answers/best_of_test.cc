// tessera_generate --best_of: one of several samples, chosen by scores or by votes; flags and requests.
#include "tessera/apps/answers/best_of.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/runtime/scale/confidence.h"
#include "tessera/runtime/scale/value/same_answer.h"
#include "tessera/runtime/scale/vote.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

using Flags = std::vector<std::string>;

Flags With(const Flags& more) {
  Flags flags = {"--model=" + TinyPath("llama"), "--threads=1"};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// Goes on with a prompt for some tokens.
Ended Continue(const Flags& more) {
  Flags flags = With({"--prompt=the in re the in re the in", "--n_predict=12", "--seed=3"});
  flags.insert(flags.end(), more.begin(), more.end());
  return RunProgram("tessera_generate", flags);
}

JsonValue ContinueJson(Flags more) {
  more.push_back("--json");
  const Ended ended = Continue(more);
  EXPECT_EQ(ended.code, 0) << ended.errors;
  return Json(ended.output);
}

// Texts that hold digits now and then.
Flags Digits() { return {"--temperature=6", "--top_k=0", "--top_p=1", "--min_p=0", "--n_predict=60"}; }

// A number of each sample: "score", ...
std::vector<double> NumbersOf(const JsonValue& samples, const char* key) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < samples.size(); ++i) numbers.push_back(*samples[i].Double(key));
  return numbers;
}

TEST(BestOf, IsTheSampleThatTheScorerLikesBest) {
  const JsonValue answers = *ContinueJson({"--answers=6"}).Array("answers");
  for (const std::string scorer : {"mean_log_probability", "self_certainty"}) {
    const JsonValue written = ContinueJson({"--best_of=6", "--scorer=" + scorer});
    const JsonValue best_of = *written.Object("best_of"), samples = *best_of.Array("samples");
    ASSERT_EQ(samples.size(), 6);
    for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(*samples[i].String("text"), *answers[i].String("text")) << "as answer " << i;
    const std::vector<double> scores = NumbersOf(samples, "score");
    EXPECT_EQ(scores, NumbersOf(samples, scorer.c_str()));
    EXPECT_EQ(*best_of.Int("chosen"), std::max_element(scores.begin(), scores.end()) - scores.begin());
    EXPECT_EQ(*best_of.String("scorer"), scorer);
    EXPECT_EQ(*best_of.String("selection"), "best of N");
    EXPECT_EQ(*best_of.Int("whole_when_decided"), 6);
    EXPECT_EQ(*written.String("text"), *samples[*best_of.Int("chosen")].String("text"));
    EXPECT_EQ(*written.Ints("tokens"), *answers[*best_of.Int("chosen")].Ints("tokens"));
    EXPECT_TRUE(written.Has("timings") && written.Has("seed"));
  }
}

TEST(BestOf, WritesTheChosenTextAloneAndStatsShowAllSamples) {
  const JsonValue written = ContinueJson({"--best_of=4"});
  const Ended plain = Continue({"--best_of=4"});
  EXPECT_EQ(plain.output, *written.String("text") + "\n");
  EXPECT_FALSE(absl::StrContains(plain.errors, "chosen")) << plain.errors;
  const Ended shown = Continue({"--best_of=4", "--stats"});
  EXPECT_EQ(shown.output, plain.output);
  EXPECT_TRUE(absl::StrContains(shown.errors, "best of N by mean_log_probability, ")) << shown.errors;
  const std::vector<std::string> lines = absl::StrSplit(shown.errors, '\n');
  const auto is_head = [](const std::string& line) { return absl::StartsWith(line, "sample  chosen"); };
  const auto head = std::find_if(lines.begin(), lines.end(), is_head);
  ASSERT_GE(lines.end() - head, 6) << shown.errors;
  const int64_t chosen = *written.Object("best_of")->Int("chosen");
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(absl::StrContains(head[2 + i], "yes"), i == chosen) << head[2 + i];
    EXPECT_TRUE(absl::StrContains(head[2 + i], absl::StrCat(i))) << head[2 + i];
  }
}

TEST(BestOf, ChangesNoPromiseOfOtherFlags) {
  const PackedModel packed(TinyPath("llama"));
  const auto text = [](Flags flags) {
    flags.push_back("--best_of=5");
    return *ContinueJson(flags).String("text");
  };
  const std::string plain = text({"--speculate=none"});
  EXPECT_EQ(text({"--speculate=auto"}), plain);
  EXPECT_EQ(text({"--model=" + packed.path(), "--memory_budget=1GiB", "--pin=none"}), plain);
  const std::string adapter = "--adapter=a:" + GoldenPath("lora/llama-all.gguf");
  const std::string adapted = text({adapter, "--speculate=none"});
  EXPECT_NE(adapted, plain);
  EXPECT_EQ(text({adapter, "--speculate=auto"}), adapted);
}

// Counted again here, from what the samples say.
TEST(BestOf, AVoteIsThatOfTheAnswers) {
  int answers = 0;
  for (const std::string select : {"majority", "weighted"}) {
    for (int seed = 0; seed < 4; ++seed) {
      Flags flags = Digits();
      flags.insert(flags.end(), {"--best_of=12", "--select=" + select, absl::StrCat("--seed=", seed)});
      const JsonValue best_of = *ContinueJson(flags).Object("best_of"), samples = *best_of.Array("samples");
      std::vector<std::optional<std::string>> said;
      VoteCount count(12);
      for (int64_t i = 0; i < 12; ++i) {
        const bool has = samples[i].Has("answer") && !samples[i].Value("answer")->is_null();
        said.push_back(has ? std::optional(*samples[i].String("answer")) : std::nullopt);
        answers += has;
      }
      const std::vector<int> groups = GroupAnswers(said, SameAnswer);
      for (int i = 0; i < 12; ++i) {
        if (*samples[i].String("finish") == "cancelled") continue;
        count.Add(i, groups[static_cast<size_t>(i)],
                  select == "majority" ? 1 : WeightOfLogProbability(*samples[i].Double("mean_log_probability")));
      }
      EXPECT_EQ(*best_of.Int("chosen"), std::max(count.Leader(), 0)) << select << " " << seed;
      EXPECT_TRUE(count.IsDecided());
    }
  }
  EXPECT_GT(answers, 20) << "or there was nothing to vote on";
}

TEST(BestOf, OfRequestsIsThatOfTheirAnswers) {
  constexpr char kAnswers[] = R"({"id": 1, "text": "the in re", "n": 9, "answers": 5, "seed": 4}
{"id": 2, "text": "a a a", "n": 5, "temperature": 0.7}
)";
  constexpr char kBest[] = R"({"id": 1, "text": "the in re", "n": 9, "best_of": 5, "seed": 4}
{"id": 2, "text": "a a a", "n": 5, "temperature": 0.7}
{"id": 3, "text": "a", "answers": 2, "best_of": 2}
{"id": 4, "text": "a", "best_of": 2, "temperature": 0}
{"id": 5, "text": "a", "best_of": 65}
{"id": 6, "text": "a", "n": 3, "best_of": 1}
)";
  const std::vector<std::string> expected = absl::StrSplit(RunProgram("tessera_generate", With({"--jsonl"}), kAnswers).output, '\n');
  const JsonValue answers = *Json(expected[0]).Array("answers");
  for (const std::string parallel : {"2", "8"}) {
    const Ended ended = RunProgram("tessera_generate", With({"--jsonl", "--parallel=" + parallel}), kBest);
    EXPECT_EQ(ended.code, 1) << "three are bad";
    const std::vector<std::string> lines = absl::StrSplit(ended.output, '\n', absl::SkipEmpty());
    ASSERT_EQ(lines.size(), 6u) << ended.output;
    const JsonValue line = Json(lines[0]), best_of = *line.Object("best_of"), samples = *best_of.Array("samples");
    ASSERT_EQ(samples.size(), 5);
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(*samples[i].String("text"), *answers[i].String("output_text")) << i;
    EXPECT_EQ(*line.Ints("output_tokens"), *answers[*best_of.Int("chosen")].Ints("output_tokens"));
    EXPECT_EQ(*Json(lines[1]).Ints("output_tokens"), *Json(expected[1]).Ints("output_tokens"));
    EXPECT_TRUE(absl::StrContains(lines[2], "both answers and best_of")) << lines[2];
    EXPECT_TRUE(absl::StrContains(lines[3], "best_of: found 2 with temperature 0")) << lines[3];
    EXPECT_TRUE(absl::StrContains(lines[4], "best_of: found 65, expected")) << lines[4];
    EXPECT_EQ(*Json(lines[5]).Object("best_of")->Int("chosen"), 0);
  }
  const Ended in_turn = RunProgram("tessera_generate", With({"--jsonl"}), kBest);
  EXPECT_TRUE(absl::StrContains(in_turn.output, "best_of: found 5 without --parallel")) << in_turn.output;
}

TEST(BestOf, APlanCountsEverySampleAndTheSharedPrefixOnce) {
  const auto plan = [](const Flags& more) {
    Flags flags = With({"--dry_run", "--json", "--context=1024"});
    flags.insert(flags.end(), more.begin(), more.end());
    return Json(RunProgram("tessera_generate", flags).output);
  };
  const JsonValue one = plan({"--speculate=none"}), eight = plan({"--best_of=8", "--n_predict=100", "--speculate=none"});
  const JsonValue answers = plan({"--answers=8", "--n_predict=100", "--speculate=none"});
  EXPECT_EQ(*eight.Int("texts"), 8);
  EXPECT_EQ(*eight.Int("cache_tokens"), (1024 + 7 * 100 + 7) / 8 * 8) << "a usual text, and what seven others write";
  EXPECT_EQ(*answers.Int("cache_tokens"), 8 * 1024);
  const int64_t each = *one.Object("memory_bytes")->Int("cache") / *one.Int("cache_tokens");
  EXPECT_EQ(*eight.Object("memory_bytes")->Int("cache"), each * *eight.Int("cache_tokens"));
  EXPECT_EQ(*plan({"--best_of=8", "--cache_tokens=1040"}).Int("cache_tokens"), 1040) << "as it is said";
}

TEST(BestOf, UnderABudgetThePlanFitsTheBudget) {
  const PackedModel packed(TinyPath("llama"));
  const Flags flags = {"--model=" + packed.path(), "--context=512", "--flash=ufs4.0", "--best_of=16", "--n_predict=20"};
  const auto run = [&](Flags more) {
    more.insert(more.begin(), flags.begin(), flags.end());
    return RunProgram("tessera_generate", more);
  };
  const int64_t least = *Json(run({"--dry_run", "--json", "--memory_budget=1GiB"}).output).Object("memory_budget")->Int("least");
  const int64_t enough = least + (8 << 20);
  const std::string budget = absl::StrCat("--memory_budget=", enough);
  const JsonValue plan = Json(run({"--dry_run", "--json", budget}).output);
  EXPECT_EQ(*plan.Int("texts"), 16);
  EXPECT_LE(*plan.Object("memory_bytes")->Int("total"), enough);
  const Ended ended = run({"--prompt=the in re", budget});
  EXPECT_EQ(ended.code, 0) << ended.errors;
  const Ended refused = run({"--prompt=the in re", absl::StrCat("--memory_budget=", least / 2)});
  EXPECT_NE(refused.code, 0) << "before it begins";
  EXPECT_TRUE(absl::StrContains(refused.errors, "memory_budget")) << refused.errors;
  EXPECT_EQ(refused.output, "");
}

TEST(BestOf, FlagsThatCannotBeMeantAreRefused) {
  const TemporaryFolder folder;
  const std::string request = "{\"id\": 1, \"text\": \"a\"}\n";
  const struct { Flags flags; std::string said; } cases[] = {
      {{"--best_of=0"}, "--best_of: found 0, expected 1 to 64"},
      {{"--best_of=65"}, "--best_of: found 65, expected 1 to 64"},
      {{"--best_of=4", "--temperature=0"}, "--best_of: found 4 with temperature 0, expected 1, since all would be the same"},
      {{"--best_of=4", "--top_k=1"}, "--best_of: found 4 with top_k 1"},
      {{"--best_of=4", "--answers=2"}, "--best_of: found beside --answers"},
      {{"--best_of=4", "--chat"}, "--best_of: found beside --chat"},
      {{"--best_of=4", "--session=" + folder.Path("session")}, "--best_of: found beside --session"},
      {{"--best_of=4", "--jsonl"}, "--best_of: found beside --jsonl, expected \"best_of\" in requests"},
      {{"--best_of=4", "--select=worst"}, "--select: found \"worst\", expected best, majority or weighted"},
      {{"--best_of=4", "--scorer=nobody"}, "--scorer: found \"nobody\", expected one of mean_log_probability"},
      {{"--best_of=4", "--select=majority", "--scorer=self_certainty"}, "--scorer: found beside --select=majority"},
      {{"--scorer=self_certainty"}, "--scorer: found without --best_of"},
      {{"--select=majority"}, "--select: found without --best_of"},
      {{"--select=majority", "--jsonl"}, "--select: found beside --jsonl without --parallel"},
      {{"--best_of=4", "--scorer=reward:/nowhere/head"}, "/nowhere/head"},
  };
  for (const auto& each : cases) {
    const Ended ended = RunProgram("tessera_generate", With(each.flags), request);
    EXPECT_EQ(ended.code, 2) << each.said << ended.errors;
    EXPECT_TRUE(absl::StrContains(ended.errors, each.said)) << each.said << "\n" << ended.errors;
    EXPECT_EQ(ended.output, "");
  }
}

TEST(BestOf, ASignalEndsTheProgramAndNoAnswerIsChosen) {
  // As good as greedy: the texts never end.
  Program program("tessera_generate", With({"--prompt=the", "--best_of=3", "--n_predict=0", "--context=1000000", "--temperature=0.001"}));
  EXPECT_TRUE(program.Computes(500'000));
  program.Signal(SIGINT);
  EXPECT_TRUE(program.Ends());
  const Ended ended = program.Finish("");
  EXPECT_EQ(ended.code, 128 + SIGINT);
  EXPECT_EQ(ended.output, "");
}

TEST(SampleSetTable, MarksTheChosenAndSaysWhenTheVoteWasDecided) {
  SampleSetResult result = {.selection = Selection::kMajority, .chosen = 1, .whole_when_decided = 2, .tokens = 7};
  result.most_tokens_left_out = 9;
  result.samples.resize(3);
  result.samples[0] = {.written = {.text = {.tokens = {1, 2}, .text = "b", .reason = FinishReason::kLength}}};
  result.samples[1] = {.written = {.text = {.tokens = {1, 2, 3}, .reason = FinishReason::kEndToken}}, .score = 0.25, .answer = "4\n2"};
  result.samples[2].written.text.reason = FinishReason::kCancelled;
  EXPECT_EQ(SampleSetTable(result),
            "sample  chosen   score  tokens  finish       answer\n"
            "------  ------  ------  ------  -----------  ------\n"
            "     0               -       2  length       -\n"
            "     1  yes     0.2500       3  end of text  4\\n2\n"
            "     2               -       0  cut off      -\n"
            "majority, decided when 2 of 3 samples were whole: 7 tokens, at most 9 not written\n");
  result.whole_when_decided = 3;
  result.selection = Selection::kBestOfN;
  result.scorer = "judge";
  result.samples[0].written.text.text = std::string(59, 'a') + "\u00e4" + "b";   // Cut between characters.
  const std::string table = SampleSetTable(result);
  EXPECT_TRUE(absl::StrContains(table, "  " + std::string(59, 'a') + "...\n")) << table;
  EXPECT_TRUE(absl::EndsWith(table, "best of N by judge, 7 tokens\n")) << table;
}

}  // namespace
}  // namespace tessera
