// Programs with subcommands, and those of tessera_bench.
#include "tessera/apps/cli/commands.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/tests/fakes/programs/run_commands.h"
#include "tessera/tests/fakes/programs/run_program.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

using Arguments = std::vector<std::string>;

absl::Status Count() { return WriteOutput(absl::StrCat(FLAGS_prompt.size(), " bytes\n")); }
absl::Status Show() { return WriteOutput(absl::StrCat("mode ", FLAGS_top, "\n")); }

std::vector<Command> CountAndShow() {
  return {{{.subcommand = "count", .summary = "Counts bytes.", .groups = {{"Text", {"prompt"}}}}, Count},
          {{.subcommand = "show", .summary = "Shows it. Nothing else.", .groups = {{"Output", {"top"}}}}, Show}};
}

Ended RunExample(const Arguments& arguments) {
  return RunCommands(arguments, {.name = "tessera_x", .summary = "Does two things."}, CountAndShow());
}

TEST(Commands, HeaderExample) {
  EXPECT_EQ(RunExample({"count", "--prompt=four"}).output, "4 bytes\n");
  EXPECT_EQ(RunExample({"show", "--top", "7"}).output, "mode 7\n");
  EXPECT_EQ(RunExample({"show", "--top=1"}).errors, "");
}

TEST(Commands, AProgramWithWorkOfItsOwnRunsWithoutASubcommand) {
  const auto run = [](const Arguments& arguments) {
    return RunCommands(arguments, {.name = "tessera_x", .summary = "Does it.", .groups = {{"Text", {"prompt"}}},
                                   .plain_arguments = {"prompt"}}, {CountAndShow()[1]}, Count);
  };
  EXPECT_EQ(run({"--prompt=four"}).output, "4 bytes\n");
  EXPECT_EQ(run({"seventy"}).output, "7 bytes\n");
  EXPECT_EQ(run({"show", "--top=7"}).output, "mode 7\n");
  EXPECT_EQ(run({"--top=7"}).code, 2);
  const Ended mistyped = run({"shwo", "--top=7"});
  EXPECT_EQ(mistyped.code, 2);
  EXPECT_TRUE(absl::StrContains(mistyped.errors, "subcommand: found \"shwo\", expected one of show; did you mean show?"))
      << mistyped.errors;
}

void ExpectWrongUsage(const Ended& ended, const std::string& errors) {
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.output, "");
  EXPECT_EQ(ended.errors, errors);
}

TEST(Commands, AMissingSubcommandIsWrongUsageAndTheListIsShown) {
  const std::string list = "tessera_x: subcommand: found none, expected one of count, show\nTry tessera_x --help.\n";
  ExpectWrongUsage(RunExample({}), list);
  ExpectWrongUsage(RunExample({"--tryfromenv="}), "tessera_x: --tryfromenv: found an empty value, expected NAMES\nTry tessera_x --help.\n");
  ExpectWrongUsage(RunExample({"--noversion"}), list);
}

TEST(Commands, AnUnknownOneIsAnsweredWithTheNearestAndAll) {
  ExpectWrongUsage(RunExample({"shwo"}), "tessera_x: subcommand: found \"shwo\", expected one of count, show; did you mean show?\n"
                                         "Try tessera_x --help.\n");
  ExpectWrongUsage(RunExample({"everything", "--top=1"}), "tessera_x: subcommand: found \"everything\", expected one of count, show\n"
                                                          "Try tessera_x --help.\n");
  EXPECT_EQ(RunExample({""}).code, 2);
  EXPECT_TRUE(absl::StrContains(RunExample({"\x1b[31m"}).errors, "found \"\\x1b[31m\"")) << "no control characters";
}

std::string In(const std::string& where, const std::string& error) {
  return absl::StrCat(where, ": ", error, "\nTry ", where, " --help.\n");
}

TEST(Commands, AFlagOfAnotherIsAnsweredWithItsName) {
  ExpectWrongUsage(RunExample({"count", "--top=1"}),
                   In("tessera_x count", "--top: found in \"tessera_x count\", expected in \"tessera_x show\""));
  ExpectWrongUsage(RunExample({"--top=1"}), In("tessera_x", "--top: found in \"tessera_x\", expected in \"tessera_x show\""));
  ExpectWrongUsage(RunExample({"--notop"}), In("tessera_x", "--notop: found in \"tessera_x\", expected in \"tessera_x show\""));
  for (const std::string by : {"fromenv", "tryfromenv"}) {
    ExpectWrongUsage(RunExample({"count", absl::StrCat("--", by, "=top,prompt")}),
                     In("tessera_x count", absl::StrCat("--", by, ": --top: found in \"tessera_x count\", ",
                                                        "expected in \"tessera_x show\"")));
  }
}

