// tessera_generate --distinct_first_tokens: answers that begin with the likeliest first tokens, as a table, as JSON and to requests.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/programs/flag_list.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

std::string OutputOf(const Flags& flags) {
  const Flags all = Flags{"--model=" + TinyPath("llama"), "--threads=1", "--prompt=the in re", "--distinct_first_tokens"} + flags;
  const Ended ended = RunProgram("tessera_generate", all);
  EXPECT_EQ(ended.code, 0) << ended.errors;
  return ended.output;
}

std::vector<std::string> LinesOf(const std::string& output) { return absl::StrSplit(output, '\n', absl::SkipEmpty()); }

// Those of each answer to a request.
std::vector<std::vector<int64_t>> TokensOf(const std::string& line) {
  std::vector<std::vector<int64_t>> tokens;
  const JsonValue answers = *Json(line).Array("answers");
  for (int64_t i = 0; i < answers.size(); ++i) tokens.push_back(*answers[i].Ints("output_tokens"));
  return tokens;
}

// Greedy ones, too, which would be the same otherwise.
TEST(DistinctFirstTokens, AreATableOfAnswersThatBeginWithTheLikeliestTokens) {
  const auto with = [](const Flags& more) { return OutputOf(Flags{"--temperature=0", "--n_predict=6"} + more); };
  const std::vector<std::string> table = LinesOf(with({"--answers=4"}));
  ASSERT_EQ(table.size(), 2u + 4u);
  EXPECT_TRUE(absl::StartsWith(table[0], "first token")) << table[0];
  for (const char* const column : {"probability", "tokens", "finish", "text"}) EXPECT_TRUE(absl::StrContains(table[0], column)) << column;
  const JsonValue answers = *Json(with({"--answers=4", "--json"})).Array("answers");
  const JsonValue fewer = *Json(with({"--answers=2", "--json"})).Array("answers");
  ASSERT_EQ(answers.size(), 4);
  std::set<int64_t> begun;
  double before = 1;
  for (int i = 0; i < 4; ++i) {
    const JsonValue first = *answers[i].Object("first_token");
    const std::vector<int64_t> tokens = *answers[i].Ints("tokens");
    const double probability = *first.Double("probability");
    EXPECT_EQ(tokens.at(0), *first.Int("id"));
    EXPECT_TRUE(first.Has("text"));
    EXPECT_GT(probability, 0);
    EXPECT_LE(probability, before) << "the likeliest first";
    before = probability;
    begun.insert(tokens[0]);
    EXPECT_TRUE(absl::StrContains(table[static_cast<size_t>(i) + 2], *answers[i].String("finish"))) << table[static_cast<size_t>(i) + 2];
    if (i < 2) {
      EXPECT_EQ(*fewer[i].Ints("tokens"), tokens) << "it does not depend on how many there are";
    }
  }
  EXPECT_EQ(begun.size(), 4u);
}

TEST(DistinctFirstTokens, ChangeNoPromiseOfOtherFlags) {
  const PackedModel packed(TinyPath("llama"));
  const auto tokens = [](const Flags& flags) {
    std::vector<std::vector<int64_t>> tokens;
    const JsonValue json = Json(OutputOf(Flags{"--answers=3", "--n_predict=20", "--seed=3", "--json"} + flags));
    const JsonValue answers = *json.Array("answers");
    for (int64_t i = 0; i < answers.size(); ++i) tokens.push_back(*answers[i].Ints("tokens"));
    return tokens;
  };
  const std::vector<std::vector<int64_t>> plain = tokens({"--speculate=none"});
  EXPECT_EQ(plain.size(), 3u);
  EXPECT_EQ(tokens({"--speculate=auto"}), plain);
  EXPECT_EQ(tokens({"--model=" + packed.path(), "--memory_budget=1GiB", "--pin=none"}), plain);
  const std::string adapter = "--adapter=a:" + GoldenPath("lora/llama-all.gguf");
  const std::vector<std::vector<int64_t>> adapted = tokens({adapter, "--speculate=none"});
  EXPECT_NE(adapted, plain);
  EXPECT_EQ(tokens({adapter, "--speculate=auto"}), adapted);
}

TEST(DistinctFirstTokens, OfRequestsAreTheSameOneByOneAndInParallel) {
  constexpr char kRequests[] = R"({"id": 1, "text": "the in re", "n": 9, "answers": 4, "distinct_first_tokens": true, "temperature": 0}
{"id": 2, "text": "a a a", "n": 5, "temperature": 0.7}
{"id": 3, "text": "re", "n": 5, "answers": 2, "distinct_first_tokens": true}
{"id": 4, "text": "re", "n": 5, "distinct_first_tokens": true}
)";
  const Flags flags = {"--model=" + TinyPath("llama"), "--threads=1", "--jsonl"};
  const Ended one_by_one = RunProgram("tessera_generate", flags, kRequests);
  const Ended parallel = RunProgram("tessera_generate", flags + Flags{"--parallel=3"}, kRequests);
  EXPECT_EQ(one_by_one.code, 1) << "the last is bad";
  EXPECT_EQ(parallel.code, 1);
  const std::vector<std::string> lines = LinesOf(one_by_one.output);
  const std::vector<std::string> together = LinesOf(parallel.output);
  ASSERT_EQ(lines.size(), 4u);
  ASSERT_EQ(together.size(), 4u);
  for (const size_t line : {size_t{0}, size_t{2}}) EXPECT_EQ(TokensOf(together[line]), TokensOf(lines[line])) << line;
  EXPECT_EQ(*Json(together[1]).Ints("output_tokens"), *Json(lines[1]).Ints("output_tokens"));
  EXPECT_EQ(together[3], lines[3]);
  const JsonValue answers = *Json(lines[0]).Array("answers");
  ASSERT_EQ(answers.size(), 4);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(answers[i].Ints("output_tokens")->at(0), *answers[i].Object("first_token")->Int("id"));
    EXPECT_EQ(*answers[i].Object("counts")->Int("shared_prompt"),
              static_cast<int64_t>(Json(lines[0]).Ints("prompt_tokens")->size()) - 1) << "for the first, too";
  }
  EXPECT_FALSE(Json(lines[1]).Has("first_token"));
  EXPECT_TRUE(absl::StrContains(lines[3], "distinct_first_tokens without several answers")) << lines[3];
}

}  // namespace
}  // namespace tessera
