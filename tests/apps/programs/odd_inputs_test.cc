// Mistakes in typing: every flag of every program with impossible values, and with files of the wrong kind.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/programs/short_run.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

struct Flag { std::string name, type, placeholder, alone; };

// The program's own flags: without those every program has.
std::vector<Flag> FlagsOf(const std::string& program) {
  std::vector<Flag> found;
  const absl::StatusOr<JsonValue> help = JsonValue::Parse(RunProgram(program, {"--help", "--json"}).output);
  CHECK(help.ok()) << help.status();
  const JsonValue groups = *help->Array("groups");
  for (int64_t g = 0; g < groups.size(); ++g) {
    if (*groups[g].String("title") == "General") continue;
    const JsonValue flags = *groups[g].Array("flags");
    for (int64_t f = 0; f < flags.size(); ++f) {
      found.push_back({*flags[f].String("name"), *flags[f].String("type"), *flags[f].String("placeholder"), *flags[f].String("alone")});
    }
  }
  return found;
}

Ended RunWith(const std::string& program, const std::string& argument, const std::string& input = "the in the") {
  std::vector<std::string> arguments = ShortRun(program);
  if (!argument.empty()) arguments.push_back(argument);
  return RunProgram(program, arguments, input);
}

// The first line of `errors` is the program's, and about `what`.
void ExpectError(const Ended& ended, int code, const std::string& program, const std::string& what) {
  EXPECT_EQ(ended.code, code) << program << " " << what << ended.errors;
  EXPECT_EQ(ended.errors.rfind(absl::StrCat(program, ": ", what), 0), 0u) << what << " in " << ended.errors;
  EXPECT_EQ(ended.output, "");
}

// A part of the commands, so that several processes share them out.
constexpr int kParts = 8;

class OddFlags : public testing::TestWithParam<int> {
 protected:
  static std::vector<std::string> CommandsOfPart() {
    std::vector<std::string> part;
    for (size_t i = GetParam(); i < Commands().size(); i += kParts) part.push_back(Commands()[i]);
    return part;
  }
};

TEST_P(OddFlags, NumbersThatCannotBeAreWrongUsage) {
  for (const std::string& program : CommandsOfPart()) {
    for (const Flag& flag : FlagsOf(program)) {
      if (flag.type == "string") continue;
      std::vector<std::string> values = {"", "many", "-99999999999999999999", "nan", "1e999", "\xff\xfe", "5 apples"};
      if (flag.type != "bool") values.push_back("-1");
      if (flag.type != "double") values.push_back("99999999999999999999");
      for (const std::string& value : values) {
        ExpectError(RunWith(program, absl::StrCat("--", flag.name, "=", value)), 2, program, absl::StrCat("--", flag.name, ": found "));
      }
    }
  }
}

TEST_P(OddFlags, OneWithoutItsValueIsWrongUsage) {
  for (const std::string& program : CommandsOfPart()) {
    for (const Flag& flag : FlagsOf(program)) {
      if (flag.type == "bool" || !flag.alone.empty()) continue;
      ExpectError(RunWith(program, "--" + flag.name), 2, program, absl::StrCat("--", flag.name, ": found no value"));
    }
  }
}

bool NamesAFileToWrite(const std::string& flag) {
  return flag == "trace" || flag == "out" || flag == "cost_profile" || flag == "plot" || flag == "session" || flag == "into" ||
         flag == "report";
}

