// Text as editors, shells and terminals give it: line breaks, byte order marks, blanks, pipes that nobody reads.
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/apps/cli/text/byte_order_mark.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

const std::string kMark = "\xEF\xBB\xBF";

Ended Generate(std::vector<std::string> arguments, const std::string& input = "") {
  arguments.insert(arguments.begin(), {"--model=" + TinyPath("llama"), "--threads=1", "--temperature=0", "--n_predict=6"});
  return RunProgram("tessera_generate", arguments, input);
}

class TextIn : public testing::Test {
 protected:
  std::string File(const std::string& text) const {
    const std::string path = folder_.Path("file");
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  const TemporaryFolder folder_;
};

TEST(ByteOrderMark, HeaderExample) {
  const auto example = [](std::string* out) -> absl::Status {
    std::string text = "\xEF\xBB\xBFHello";
    RETURN_IF_ERROR(DropByteOrderMark("prompt.txt", &text));
    *out = text;
    return absl::OkStatus();
  };
  std::string text;
  EXPECT_EQ(example(&text), absl::OkStatus());
  EXPECT_EQ(text, "Hello");
}

TEST(ByteOrderMark, OtherEncodingsAreRefused) {
  for (absl::string_view begin : {absl::string_view("\xFF\xFEH\0", 4), absl::string_view("\xFE\xFF\0H", 4),
                                  absl::string_view("\0\0\xFE\xFF", 4)}) {
    std::string text(begin);
    EXPECT_EQ(DropByteOrderMark("a.txt", &text).message(),
              "a.txt: found the byte order mark of UTF-16 or UTF-32, expected text in UTF-8");
  }
  for (const char* begin : {"", "a", "\xEF\xBB", "\xFF", "a\xEF\xBB\xBF"}) {
    std::string text = begin;
    EXPECT_EQ(DropByteOrderMark("a.txt", &text), absl::OkStatus());
    EXPECT_EQ(text, begin);
  }
}

TEST_F(TextIn, ADialogueWithCarriageReturnsHasTheSameAnswers) {
  const auto chat = [](const std::string& lines) { return Generate({"--chat", "--chat_template=none"}, lines).output; };
  const std::string answers = chat("the in re\nand a\n");
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 2);
  for (const std::string& lines : {std::string("the in re\r\nand a\r\n"), kMark + "the in re\nand a", kMark + "the in re\r\nand a\r"}) {
    EXPECT_EQ(chat(lines), answers);
  }
}

TEST_F(TextIn, AByteOrderMarkIsNoPartOfAPromptOrARequest) {
  const std::string prompt = Generate({"--prompt=the in re"}).output;
  EXPECT_EQ(Generate({}, kMark + "the in re\r\n").output, prompt);
  EXPECT_EQ(Generate({"--prompt_file=" + File(kMark + "the in re\n")}).output, prompt);
  EXPECT_NE(Generate({"--prompt=" + kMark + "the in re"}).output, prompt) << "an argument is taken as it is";
  const std::string request = "{\"id\": 1, \"text\": \"the\"}\r\n";
  EXPECT_EQ(WithoutTimes(Generate({"--jsonl"}, kMark + request).output), WithoutTimes(Generate({"--jsonl"}, request).output));
  const Ended wide = Generate({}, std::string("\xFF\xFEt\0h\0", 6));
  EXPECT_EQ(wide.code, 1);
  EXPECT_NE(wide.errors.find("standard input: found the byte order mark of UTF-16"), std::string::npos) << wide.errors;
}

TEST_F(TextIn, FlagFilesKeepTheBlanksOfTexts) {
  const auto tokens = [](const std::string& flag) {
    return RunProgram("tessera_tokenize", {"--model=" + TinyPath("llama"), "--json", flag}).output;
  };
  for (const char* prompt : {"the in ", "the in", " the  "}) {
    const std::string expected = tokens("--prompt=" + std::string(prompt));
    EXPECT_EQ(tokens("--flagfile=" + File("  --prompt=" + std::string(prompt) + "\n")), expected) << prompt;
    const std::string marked = kMark + "--special  \r\n--nospecial\t\n--prompt=" + prompt + "\r\n";
    EXPECT_EQ(tokens("--flagfile=" + File(marked)), expected) << prompt;
  }
  EXPECT_EQ(Generate({"--flagfile=" + File("--top_k=5 \n--prompt=the\n--temperature=0\t\n")}).code, 0) << "a number has no blanks";
}

TEST_F(TextIn, AnEmptyListOfStopsIsNone) {
  const std::string text = Generate({"--prompt=the in re"}).output;
  for (const char* none : {"[]", " [ ] ", "[\"\"]"}) {
    EXPECT_EQ(Generate({"--prompt=the in re", std::string("--stop=") + none}).output, text);
  }
  EXPECT_EQ(Generate({"--prompt=the in re", "--stop=[x"}).output, text) << "a text that begins with a bracket";
}

TEST_F(TextIn, APipeThatIsNotReadIsSaid) {
  const std::string note = "Standard input is not read, since --prompt is given; --prompt_file=- reads it.\n";
  EXPECT_NE(Generate({"--prompt=the"}, "more").errors.find(note), std::string::npos);
  EXPECT_EQ(Generate({"--prompt=the"}).errors.find("not read"), std::string::npos) << "it is empty";
  EXPECT_NE(Generate({"--prompt_file=" + File("the")}, "more").errors.find("since --prompt_file is given"), std::string::npos);
  EXPECT_EQ(Generate({"--prompt_file=-"}, "more").errors.find("not read"), std::string::npos);
  EXPECT_EQ(Generate({"--chat", "--chat_template=none", "--prompt=the"}, "more\n").errors.find("not read"), std::string::npos);
}

TEST_F(TextIn, ARandomSeedIsSaidAndRepeatsTheRun) {
  const std::vector<std::string> hot = {"--prompt=the", "--temperature=2", "--top_k=0", "--n_predict=20"};
  const auto with = [&](const std::string& seed) {
    std::vector<std::string> flags = hot;
    flags.push_back("--seed=" + seed);
    return Generate(flags);
  };
  const Ended random = with("random");
  const size_t at = random.errors.find("--seed=");
  ASSERT_NE(at, std::string::npos) << random.errors;
  const std::string seed = random.errors.substr(at + 7, random.errors.find(' ', at) - at - 7);
  EXPECT_EQ(with(seed).output, random.output) << seed;
  EXPECT_NE(with("random").output, random.output);
  EXPECT_EQ(*Json(Generate({"--prompt=the", "--json", "--seed=7"}).output).Uint("seed"), 7u);
  EXPECT_EQ(with("many").errors, "tessera_generate: --seed: found \"many\", expected a whole number, 0 and up, or random\n"
                                 "Try tessera_generate --help.\n");
}

}  // namespace
}  // namespace tessera
