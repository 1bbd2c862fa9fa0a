// Programs with subcommands, and those of tessera_bench.
#include "tessera/apps/cli/commands.h"

#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags.h"
#include "tessera/apps/cli/output.h"
#include "tessera/tests/apps/run_program.h"

namespace tessera {
namespace {

using Arguments = std::vector<std::string>;

absl::Status Count() { return WriteOutput(absl::StrCat(FLAGS_prompt.size(), " bytes\n")); }
absl::Status Show() { return WriteOutput(absl::StrCat("mode ", FLAGS_top, "\n")); }

std::vector<Command> CountAndShow() {
  return {{{.name = "count", .summary = "Counts bytes.", .examples = {"tessera_x count"}, .groups = {{"Text", {"prompt"}}}}, Count},
          {{.name = "show", .summary = "Shows it. Nothing else.", .groups = {{"Output", {"top"}}}}, Show}};
}

// What the program of the header's example prints and returns. It runs in a process of its own, since it begins and ends one.
Ended RunExample(const Arguments& arguments) {
  int output[2], errors[2];
  CHECK_EQ(pipe2(output, O_CLOEXEC), 0);
  CHECK_EQ(pipe2(errors, O_CLOEXEC), 0);
  const pid_t process = fork();
  if (process == 0) {
    dup2(output[1], STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    google::ShutdownGoogleLogging();  // The test's own; the program begins another.
    FLAGS_prompt.clear();             // Other tests set it.
    Arguments all = arguments;
    all.insert(all.begin(), "tessera_x");
    std::vector<char*> argv;
    for (std::string& argument : all) argv.push_back(argument.data());
    _exit(CommandsMain(static_cast<int>(argv.size()), argv.data(), {.name = "tessera_x", .summary = "Does two things."}, CountAndShow()));
  }
  close(output[1]);
  close(errors[1]);
  const auto read_all = [](int file) {
    std::string text;
    char bytes[4096];
    for (ssize_t count; (count = read(file, bytes, sizeof(bytes))) > 0;) text.append(bytes, count);
    close(file);
    return text;
  };
  Ended ended;
  ended.output = read_all(output[0]);
  ended.errors = read_all(errors[0]);
  int status = 0;
  CHECK_EQ(waitpid(process, &status, 0), process);
  ended.code = WEXITSTATUS(status);
  return ended;
}

TEST(Commands, HeaderExample) {
  EXPECT_EQ(RunExample({"count", "--prompt=four"}).output, "4 bytes\n");
  EXPECT_EQ(RunExample({"show", "--top", "7"}).output, "mode 7\n");
  EXPECT_EQ(RunExample({"show", "--top=1"}).errors, "");
}

TEST(Commands, WithoutANameTheFirstRuns) {
  EXPECT_EQ(RunExample({}).output, "0 bytes\n");
  EXPECT_EQ(RunExample({"--prompt=seven!!"}).output, "7 bytes\n");
}

void ExpectWrongUsage(const Ended& ended, const std::string& errors) {
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.output, "");
  EXPECT_EQ(ended.errors, errors);
}

TEST(Commands, AnUnknownOneIsAnsweredWithTheNearestAndAll) {
  ExpectWrongUsage(RunExample({"shwo"}), "tessera_x: subcommand: found \"shwo\", expected one of count, show; did you mean show?\n"
                                         "Try tessera_x --help.\n");
  ExpectWrongUsage(RunExample({"everything", "--top=1"}), "tessera_x: subcommand: found \"everything\", expected one of count, show\n"
                                                          "Try tessera_x --help.\n");
  EXPECT_EQ(RunExample({""}).code, 2);
  EXPECT_TRUE(absl::StrContains(RunExample({"\x1b[31m"}).errors, "found \"\\x1b[31m\"")) << "no control characters";
}

TEST(Commands, AFlagOfAnotherIsAnsweredWithItsName) {
  ExpectWrongUsage(RunExample({"count", "--top=1"}),
                   "tessera_x count: --top: found in \"tessera_x count\", expected in \"tessera_x show\"\nTry tessera_x count --help.\n");
  ExpectWrongUsage(RunExample({"--top=1"}), "tessera_x: --top: found in \"tessera_x\", expected in \"tessera_x show\"\n"
                                            "Try tessera_x --help.\n");
  ExpectWrongUsage(RunExample({"--notop"}), "tessera_x: --notop: found in \"tessera_x\", expected in \"tessera_x show\"\n"
                                            "Try tessera_x --help.\n");
}

TEST(Commands, ANameAmongFlagsIsAnsweredWithItsPlace) {
  ExpectWrongUsage(RunExample({"--show"}), "tessera_x: --show: found in \"tessera_x\", expected the subcommand \"tessera_x show\"\n"
                                           "Try tessera_x --help.\n");
  ExpectWrongUsage(RunExample({"--prompt=a", "show"}),
                   "tessera_x: unexpected argument \"show\", expected a flag (the subcommand stands before all flags: tessera_x show)\n"
                   "Try tessera_x --help.\n");
  ExpectWrongUsage(RunExample({"--something"}), "tessera_x: unknown flag --something; the subcommands are count, show\n"
                                                "Try tessera_x --help.\n");
}

TEST(Commands, HelpListsThemAndEachHasItsOwn) {
  const std::string all = RunExample({"--help"}).output;
  EXPECT_TRUE(absl::StrContains(all, "  count                   Counts bytes.\n  show                    Shows it.\n")) << all;
  EXPECT_TRUE(absl::StrContains(all, "--prompt=TEXT")) << "flags of the first: " << all;
  EXPECT_FALSE(absl::StrContains(all, "--top=")) << all;
  const std::string one = RunExample({"show", "--help"}).output;
  EXPECT_EQ(one.rfind("tessera_x show: Shows it. Nothing else.\n", 0), 0u) << one;
  EXPECT_TRUE(absl::StrContains(one, "--top=N")) << one;
  EXPECT_FALSE(absl::StrContains(one, "count")) << one;
}

TEST(BenchCommands, AreListedWithASentenceEach) {
  const Ended help = RunProgram("tessera_bench", {"--help"});
  const JsonValue listed = *Json(RunProgram("tessera_bench", {"--help", "--json"}).output).Array("subcommands");
  std::vector<std::string> names;
  for (int64_t i = 0; i < listed.size(); ++i) {
    names.push_back(*listed[i].String("name"));
    std::string line = "\n  " + names.back();
    line.resize(27, ' ');
    absl::StrAppend(&line, *listed[i].String("summary"), "\n");
    EXPECT_TRUE(absl::StrContains(help.output, line)) << "one line for" << line << help.output;
  }
  EXPECT_EQ(names, (Arguments{"speed", "overhead", "threads", "roofline", "rows", "attention", "products", "memory", "streaming"}));
}

TEST(BenchCommands, SpeedIsWhatRunsWithoutAName) {
  const Arguments flags = {"--model=" + TinyModel("llama"), "--prompt_tokens=0", "--generate_tokens=2", "--repetitions=1", "--json"};
  Arguments named = flags;
  named.insert(named.begin(), "speed");
  for (const Arguments& arguments : {flags, named}) {
    const Ended ended = RunProgram("tessera_bench", arguments);
    ASSERT_EQ(ended.code, 0) << ended.errors;
    EXPECT_EQ(Json(ended.output).Keys(), (Arguments{"model", "threads", "kernels", "repetitions", "depth", "generation"}));
  }
}

// What used to be flags of one command are now names.
TEST(BenchCommands, AModeThatIsAskedForByAFlagIsNamed) {
  for (const std::string name : {"overhead", "roofline", "products", "memory", "streaming", "attention"}) {
    for (const std::string& flag : {"--" + name, "--" + name + "=default"}) {
      ExpectWrongUsage(RunProgram("tessera_bench", {flag}),
                       absl::StrCat("tessera_bench: --", name, ": found in \"tessera_bench\", expected the subcommand \"tessera_bench ",
                                    name, "\"\nTry tessera_bench --help.\n"));
    }
  }
  ExpectWrongUsage(RunProgram("tessera_bench", {"--rows=default", "--plot=x"}),
                   "tessera_bench: --rows: found in \"tessera_bench\", expected in \"tessera_bench rows\"\nTry tessera_bench --help.\n");
  EXPECT_TRUE(absl::StrContains(RunProgram("tessera_bench", {"--thread_figures"}).errors, " threads, ")) << "the list";
}

TEST(BenchCommands, EachTakesOnlyFlagsThatChangeItsFigures) {
  for (const Arguments& wrong : std::vector<Arguments>{{"speed", "--plot=x"}, {"overhead", "--prompt_tokens=1"}, {"threads", "--threads=2"},
                                                       {"roofline", "--path=reference"}, {"rows", "--generate_tokens=1"},
                                                       {"attention", "--depth=1"}, {"products", "--model=x"},
                                                       {"memory", "--repetitions=1"}, {"streaming", "--mapped"}, {"rows", "--trace=x"}}) {
    const Ended ended = RunProgram("tessera_bench", wrong);
    EXPECT_EQ(ended.code, 2) << wrong[0];
    const std::string flag = wrong[1].substr(0, wrong[1].find('='));
    EXPECT_EQ(ended.errors.rfind(absl::StrCat("tessera_bench ", wrong[0], ": ", flag, ": found in \"tessera_bench ", wrong[0],
                                              "\", expected in \"tessera_bench "), 0), 0u)
        << ended.errors;
  }
}

TEST(BenchCommands, VersionIsTheProgramsEverywhere) {
  EXPECT_EQ(RunProgram("tessera_bench rows", {"--version"}).output, RunProgram("tessera_bench", {"--version"}).output);
}

}  // namespace
}  // namespace tessera