TEST(Commands, AMisspeltFlagIsAnsweredWithTheNearestOfAll) {
  ExpectWrongUsage(RunExample({"count", "--promt=a"}), In("tessera_x count", "unknown flag --promt: did you mean --prompt?"));
  ExpectWrongUsage(RunExample({"count", "--topp=1"}),
                   In("tessera_x count", "unknown flag --topp: did you mean --top in \"tessera_x show\"?"));
  ExpectWrongUsage(RunExample({"count", "--something"}), In("tessera_x count", "unknown flag --something"));
  ExpectWrongUsage(RunExample({"--something"}), In("tessera_x", "unknown flag --something; the subcommands are count, show"));
}

TEST(Commands, ANameAmongFlagsIsAnsweredWithItsPlace) {
  ExpectWrongUsage(RunExample({"--show"}), In("tessera_x", "--show: found in \"tessera_x\", expected the subcommand \"tessera_x show\""));
  ExpectWrongUsage(RunExample({"--noversion", "show"}), In("tessera_x", "unexpected argument \"show\", expected a flag (the subcommand "
                                                                        "stands before all flags: tessera_x show)"));
  ExpectWrongUsage(RunExample({"count", "show"}),
                   In("tessera_x count", "unexpected argument \"show\", expected a flag (one subcommand per run)"));
}

TEST(Commands, TextWithoutAFlagIsAnsweredWithPromptWhereThereIsOne) {
  ExpectWrongUsage(RunExample({"count", "four"}),
                   In("tessera_x count", "unexpected argument \"four\", expected a flag (put text in quotes: --prompt=\"two words\")"));
  ExpectWrongUsage(RunExample({"show", "four"}), In("tessera_x show", "unexpected argument \"four\", expected a flag"));
}

TEST(Commands, HelpListsThemAndEachHasItsOwn) {
  const std::string all = RunExample({"--help"}).output;
  EXPECT_TRUE(absl::StrContains(all, "Subcommands (for the flags of one: tessera_x count --help):\n"
                                     "  count                   Counts bytes.\n  show                    Shows it.\n"
                                     "Flags (--help=all shows all 5 in groups):\nExit codes: ")) << all;
  EXPECT_FALSE(absl::StrContains(all, "--prompt=")) << all;
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
  EXPECT_EQ(names, (Arguments{"speed", "overhead", "threads", "roofline", "rows", "attention", "products", "memory", "streaming",
                              "batch", "samples", "adapters", "spec"}));
}

TEST(BenchCommands, WithoutANameNothingIsMeasured) {
  ExpectWrongUsage(RunProgram("tessera_bench", {}),
                   In("tessera_bench", "subcommand: found none, expected one of speed, overhead, threads, roofline, rows, attention, "
                                       "products, memory, streaming, batch, samples, adapters, spec"));
  ExpectWrongUsage(RunProgram("tessera_bench", {"--threads=2"}),
                   In("tessera_bench", "--threads: found in \"tessera_bench\", expected in a subcommand, such as \"tessera_bench speed\""));
}

TEST(BenchCommands, TheFormerNameOfBatchWorksAndSaysSo) {
  const Ended now = RunProgram("tessera_bench batch", {"--help"}), former = RunProgram("tessera_bench streams", {"--help"});
  EXPECT_EQ(former.code, 0);
  EXPECT_EQ(former.output, now.output);
  EXPECT_EQ(former.errors, "tessera_bench: the subcommand streams is batch now\n");
}

TEST(BenchCommands, TheOldLeverSubcommandNamesItsNewProgram) {
  ExpectWrongUsage(RunProgram("tessera_bench", {"lever", "--texts=1"}),
                   In("tessera_bench", "subcommand: found \"lever\", expected the program tessera_lever of its own"));
}

