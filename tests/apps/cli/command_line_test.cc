#include "tessera/apps/cli/command_line.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/cli/help.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

const AppInfo& Info() {
  static const AppInfo info = {.name = "program", .summary = "Does.", .examples = {"program --raw"},
                               .groups = {SamplingFlags(), {"Text", {"prompt", "raw"}}}};
  return info;
}

// Flags are as before after each test.
class CommandLine : public testing::Test {
  const gflags::FlagSaver saver_;
};

std::string ErrorOf(const std::vector<std::string>& arguments) {
  return std::string(ParseCommandLine(Info(), arguments).status().message());
}

TEST_F(CommandLine, TakesValuesWithAndWithoutEqualsSign) {
  ASSERT_TRUE(ParseCommandLine(Info(), {"--top_k=7", "--temperature", "0.5", "-prompt", "--raw", "--top-p=1"}).ok());
  EXPECT_EQ(FLAGS_top_k, 7);
  EXPECT_EQ(FLAGS_temperature, 0.5);
  EXPECT_EQ(FLAGS_prompt, "--raw");
  EXPECT_EQ(FLAGS_top_p, 1);
}

TEST_F(CommandLine, SwitchesGoOnAndOff) {
  ASSERT_TRUE(ParseCommandLine(Info(), {"--raw"}).ok());
  EXPECT_TRUE(FLAGS_raw);
  ASSERT_TRUE(ParseCommandLine(Info(), {"--noraw"}).ok());
  EXPECT_FALSE(FLAGS_raw);
  EXPECT_NE(ErrorOf({"--noraw=true"}), "");
  EXPECT_NE(ErrorOf({"--notop_k"}), "");
}

TEST_F(CommandLine, UnknownFlagIsAnsweredWithTheNearest) {
  EXPECT_EQ(ErrorOf({"--tempature=1"}), "unknown flag --tempature: did you mean --temperature?");
  EXPECT_EQ(ErrorOf({"--zzzzzzzzz"}), "unknown flag --zzzzzzzzz");
  EXPECT_EQ(ErrorOf({"--window=3"}), "unknown flag --window") << "a flag of another program";
  EXPECT_NE(ErrorOf({"--logtostderr"}), "") << "a flag of a library";
}

TEST_F(CommandLine, BadValueNamesFlagFoundAndExpected) {
  EXPECT_EQ(ErrorOf({"--top_k=many"}), "--top_k: found \"many\", expected a whole number of at most 31 bits");
  EXPECT_EQ(ErrorOf({"--raw=perhaps"}), "--raw: found \"perhaps\", expected true or false");
  EXPECT_EQ(ErrorOf({"--top_k"}), "--top_k: found no value, expected one");
  EXPECT_NE(ErrorOf({"a prompt"}).find("unexpected argument \"a prompt\""), std::string::npos);
}