// Text may be anything; what names a thing must name one that is there.
TEST_P(OddFlags, OddTextsEndInOneSentenceOrAreTaken) {
  const std::string huge(100'000, 'x');
  const TemporaryFolder cache;
  const CacheFolderFor histories(cache.path());
  for (const std::string& program : CommandsOfPart()) {
    for (const Flag& flag : FlagsOf(program)) {
      if (flag.type != "string") continue;
      for (const std::string& value : {std::string(), huge, std::string("\xff\xfe\x80"), std::string("-1"), std::string("\n\t")}) {
        if (program == "tessera_reproduce lever" && NamesAFileToWrite(flag.name) && value != "-1") continue;  // Each takes 12 s.
        const Ended ended = RunWith(program, absl::StrCat("--", flag.name, "=", value));
        const std::string shown = absl::StrCat(program, " --", flag.name, "=", value.substr(0, 10), ": ", ended.errors.substr(0, 300));
        if (flag.placeholder == "TEXT") {
          EXPECT_LE(ended.code, 2) << shown;
        } else if (flag.name == "history" && value == "-1") {
          EXPECT_EQ(ended.code, 0) << shown;
        } else if (NamesAFileToWrite(flag.name) && (value == "-1" || value == "\n\t" || value == "\xff\xfe\x80")) {
          // tessera_verify writes no costs, tessera_generate keeps answers to requests alone, and tessera_inspect draws a phone's times.
          const bool is_refused = program == "tessera_verify" || program == "tessera_inspect" ||
                                  (program == "tessera_generate" && flag.name == "into");
          EXPECT_EQ(ended.code, is_refused ? 2 : 0) << shown;
          std::filesystem::remove_all(value);  // A file, or the folder of a grid, may have any name.
        } else {
          EXPECT_TRUE(ended.code == 1 || ended.code == 2) << shown;
        }
        if (ended.code != 0) {
          EXPECT_NE(ended.errors.find(program + ": "), std::string::npos) << shown;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, OddFlags, testing::Range(0, kParts));

TEST(OddInputs, TwoSourcesOfOnePromptExcludeEachOther) {
  for (const std::string program : {"tessera_generate", "tessera_logits", "tessera_perplexity", "tessera_tokenize"}) {
    const std::string model = "--model=" + TinyPath("llama");
    ExpectError(RunProgram(program, {model, "--prompt=a", "--prompt_file=b"}), 2, program, "--prompt_file: found beside --prompt");
    ExpectError(RunProgram(program, {model, "--prompt=a", "--jsonl"}), 2, program, "--jsonl: found beside --prompt");
    ExpectError(RunProgram(program, {model, "--prompt_file=-", "--jsonl"}), 2, program, "--jsonl: found beside --prompt");
    ExpectError(RunProgram(program, {model, "--json", "--jsonl"}), 2, program, "--json");
    ExpectError(RunProgram(program, {model, "--prompt_file=/nowhere/prompt"}), 1, program, "/nowhere/prompt: cannot open");
    ExpectError(RunProgram(program, {model, "--prompt_file=/"}), 1, program, "/: found a directory, expected a regular file");
  }
}

TEST(OddInputs, APathThatIsNoModelIsNamed) {
  const TemporaryFolder folder;
  const std::string fifo = folder.Path("fifo"), secret = folder.Path("secret");
  mkfifo(fifo.c_str(), 0600);
  std::ofstream(secret) << "GGUF";
  chmod(secret.c_str(), 0);
  for (const std::string& program : ModelPrograms()) {
    for (const std::string& path : {std::string("/"), std::string("/nowhere/model.gguf"), fifo, secret}) {
      std::vector<std::string> flags = WithoutOtherFiles(program);
      flags.push_back("--model=" + path);
      ExpectError(RunProgram(program, flags, "the in the"), 1, program, path + ": ");
    }
  }
}

// A shell's redirections, which Program cannot do.
int ShellCode(const std::string& command) { return WEXITSTATUS(system(("exec timeout 60 " + command).c_str())); }

std::string CommandOf(const std::string& program) {
  std::string command = std::string(TESSERA_BINARY_DIR) + "/bin/" + program;
  for (const std::string& argument : ShortRun(program)) command += " " + argument;
  return command;
}

// U+202E turns what stands behind it, U+200B has no width, U+009B begins a sequence for the terminal.
TEST(OddInputs, NoMessageTurnsOrHidesItsText) {
  for (const std::string hidden : {"\xe2\x80\xae", "\xe2\x80\x8b", "\xc2\x9b", "\xf3\xa0\x81\x81", "\xd8\x9c", "\xe2\x80\xa8"}) {
    const std::string name = "a" + hidden + "b";
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"--model=/nowhere/" + name}, {"--" + name}, {name}, {"--n_predict=" + name},
             {"--model=" + TinyPath("llama"), "--adapter=" + name},
             {"--model=" + TinyPath("llama"), "--speculate=" + name}}) {
      const Ended ended = RunProgram("tessera_generate", arguments, "the");
      EXPECT_NE(ended.code, 0) << arguments[0];
      EXPECT_EQ(ended.errors.find(hidden), std::string::npos) << ended.errors;
      EXPECT_NE(ended.errors.find("\\x"), std::string::npos) << ended.errors;
    }
    const Ended request = RunProgram("tessera_generate", {"--jsonl", "--model=" + TinyPath("llama")},
                                     "{\"id\": 1, \"text\": \"a\", \"" + name + "\": 1}\n");
    EXPECT_EQ(request.output.find(hidden), std::string::npos) << request.output;
    EXPECT_EQ(request.errors.find(hidden), std::string::npos) << request.errors;
  }
}

TEST(OddInputs, OutputThatCannotBeWrittenIsAFailure) {
  const TemporaryFolder folder;
  const std::string message = folder.Path("message");
  for (const std::string& program : WorkingPrograms()) {
    for (const std::string where : {"> /dev/full", ">&-"}) {
      for (const std::string flags : {"", " --json", " --help", " --version"}) {
        const std::string input = program == "tessera_verify" ? "/CMakeLists.txt" : "/README.md";  // README.md has a line of JSON.
        const std::string command = CommandOf(program) + flags + " < " + std::string(TESSERA_SOURCE_DIR) + input + " 2> " + message;
        const std::string shortened =
            program == "tessera_generate" || program == "tessera_logits" ? command + " --prompt=the < /dev/null" : command;
        EXPECT_EQ(ShellCode(shortened + " " + where), 1) << program << flags << " " << where;
        std::ifstream file(message);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        EXPECT_NE(text.find(program + ": standard output: "), std::string::npos) << program << flags << " " << where << ": " << text;
      }
    }
  }
}

TEST(OddInputs, ClosedStandardInputFailsOnlyProgramsThatReadInput) {
  for (const std::string& program : WorkingPrograms()) {
    const bool reads = program != "tessera_bench speed" && program != "tessera_inspect" && program != "tessera_pack" &&
                       program != "tessera_lever" && program != "tessera_quantize" && program != "tessera_reproduce npu" &&
                       program != "tessera_random_model" && program != "tessera_bench spec" && program != "tessera_scale judge";
    EXPECT_EQ(ShellCode(CommandOf(program) + " <&- > /dev/null 2> /dev/null"), reads ? 1 : 0) << program;
  }
  EXPECT_EQ(ShellCode(CommandOf("tessera_generate") + " --prompt=the <&- > /dev/null 2>&-"), 0)
      << "nothing is read, and nobody hears the summary";
}

TEST(OddInputs, APromptFarBeyondTheContextIsRefusedBeforeEncoding) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("long"), text(16 << 20, 'x');
  std::ofstream(path) << text;
  for (const std::string program : {"tessera_generate", "tessera_logits"}) {
    ExpectError(RunProgram(program, {"--model=" + TinyPath("llama"), "--context=512", "--prompt_file=" + path}), 1, program,
                "prompt: found 16777216 bytes, expected at most ");
    const Ended request = RunProgram(program, {"--model=" + TinyPath("llama"), "--context=512", "--jsonl"},
                                     "{\"id\": 1, \"text\": \"" + text + "\"}");
    EXPECT_EQ(request.code, 1);
    const char* const expected = "standard input, line 1: found a line of 16777237 bytes, expected at most ";
    EXPECT_EQ(Json(request.output).String("error")->rfind(expected, 0), 0u) << request.output;
    EXPECT_NE(request.errors.find(expected), std::string::npos) << request.errors;
  }
}

TEST(OddInputs, ALineOfRequestsMayBeAsLongAsTheReadersLimit) {
  const std::string text(20 << 20, 'x');  // Beyond what JSON is limited to elsewhere.
  const Ended ended = RunProgram("tessera_perplexity", {"--model=" + TinyPath("llama"), "--jsonl", "--window=4", "--max_windows=1"},
                                 "{\"id\": 1, \"text\": \"" + text + "\"}");
  EXPECT_EQ(ended.code, 0) << ended.errors;
  const Ended longer = RunProgram("tessera_perplexity", {"--model=" + TinyPath("llama"), "--jsonl"}, std::string((64 << 20) + 1, 'x'));
  EXPECT_EQ(longer.code, 1);
  EXPECT_EQ(longer.output, "{\"id\":null,\"line\":1,\"error\":\"standard input, line 1: found a line of 67108865 bytes, expected at most "
                           "67108864\"}\n");
}

}  // namespace
}  // namespace tessera
