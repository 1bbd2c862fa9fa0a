// Where a session of tessera_generate goes on: behind the text that was shown, with the tokens that the whole text has.
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/space_prefix_model.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class SessionGoesOn : public testing::Test {
 protected:
  SessionGoesOn() { SpacePrefixModelBuilder().WriteTo(model_); }

  std::string Run(const std::vector<std::string>& more, const std::string& input = "") const {
    std::vector<std::string> flags = {"--model=" + model_, "--threads=1", "--temperature=0"};
    flags.insert(flags.end(), more.begin(), more.end());
    const Ended ended = RunProgram("tessera_generate", flags, input);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return ended.output;
  }
  // A run that writes --json.
  JsonValue Raw(const std::string& prompt, int tokens, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> flags = {"--raw", "--json", "--prompt=" + prompt, absl::StrCat("--n_predict=", tokens)};
    flags.insert(flags.end(), more.begin(), more.end());
    return Must(JsonValue::Parse(Run(flags)));
  }
  static std::vector<TokenId> Tokens(const JsonValue& result, const char* key = "tokens") {
    const std::vector<int64_t> tokens = Must(result.Ints(key));
    return std::vector<TokenId>(tokens.begin(), tokens.end());
  }
  static std::string Text(const JsonValue& result) { return Must(result.String("text")); }
  // What comes behind these tokens, in one run.
  std::vector<TokenId> Behind(const std::vector<TokenId>& tokens, int count) const {
    const std::string request = absl::StrCat("{\"id\": 1, \"tokens\": [", absl::StrJoin(tokens, ","), "], \"n\": ", count, "}\n");
    return Tokens(Must(JsonValue::Parse(Run({"--jsonl"}, request))), "output_tokens");
  }
  template <typename T>
  static std::vector<T> Joined(std::vector<T> all, const std::vector<T>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  const TemporaryFolder folder_;
  const std::string model_ = folder_.Path("model.gguf");
  const std::string session_ = "--session=" + folder_.Path("kept");
  const std::vector<TokenId> ab_ = {SpacePrefixId("\u2581a"), SpacePrefixId("b")};
};

TEST_F(SessionGoesOn, APromptBehindATextHasNoSpacePrefix) {
  const std::vector<TokenId> written = Tokens(Raw("ab", 1, {session_}));
  EXPECT_EQ(written, Behind(ab_, 1));
  const JsonValue next = Raw("c", 6, {session_});
  EXPECT_EQ(Tokens(next), Behind(Joined(Joined(ab_, written), {SpacePrefixId("c")}), 6));
  EXPECT_EQ(Must(Must(next.Object("timings")).Int("prompt_tokens")), 2) << "the token written last, and the prompt";
}

TEST_F(SessionGoesOn, BehindASpecialTokenAPromptBeginsAText) {
  const std::vector<TokenId> written = Tokens(Raw("ab", 1, {session_})), prompt = {2, SpacePrefixId("\u2581b")};
  const std::vector<TokenId> all = Joined(Joined(ab_, written), prompt);
  EXPECT_EQ(Tokens(Raw("</s>b", 6, {session_})), Behind(all, 6));
}

// A token is a small and a large letter.
TEST_F(SessionGoesOn, TextHiddenByAStopStringIsNoPartOfTheText) {
  const std::string drawn = "--temperature=1", few = "--top_k=4", seed = "--seed=3";   // Else it is one letter again and again.
  const JsonValue whole = Raw("ab", 20, {drawn, few, seed});
  const std::string text = Text(whole);
  ASSERT_EQ(text.size(), 40u);
  int within = 0;
  for (const size_t begin : {0u, 6u, 7u, 13u}) {
    const std::string stop = text.substr(begin, 3), path = folder_.Path(absl::StrCat("at", begin)), session = "--session=" + path;
    const size_t shown = text.find(stop);
    EXPECT_EQ(Text(Raw("ab", 20, {session, "--stop=" + stop, drawn, few, seed})), text.substr(0, shown));
    std::vector<TokenId> all = Tokens(whole);
    all.resize(shown / 2);
    if (shown % 2 == 1) {
      all.push_back(SpacePrefixId(text.substr(shown - 1, 1)));
      ++within;
    }
    all = Joined(Joined(ab_, all), {SpacePrefixId("c")});
    EXPECT_EQ(Tokens(Raw("c", 6, {session})), Behind(all, 6)) << "stop " << stop;
  }
  EXPECT_EQ(within, 2) << "stop texts that begin within a token";
}

TEST_F(SessionGoesOn, ADialogueHasTheAnswersThatWereShown) {
  const std::string session = "--session=" + folder_.Path("dialogue");
  const std::vector<std::string> chat = {"--chat_template=chatml", "--n_predict=12"};
  const auto with = [&](std::vector<std::string> more) { return Joined(chat, more); };
  std::string whole = Run(with({"--prompt=ab"}));
  whole.pop_back();
  ASSERT_GT(whole.size(), 8u);
  const std::string stop = "--stop=" + whole.substr(5, 2);
  const std::string shown = whole.substr(0, whole.find(whole.substr(5, 2)));
  EXPECT_EQ(Run(with({"--prompt=ab", session, stop})), shown + "\n");
  const std::string request = absl::StrCat(R"({"id": 1, "n": 12, "messages": [{"role": "user", "content": "ab"}, {"role": "assistant", )",
                                           R"("content": ")", shown, R"("}, {"role": "user", "content": "c"}]})");
  const JsonValue answer = Must(JsonValue::Parse(Run({"--jsonl", "--chat_template=chatml"}, request + "\n")));
  const std::string expected = Must(answer.String("output_text"));
  EXPECT_EQ(Run(with({"--prompt=c", session})), expected + "\n");
  EXPECT_EQ(Run(with({"--chat", stop}), "ab\nc\n").substr(0, shown.size() + 1), shown + "\n");
}

// The unfinished message and what the template writes before it are one text.
TEST_F(SessionGoesOn, AContinuedMessageHasNoSpacePrefix) {
  const auto tokens_of = [&](const std::string& messages, const std::string& more) {
    const std::string request = absl::StrCat(R"({"id": 1, "n": 4, "messages": [)", messages, "]", more, "}\n");
    return Tokens(Must(JsonValue::Parse(Run({"--jsonl", "--chat_template=chatml"}, request))), "prompt_tokens");
  };
  const std::string user = R"({"role": "user", "content": "ab"})";
  const std::vector<TokenId> begun = tokens_of(user, "");
  EXPECT_EQ(tokens_of(user + R"(, {"role": "assistant", "content": "c"})", R"(, "continue_final_message": true)"),
            Joined(begun, {SpacePrefixId("c")}));
}

}  // namespace
}  // namespace tessera