class FlagFile : public CommandLine {
 protected:
  void Write(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("flags");
};

TEST_F(FlagFile, HoldsOneFlagALine) {
  Write("# settings\n\n--top_k=11\r\n  --prompt=two words\n--raw");
  ASSERT_TRUE(ParseCommandLine(Info(), {"--noraw", "--flagfile=" + path_, "--temperature=0.25"}).ok());
  EXPECT_EQ(FLAGS_top_k, 11);
  EXPECT_EQ(FLAGS_prompt, "two words");
  EXPECT_EQ(FLAGS_temperature, 0.25);
  EXPECT_TRUE(FLAGS_raw);
}

TEST_F(FlagFile, ErrorsNameFileAndLine) {
  const std::string nul("--prompt=a\0b\n", 13);
  const std::pair<std::string, std::string> cases[] = {
      {"--raw\n--top_k=many\n", ", line 2: --top_k: found \"many\", expected a whole number of at most 31 bits"},
      {"--topk=1", ", line 1: unknown flag --topk: did you mean --top_k?"},
      {"--top_k\n5\n", ", line 1: --top_k: found no value, expected one"},
      {"words", ", line 1: unexpected argument \"words\", expected a flag (put text in quotes: --prompt=\"two words\")"},
      {nul, ", line 1: --prompt: found a NUL byte, expected text"},
      {std::string(5000, 'x'), ", line 1: unexpected argument \"" + std::string(100, 'x') +
                                   "...\", expected a flag (put text in quotes: --prompt=\"two words\")"},
  };
  for (const auto& [text, error] : cases) {
    Write(text);
    EXPECT_EQ(ErrorOf({"--flagfile=" + path_}), "--flagfile: " + path_ + error);
  }
}

TEST_F(FlagFile, ThatCannotBeReadIsAnError) {
  Write("--flagfile=" + path_);
  EXPECT_EQ(ErrorOf({"--flagfile=" + path_}),
            "--flagfile: " + path_ + ", line 1: --flagfile: found \"" + path_ + "\", expected no flag file in a flag file");
  EXPECT_EQ(ErrorOf({"--flagfile=/nowhere/flags"}), "--flagfile: /nowhere/flags: cannot open: No such file or directory");
  EXPECT_EQ(ErrorOf({"--flagfile=/dev/zero"}), "--flagfile: /dev/zero: file size: found more, expected at most 1048576 bytes");
  EXPECT_EQ(ErrorOf({"--flagfile=/"}), "--flagfile: /: found a directory, expected a regular file");
  EXPECT_EQ(ErrorOf({"--flagfile="}), "--flagfile: found an empty value, expected FILE");
  Write(std::string((1 << 20) + 1, '#'));
  EXPECT_EQ(ErrorOf({"--flagfile=" + path_}), "--flagfile: " + path_ + ": file size: found 1048577 bytes, expected at most 1048576 bytes");
}

TEST_F(CommandLine, FlagsComeFromTheEnvironmentWhereAsked) {
  setenv("FLAGS_top_k", "13", 1);
  setenv("FLAGS_min_p", "a lot", 1);
  unsetenv("FLAGS_top_p");
  ASSERT_TRUE(ParseCommandLine(Info(), {"--top_k=1"}).ok());
  EXPECT_EQ(FLAGS_top_k, 1) << "the environment alone sets nothing";
  ASSERT_TRUE(ParseCommandLine(Info(), {"--fromenv=top_k"}).ok());
  EXPECT_EQ(FLAGS_top_k, 13);
  ASSERT_TRUE(ParseCommandLine(Info(), {"--top_p=0.5", "--tryfromenv=top_p,top_k", "--top_k=2"}).ok());
  EXPECT_EQ(FLAGS_top_p, 0.5);
  EXPECT_EQ(FLAGS_top_k, 2) << "the last counts";
  EXPECT_EQ(ErrorOf({"--fromenv=top_p"}), "--fromenv: found no FLAGS_top_p in the environment, expected it to be set");
  EXPECT_EQ(ErrorOf({"--fromenv=min_p"}), "--fromenv: FLAGS_min_p: --min_p: found \"a lot\", expected a number");
  for (const char* name : {"window", "flagfile", "", "top_k;top_p"}) {
    EXPECT_EQ(ErrorOf({std::string("--tryfromenv=top_k,") + name}),
              "--tryfromenv: found \"" + std::string(name) + "\", expected flags of this program, with commas between");
  }
}

TEST_F(CommandLine, OnlyTextMayBeEmpty) {
  ASSERT_TRUE(ParseCommandLine(Info(), {"--prompt="}).ok());
  EXPECT_EQ(ErrorOf({"--top_k="}), "--top_k: found an empty value, expected K");
  EXPECT_EQ(ErrorOf({"--raw="}), "--raw: found an empty value, expected true or false");
}

std::vector<std::string> LinesOf(const std::string& text) { return absl::StrSplit(text, '\n', absl::SkipEmpty()); }

// The lines about flags: "  --top_k=K   Choose among ...".
std::vector<std::string> FlagLinesOf(const std::string& help) {
  std::vector<std::string> lines = LinesOf(help);
  std::erase_if(lines, [](const std::string& line) { return !absl::StartsWith(line, "  --"); });
  return lines;
}

void ExpectHelp(const std::string& program, const Ended& ended) {
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.errors, "");
  EXPECT_NE(ended.output.find("Examples:\n  " + program), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("130 after Ctrl-C, 141 no reader left, 143 after SIGTERM.\n"), std::string::npos) << program;
  for (const std::string& line : LinesOf(ended.output)) EXPECT_LE(line.size(), 100u) << line;
}

TEST_F(CommandLine, HelpFitsThirtyLinesAndShowsDefaults) {
  EXPECT_NE(HelpText(Info()).find("likeliest token. Default: the model's, else 0.8.\n"), std::string::npos) << HelpText(Info());
  for (const std::string& program : Commands()) {
    const Ended ended = RunProgram(program, {"--help"});
    ExpectHelp(program, ended);
    EXPECT_LE(LinesOf(ended.output).size(), 30u) << ended.output;
  }
}

