#include "tessera/apps/answers/requests/answer_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kFirst[] = "{\"id\":\"a\",\"prompt_tokens\":[3,5],\"output_tokens\":[7],\"output_text\":\"x\"}";
constexpr char kSecond[] = "{\"id\":2,\"prompt_tokens\":[3],\"answers\":[]}";

class AnswerFileTest : public testing::Test {
 protected:
  std::string Text() const { return Must(ReadFileToString(path_, 1 << 20)); }
  void Write(const std::string& text) const { Must(WriteFileAtomically(path_, text)); }
  static absl::StatusOr<bool> Wants(AnswerFile& file, const std::string& id, const std::vector<TokenId>& prompt) {
    const std::string line = absl::StrCat("{\"id\": ", id, ", \"text\": \"the\"}");
    return file.Wants(Must(Request::Parse(line, "standard input, line 9")), prompt);
  }
  // The error of opening the file, which stays as it was.
  std::string Refusal(const std::string& text) const {
    Write(text);
    const absl::Status status = AnswerFile::Open(path_).status();
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_EQ(Text(), text);
    EXPECT_TRUE(absl::StartsWith(status.message(), path_ + ", line ")) << status;
    return std::string(status.message().substr(path_.size() + 2));
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("answers.jsonl");
};

TEST_F(AnswerFileTest, HeaderExample) {
  const Request request = Must(Request::Parse(R"({"id": "a", "text": "Hello"})", "standard input, line 1"));
  const std::vector<TokenId> prompt = {3, 5};
  const TimedAnswer answer = {.text = {.tokens = {7}, .text = "x"}};
  bool was_wanted = false;
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const std::unique_ptr<AnswerFile> into, AnswerFile::Open(path_));
    WriteError(into->note());
    ASSIGN_OR_RETURN(const bool wanted, into->Wants(request, prompt));
    if (wanted) RETURN_IF_ERROR(into->Add(TextAnswer(request, prompt, answer)));
    was_wanted = wanted;
    return into->Sync();
  };
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_TRUE(was_wanted);
  const std::string text = Text();
  EXPECT_TRUE(absl::StartsWith(text, "{\"id\":\"a\",\"prompt_tokens\":[3,5],\"output_tokens\":[7]")) << text;
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_FALSE(was_wanted);
  EXPECT_EQ(Text(), text);
}

TEST_F(AnswerFileTest, IdsAreComparedAsValues) {
  Write(absl::StrCat(kFirst, "\n\n", kSecond, "\n"));
  const std::unique_ptr<AnswerFile> file = Must(AnswerFile::Open(path_));
  EXPECT_EQ(file->size(), 2);
  EXPECT_EQ(file->note(), "");
  EXPECT_FALSE(Must(Wants(*file, "\"\\u0061\"", {3, 5})));
  EXPECT_FALSE(Must(Wants(*file, " 2", {3})));
  for (const char* other : {"\"2\"", "1", "-2", "\"A\"", "18446744073709551615"}) EXPECT_TRUE(Must(Wants(*file, other, {3}))) << other;
}

TEST_F(AnswerFileTest, AnIdThatComesAgainAndOneOfAnotherPromptAreErrorsOfTheRequest) {
  Write(absl::StrCat(kFirst, "\n"));
  const std::unique_ptr<AnswerFile> file = Must(AnswerFile::Open(path_));
  EXPECT_EQ(Wants(*file, "\"a\"", {3, 6}).status().message(),
            absl::StrCat("standard input, line 9: id: found \"a\" of another prompt in ", path_,
                         ", line 1, expected an answer to this one, or another id"));
  EXPECT_TRUE(Must(Wants(*file, "7", {3})));
  EXPECT_EQ(Wants(*file, "7", {3}).status().message(),
            "standard input, line 9: id: found 7 again, expected each id once, since --into skips ids that are there");
}

TEST_F(AnswerFileTest, AnUnfinishedLastLineIsCutOffAtAnyLength) {
  const std::string whole = absl::StrCat(kFirst, "\n", kSecond, "\n");
  const size_t first = sizeof(kFirst);   // With its break.
  for (size_t size = 0; size <= whole.size(); ++size) {
    Write(whole.substr(0, size));
    const std::unique_ptr<AnswerFile> file = Must(AnswerFile::Open(path_));
    // A line that lacks nothing but its break is whole.
    const bool has_first = size >= first - 1, has_second = size >= whole.size() - 1;
    EXPECT_EQ(file->size(), has_first + has_second) << size;
    EXPECT_EQ(Text(), has_second ? whole : has_first ? whole.substr(0, first) : "") << size;
    const size_t rest = has_second || size == first - 1 ? 0 : size > first ? size - first : size == first ? 0 : size;
    EXPECT_EQ(absl::StrContains(file->note(), " not whole"), rest > 0) << size << file->note();
    EXPECT_TRUE(rest < 2 || absl::StrContains(file->note(), absl::StrCat(": ", rest, " bytes are cut off\n"))) << file->note();
    Must(file->Add(R"({"id":3,"prompt_tokens":[1],"answers":[]})"));
    EXPECT_TRUE(absl::EndsWith(Text(), "\n{\"id\":3,\"prompt_tokens\":[1],\"answers\":[]}\n") || size < first - 1) << Text();
  }
}

TEST_F(AnswerFileTest, ALineThatIsNoAnswerIsNamedAndNothingIsCutOff) {
  const std::string first = absl::StrCat(kFirst, "\n");
  EXPECT_EQ(Refusal("hello\n"), "line 1: found \"hello\", expected an answer, a JSON object");
  EXPECT_EQ(Refusal(first + "my notes"), "line 2: found \"my notes\", expected an answer, a JSON object");
  EXPECT_EQ(Refusal("7\n"), "line 1: found an integer, expected an answer, a JSON object");
  EXPECT_TRUE(absl::StartsWith(Refusal("{\"a\":1}\n"), "line 1: id: found nothing"));
  EXPECT_TRUE(absl::StartsWith(Refusal(first + "{\"id\":1,\"text\":\"a request\"}\n"), "line 2: prompt_tokens: found nothing"));
  EXPECT_TRUE(absl::StartsWith(Refusal("{\"id\":1,\"prompt_tokens\":[1],\"logits\":[]}\n"),
                               "line 1: found neither output_text nor answers, expected one of them"));
  EXPECT_TRUE(absl::StartsWith(Refusal(first + first), "line 2: id: found \"a\" again, as in line 1, expected each id once"));
  EXPECT_TRUE(absl::StartsWith(Refusal(first + "{\"id\":1.5,\"prompt_tokens\":[1],\"answers\":[]}"), "line 2: id: found"));
  EXPECT_TRUE(absl::StartsWith(Refusal(first + "my notes\n{\"id\":"), "line 2: found")) << "the part is not cut off, either";
}

TEST_F(AnswerFileTest, LinesOfErrorsCountForNothing) {
  Write(absl::StrCat("{\"id\":null,\"line\":3,\"error\":\"no JSON\"}\n{\"id\":\"a\",\"error\":\"too long\"}\n", kFirst,
                     "\n{\"id\":7,\"error\":\"\"}\n"));
  const std::unique_ptr<AnswerFile> file = Must(AnswerFile::Open(path_));
  EXPECT_EQ(file->size(), 1);
  EXPECT_FALSE(Must(Wants(*file, "\"a\"", {3, 5})));
  EXPECT_TRUE(Must(Wants(*file, "7", {3})));
}

}  // namespace
}  // namespace tessera
