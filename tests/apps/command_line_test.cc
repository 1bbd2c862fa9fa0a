#include "tessera/apps/common/command_line.h"

#include <fstream>
#include <map>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "tessera/tests/apps/run_program.h"

namespace tessera {
namespace {

const AppInfo& Info() {
  static const AppInfo info = {.name = "program", .summary = "Does.", .examples = {"program --raw"},
                               .groups = {SamplingFlags(), {"Text", {"prompt", "raw"}}}};
  return info;
}

std::string ErrorOf(const std::vector<std::string>& arguments) {
  return std::string(ParseCommandLine(Info(), arguments).status().message());
}

TEST(CommandLine, TakesValuesWithAndWithoutEqualsSign) {
  ASSERT_TRUE(ParseCommandLine(Info(), {"--top_k=7", "--temperature", "0.5", "-prompt", "--raw", "--top-p=1"}).ok());
  EXPECT_EQ(FLAGS_top_k, 7);
  EXPECT_EQ(FLAGS_temperature, 0.5);
  EXPECT_EQ(FLAGS_prompt, "--raw");
  EXPECT_EQ(FLAGS_top_p, 1);
}

TEST(CommandLine, SwitchesGoOnAndOff) {
  ASSERT_TRUE(ParseCommandLine(Info(), {"--raw"}).ok());
  EXPECT_TRUE(FLAGS_raw);
  ASSERT_TRUE(ParseCommandLine(Info(), {"--noraw"}).ok());
  EXPECT_FALSE(FLAGS_raw);
  EXPECT_NE(ErrorOf({"--noraw=true"}), "");
  EXPECT_NE(ErrorOf({"--notop_k"}), "");
}

TEST(CommandLine, UnknownFlagIsAnsweredWithTheNearest) {
  EXPECT_EQ(ErrorOf({"--tempature=1"}), "unknown flag --tempature: did you mean --temperature?");
  EXPECT_EQ(ErrorOf({"--zzzzzzzzz"}), "unknown flag --zzzzzzzzz");
  EXPECT_EQ(ErrorOf({"--window=3"}), "unknown flag --window") << "a flag of another program";
  EXPECT_NE(ErrorOf({"--logtostderr"}), "") << "a flag of a library";
}

TEST(CommandLine, BadValueNamesFlagFoundAndExpected) {
  EXPECT_EQ(ErrorOf({"--top_k=many"}), "--top_k: found \"many\", expected a whole number of at most 31 bits");
  EXPECT_EQ(ErrorOf({"--raw=perhaps"}), "--raw: found \"perhaps\", expected true or false");
  EXPECT_EQ(ErrorOf({"--top_k"}), "--top_k: found no value, expected one");
  EXPECT_NE(ErrorOf({"a prompt"}).find("unexpected argument \"a prompt\""), std::string::npos);
}

TEST(CommandLine, FlagFileHoldsOneFlagALine) {
  const std::string path = ::testing::TempDir() + "/flags_of_command_line_test";
  std::ofstream(path) << "# settings\n\n--top_k=11\n  --prompt=two words\n";
  ASSERT_TRUE(ParseCommandLine(Info(), {"--flagfile=" + path, "--temperature=0.25"}).ok());
  EXPECT_EQ(FLAGS_top_k, 11);
  EXPECT_EQ(FLAGS_prompt, "two words");
  EXPECT_EQ(FLAGS_temperature, 0.25);
  std::ofstream(path) << "--flagfile=" << path << "\n";
  EXPECT_NE(ErrorOf({"--flagfile=" + path}), "") << "must not go round in circles";
  EXPECT_NE(ErrorOf({"--flagfile=" + path + ".missing"}), "");
}

TEST(CommandLine, HelpFitsATerminalAndShowsDefaults) {
  const std::string help = HelpText(Info());
  EXPECT_NE(help.find("Default: 0.8."), std::string::npos) << help;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

const char kModel[] = "model threads context path kernels trace ";
const char kGeneral[] = "flagfile help version ";

// What users may rely on: changing this list changes the interface.
const std::map<std::string, std::string>& AgreedFlags() {
  static const std::map<std::string, std::string> flags = {
      {"tessera_generate", std::string(kModel) + kGeneral +
                               "prompt prompt_file system chat raw chat_template n_predict temperature top_k top_p min_p "
                               "repetition_penalty seed stop json jsonl dry_run"},
      {"tessera_tokenize", std::string(kGeneral) + "model prompt prompt_file special json jsonl"},
      {"tessera_logits", std::string(kModel) + kGeneral + "prompt prompt_file special top jsonl"},
      {"tessera_perplexity", std::string(kModel) + kGeneral + "prompt prompt_file window max_windows json jsonl"},
      {"tessera_inspect", std::string(kGeneral) + "model path graph json"},
      {"tessera_bench", std::string(kModel) + kGeneral + "prompt_tokens generate_tokens depth repetitions overhead json"},
  };
  return flags;
}

std::set<std::string> FlagsInHelp(const std::string& help) {
  static const std::regex flag("\n  --([a-z_]+)");
  std::set<std::string> names;
  for (std::sregex_iterator match(help.begin(), help.end(), flag), end; match != end; ++match) names.insert((*match)[1]);
  return names;
}

TEST(CommandLine, EveryProgramHasTheAgreedFlags) {
  for (const auto& [program, flags] : AgreedFlags()) {
    const Ended ended = RunProgram(program, {"--help"});
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.errors, "");
    std::istringstream words(flags);
    const std::set<std::string> agreed{std::istream_iterator<std::string>(words), {}};
    EXPECT_EQ(FlagsInHelp(ended.output), agreed) << program;
  }
}

TEST(CommandLine, EveryProgramAnswersWrongUsageWithTwo) {
  for (const auto& [program, flags] : AgreedFlags()) {
    const Ended ended = RunProgram(program, {"--modle=x"});
    EXPECT_EQ(ended.code, 2) << program;
    EXPECT_EQ(ended.output, "");
    EXPECT_EQ(ended.errors, program + ": unknown flag --modle: did you mean --model?\nTry " + program + " --help.\n");
  }
}

TEST(CommandLine, EveryProgramRefusesAMissingFileAndOneThatIsNoModel) {
  const std::string text = std::string(TESSERA_SOURCE_DIR) + "/CMakeLists.txt";
  for (const auto& [program, flags] : AgreedFlags()) {
    for (const std::string& path : {std::string("/nowhere/model.gguf"), text, std::string("/")}) {
      const Ended ended = RunProgram(program, {"--model=" + path}, "Hello, this is input.");
      EXPECT_EQ(ended.code, 1) << program << " " << path;
      EXPECT_EQ(ended.output, "");
      EXPECT_EQ(ended.errors.rfind(program + ": " + path + ": ", 0), 0u) << ended.errors;
    }
  }
}

TEST(CommandLine, VersionNamesKernels) {
  const Ended ended = RunProgram("tessera_generate", {"--version"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output.rfind("tessera_generate ", 0), 0u);
  EXPECT_NE(ended.output.find("kernels: portable"), std::string::npos);
}

TEST(CommandLine, OutputThatCannotBeWrittenIsAFailure) {
  const std::string program = std::string(TESSERA_BINARY_DIR) + "/bin/tessera_generate --help > /dev/full 2> /dev/null";
  EXPECT_EQ(WEXITSTATUS(system(program.c_str())), 1);
}

}  // namespace
}  // namespace tessera