TEST_F(CommandLine, HelpOfAllHasEveryFlagOnALineOfItsOwn) {
  for (const std::string& program : Commands()) {
    const Ended all = RunProgram(program, {"--help=all"});
    ExpectHelp(program, all);
    const JsonValue groups = *Json(RunProgram(program, {"--help", "--json"}).output).Array("groups");
    std::vector<std::string> lines = FlagLinesOf(all.output), shown = FlagLinesOf(RunProgram(program, {"--help"}).output), common;
    size_t next = 0;
    for (int64_t g = 0; g < groups.size(); ++g) {
      EXPECT_NE(all.output.find("\n" + *groups[g].String("title") + ":\n"), std::string::npos) << program;
      const JsonValue flags = *groups[g].Array("flags");
      for (int64_t f = 0; f < flags.size(); ++f, ++next) {
        ASSERT_LT(next, lines.size()) << program;
        EXPECT_TRUE(std::regex_search(lines[next], std::regex("^  --" + *flags[f].String("name") + "[ =[]"))) << lines[next];
        EXPECT_NE(lines[next].find(" " + *flags[f].String("help")), std::string::npos) << lines[next];
        if (*flags[f].Bool("common")) common.push_back(lines[next]);
      }
    }
    EXPECT_EQ(next, lines.size()) << program;
    EXPECT_EQ(shown, common) << program << ": --help shows the flags that are common";
    EXPECT_NE(RunProgram(program, {"--help"}).output.find(absl::StrCat(" (--help=all shows all ", next, " in groups):\n")),
              std::string::npos) << program;
  }
}

TEST_F(CommandLine, HelpOfAnythingElseIsWrongUsage) {
  EXPECT_EQ(ErrorOf({"--help=bad"}), "--help: found \"bad\", expected all, or no value");
  EXPECT_EQ(ErrorOf({"--help="}), "--help: found an empty value, expected all");
  EXPECT_EQ(ErrorOf({"--nohelp"}), "unknown flag --nohelp: did you mean --help?");
  EXPECT_EQ(ParseCommandLine(Info(), {"-h"})->help, Help::kCommon);
  EXPECT_EQ(ParseCommandLine(Info(), {"-h=all"})->help, Help::kAll);
  const Ended bad = RunProgram("tessera_tokenize", {"--help=bad"});
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(bad.output, "");
}

TEST_F(CommandLine, EveryProgramAnswersWrongUsageWithTwo) {
  for (const std::string& program : ModelPrograms()) {
    const Ended ended = RunProgram(program, {"--modle=x"});
    EXPECT_EQ(ended.code, 2) << program;
    EXPECT_EQ(ended.output, "");
    EXPECT_EQ(ended.errors, program + ": unknown flag --modle: did you mean --model?\nTry " + program + " --help.\n");
  }
}

TEST_F(CommandLine, EveryProgramRefusesAMissingFileAndOneThatIsNoModel) {
  const std::string text = std::string(TESSERA_SOURCE_DIR) + "/CMakeLists.txt";
  for (const std::string& program : ModelPrograms()) {
    for (const std::string& path : {std::string("/nowhere/model.gguf"), text, std::string("/")}) {
      std::vector<std::string> flags = WithoutOtherFiles(program);
      flags.push_back("--model=" + path);
      const Ended ended = RunProgram(program, flags, "Hello, this is input.");
      EXPECT_EQ(ended.code, 1) << program << " " << path;
      EXPECT_EQ(ended.output, "");
      EXPECT_EQ(ended.errors.rfind(program + ": " + path + ": ", 0), 0u) << ended.errors;
    }
  }
}

TEST_F(CommandLine, VersionNamesCommitAndKernels) {
  for (const std::string& program : Programs()) {
    const absl::StatusOr<JsonValue> json = JsonValue::Parse(RunProgram(program, {"--version", "--json"}).output);
    ASSERT_TRUE(json.ok()) << json.status();
    EXPECT_EQ(*json->String("program"), program);
    const std::string version = *json->String("version"), commit = *json->String("commit");
    const std::vector<std::string> kernels = *json->Strings("kernels");
    EXPECT_TRUE(std::regex_match(commit, std::regex("unknown|[0-9a-f]{7,}(-dirty)?"))) << commit;
    EXPECT_EQ(kernels[0], "portable");
    EXPECT_EQ(*json->String("used_kernels"), kernels.back()) << "the fastest";
    EXPECT_EQ(RunProgram(program, {"--version"}).output, program + " " + version + " (commit " + commit + ")\nkernels: " +
                                                             absl::StrJoin(kernels, " ") + "; used: " + kernels.back() + "\n");
  }
  const Ended portable = RunProgram("tessera_bench speed", {"--version", "--kernels=portable"});
  EXPECT_NE(portable.output.find("; used: portable\n"), std::string::npos);
  EXPECT_EQ(RunProgram("tessera_bench speed", {"--version", "--kernels=best"}).code, 2);
}

TEST_F(CommandLine, ErrorsShowNoControlCharacters) {
  const Ended ended = RunProgram("tessera_inspect", {"--model=/\x1b[31mred\x07"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.errors, "tessera_inspect: /\\x1b[31mred\\x07: cannot open: No such file or directory\n");
}

}  // namespace
}  // namespace tessera
