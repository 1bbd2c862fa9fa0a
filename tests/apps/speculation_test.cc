// --speculate changes how many passes a text takes, and not one byte of it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/tests/apps/run_program.h"

namespace tessera {
namespace {

constexpr const char* kModels[] = {"llama", "qwen2", "qwen3", "gemma3"};

Ended Generate(const std::string& model, const std::string& speculate, std::vector<std::string> flags, const std::string& input = "") {
  flags.insert(flags.begin(), {"--model=" + TinyModel(model), "--threads=1", "--speculate=" + speculate});
  Ended ended = RunProgram("tessera_generate", flags, input);
  EXPECT_EQ(ended.code, 0) << ended.errors;
  return ended;
}

// What a run writes is the same with and without drafts.
void ExpectSame(const std::string& model, const std::vector<std::string>& flags, const std::string& input = "") {
  const std::string plain = Generate(model, "none", flags, input).output;
  for (const std::string speculate : {"auto", "lookup"}) {
    EXPECT_EQ(Generate(model, speculate, flags, input).output, plain) << model << ", --speculate=" << speculate;
  }
}

TEST(Speculate, TextIsTheSameWithoutDrafts) {
  for (const std::string model : kModels) {
    for (const std::string prompt : {"the in re", "a a a a a a", "If you can keep your head when all about you"}) {
      ExpectSame(model, {"--prompt=" + prompt, "--n_predict=40", "--temperature=0"});
      ExpectSame(model, {"--prompt=" + prompt, "--n_predict=40", "--temperature=0.3", "--seed=7", "--repetition_penalty=1.1", "--min_p=0.1"});
    }
  }
}

TEST(Speculate, StopStringsAndTheContextEndItWhereTheyEndThePlainText) {
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
  ExpectSame("llama", {"--jsonl", "--temperature=1", "--seed=3"}, "{\"id\": 1, \"text\": \"the\", \"n\": 30}\n{\"id\": 2, \"text\": \"the\", \"n\": 30}\n");
  for (const char* dialogue : {"the\nin\nthe\n", "the in re\n/reset\nin\nthe in re\n"}) {
    ExpectSame("llama", {"--chat", "--chat_template=chatml", "--n_predict=20", "--temperature=0"}, dialogue);
    ExpectSame("llama", {"--chat", "--chat_template=chatml", "--n_predict=20", "--temperature=0.5"}, dialogue);
  }
}

TEST(Speculate, TheSummaryTellsWhatDraftsGave) {
  const std::vector<std::string> flags = {"--prompt=a a a a a a a a", "--n_predict=60", "--temperature=0", "--json"};
  const Ended with = Generate("llama", "lookup", flags), without = Generate("llama", "none", flags);
  const JsonValue figures = *Json(with.output).Object("timings")->Object("speculation");
  EXPECT_EQ(*figures.Int("tokens"), 59);
  EXPECT_LT(*figures.Int("passes"), 59) << "no draft was ever right";
  EXPECT_GE(*figures.Int("rows"), *figures.Int("passes"));
  EXPECT_NEAR(*figures.Double("tokens_per_pass"), 59.0 / *figures.Int("passes"), 1e-4);
  EXPECT_NE(with.errors.find(" tokens a pass of "), std::string::npos) << with.errors;
  EXPECT_FALSE(Json(without.output).Object("timings")->Has("speculation"));
  EXPECT_EQ(without.errors.find(" tokens a pass of "), std::string::npos) << without.errors;
}

TEST(Speculate, AWrongNameIsWrongUsage) {
  const Ended ended = RunProgram("tessera_generate", {"--model=" + TinyModel("llama"), "--prompt=a", "--speculate=lokup"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.output, "");
  EXPECT_NE(ended.errors.find("--speculate: "), std::string::npos) << ended.errors;
  EXPECT_NE(ended.errors.find("did you mean lookup?"), std::string::npos) << ended.errors;
}

}  // namespace
}  // namespace tessera