TEST(OldNames, RunTheReplacingProgramAndSaySo) {
  const std::pair<const char*, const char*> names[] = {{"tessera_spec_bench", "tessera_bench spec"},
                                                       {"tessera_statistics", "tessera_quantize statistics"},
                                                       {"tessera_states", "tessera_quantize states"},
                                                       {"tessera_npu_report", "tessera_inspect --device=8gen3"}};
  for (const auto& [old_name, now] : names) {
    const Ended old_run = RunProgram(old_name, {"--help"}), new_run = RunProgram(now, {"--help"});
    EXPECT_EQ(old_run.code, 0) << old_name;
    EXPECT_EQ(old_run.output, new_run.output) << old_name;
    EXPECT_EQ(old_run.errors, absl::StrCat(old_name, ": this is ", now, " now\n"));
  }
  const Ended refused = RunProgram("tessera_statistics", {"--window=x"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(absl::StrContains(refused.errors, "tessera_quantize statistics: --window: found")) << refused.errors;
}

TEST(BenchCommands, SpeedHasAFigureForEachKindOfTokensAndNeedsOne) {
  const std::string model = "--model=" + TinyPath("llama");
  const Ended ended =
      RunProgram("tessera_bench speed", {model, "--prompt_tokens=0", "--generate_tokens=2", "--repetitions=1", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_EQ(Json(ended.output).Keys(), (Arguments{"model", "threads", "kernels", "repetitions", "depth", "generation"}));
  ExpectWrongUsage(RunProgram("tessera_bench speed", {model, "--prompt_tokens=0", "--generate_tokens=0"}),
                   In("tessera_bench speed", "--generate_tokens: found 0 beside --prompt_tokens=0, expected one of them above 0"));
}

// It is read before the model is, and before anything is timed.
TEST(BenchCommands, ABadPeerCurveIsRefusedFirst) {
  const TemporaryFolder folder;
  const std::string plot = "--plot=" + folder.Path("rows.svg"), text = std::string(TESSERA_SOURCE_DIR) + "/CMakeLists.txt";
  for (const std::string& peer : {folder.Path("none.json"), text}) {
    const Ended ended = RunProgram("tessera_bench rows", {"--model=/nowhere/model.gguf", plot, "--peer_curve=" + peer});
    EXPECT_NE(ended.code, 0);
    EXPECT_EQ(ended.output, "");
    EXPECT_EQ(ended.errors.rfind("tessera_bench rows: --peer_curve: ", 0), 0u) << ended.errors;
  }
}

TEST(BenchCommands, EveryTableIsUnderAHeadingOfModelThreadsAndKernels) {
  const std::string model = TinyPath("llama");
  for (const Arguments& flags : std::vector<Arguments>{{"overhead", "--generate_tokens=6"}, {"memory", "--generate_tokens=2"},
                                                       {"rows", "--rows=1,2"},
                                                       {"batch", "--together=1", "--writers=1", "--generate_tokens=2",
                                                        "--prompt_tokens=2", "--long_prompt=2", "--speculate=none"},
                                                       {"samples", "--together=1", "--generate_tokens=2", "--speculate=none",
                                                        "--context=1000",
                                                        absl::StrCat("--data=", TESSERA_SOURCE_DIR, "/tests/data/speculation")},
                                                       {"adapters", "--adapters=8", "--rank=2", "--depth=4", "--generate_tokens=16"}}) {
    Arguments all = {"--model=" + model, "--threads=1", "--kernels=portable"};
    all.insert(all.end(), flags.begin() + 1, flags.end());
    if (flags[0] != "memory") all.push_back("--repetitions=1");
    if (flags[0] == "memory") all.push_back("--prompt_tokens=4");
    const Ended ended = RunProgram("tessera_bench " + flags[0], all);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    EXPECT_EQ(ended.output.rfind(model + ", 1 threads, kernels portable", 0), 0u) << flags[0] << ": " << ended.output;
  }
}

// A name of a subcommand is no flag.
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

TEST(BenchCommands, FlagsThatDoNotApplyAreRefused) {
  for (const Arguments& wrong : std::vector<Arguments>{{"speed", "--plot=x"}, {"overhead", "--prompt_tokens=1"}, {"threads", "--threads=2"},
                                                       {"roofline", "--plot=x"}, {"rows", "--generate_tokens=1"},
                                                       {"attention", "--depth=1"}, {"products", "--model=x"},
                                                       {"memory", "--repetitions=1"}, {"streaming", "--mapped"}, {"rows", "--trace=x"},
                                                       {"adapters", "--dry_run"},
                                                       {"streaming", "--depth=1"}}) {
    const Ended ended = RunProgram("tessera_bench", wrong);
    EXPECT_EQ(ended.code, 2) << wrong[0];
    const std::string flag = wrong[1].substr(0, wrong[1].find('='));
    EXPECT_EQ(ended.errors.rfind(absl::StrCat("tessera_bench ", wrong[0], ": ", flag, ": found in \"tessera_bench ", wrong[0],
                                              "\", expected in "), 0), 0u)
        << ended.errors;
  }
  ExpectWrongUsage(RunProgram("tessera_bench", {"roofline", "--path=reference"}),
                   "tessera_bench roofline: --path: found reference, expected fast or npu: it has no kernels to measure\n"
                   "Try tessera_bench roofline --help.\n");
}

// A budget counts one process with one engine in it, and a plan tells the memory of that; these take more.
TEST(BenchCommands, BudgetsAndPlansAreRefusedBySubcommandsThatCannotKeepThem) {
  for (const auto& [flag, names] : std::vector<std::pair<std::string, Arguments>>{
           {"memory_budget", {"threads", "roofline", "rows", "memory"}}, {"verify", {"threads", "roofline", "rows", "memory"}},
           {"dry_run", {"threads", "roofline", "rows", "streaming"}}}) {
    for (const std::string& name : names) {
      ExpectWrongUsage(RunProgram("tessera_bench " + name, {absl::StrCat("--", flag, flag == "memory_budget" ? "=1GiB" : "")}),
                       In("tessera_bench " + name,
                          absl::StrCat("--", flag, ": found in \"tessera_bench ", name,
                                       "\", expected in a subcommand, such as \"tessera_bench speed\"")));
    }
  }
}

TEST(BenchCommands, VersionIsTheProgramsEverywhere) {
  for (const Arguments& json : {Arguments{"--version"}, Arguments{"--version", "--json"}}) {
    EXPECT_EQ(RunProgram("tessera_bench rows", json).output, RunProgram("tessera_bench", json).output);
  }
}

}  // namespace
}  // namespace tessera
