// What the subcommands of tessera_bench share.
#include "tessera/apps/bench/commands/bench_frame.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/passes/attention_time.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/programs/run_commands.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

class BenchFrame : public testing::Test {
 protected:
  BenchFrame() {
    FLAGS_model = TinyPath("llama");
    FLAGS_threads = 1;
    FLAGS_kernels = "portable";
  }

  const gflags::FlagSaver flags_;  // Ends after the test, with the flags as they were.
};

TEST_F(BenchFrame, HeaderExample) {
  FLAGS_json = true;
  const std::vector<AttentionTime> all = {{.rows = 1, .depth = 128}};
  const auto example = [&]() -> absl::Status {
    RETURN_IF_ERROR(CheckTokens("generate_tokens", FLAGS_generate_tokens, 1));
    ASSIGN_OR_RETURN(const EngineOptions options, OptionsForContext(/*context=*/640));
    EXPECT_EQ(options.cache.context, 640);
    ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, FLAGS_repetitions, FLAGS_depth));
    return ShowResult(heading, AttentionText(all), [&](JsonWriter& json) { WriteAttention(json.Key("attention"), all); });
  };
  testing::internal::CaptureStdout();
  const absl::Status status = example();
  const JsonValue shown = Json(testing::internal::GetCapturedStdout());
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(shown.Keys(), (std::vector<std::string>{"model", "threads", "kernels", "repetitions", "depth", "attention"}));
  EXPECT_EQ(*shown.String("kernels"), "portable");
}

TEST_F(BenchFrame, TheHeadingHasOnlyFactsOfTheMeasurement) {
  const EngineOptions options = *OptionsForContext(0);
  EXPECT_EQ(BenchHeading::Of(options, 5, 7)->Text(), FLAGS_model + ", 1 threads, kernels portable, 5 repetitions, 7 tokens before\n\n");
  EXPECT_EQ(BenchHeading::Of(options, std::nullopt, std::nullopt)->Text(), FLAGS_model + ", 1 threads, kernels portable\n\n");
  FLAGS_path = "reference";
  FLAGS_kernels = "auto";
  EXPECT_EQ(BenchHeading::Of(*OptionsForContext(0), std::nullopt, 0)->Text(),
            FLAGS_model + ", 1 threads, kernels reference, 0 tokens before\n\n");
}

TEST_F(BenchFrame, AContextThatIsGivenWins) {
  FLAGS_context = 99;
  EXPECT_EQ(OptionsForContext(640)->cache.context, 99);
}

TEST_F(BenchFrame, ATableStandsUnderTheHeading) {
  testing::internal::CaptureStdout();
  const absl::Status status = ShowResult({.model = "m", .threads = 2, .kernels = "avx2", .depth = 7}, "a table\n", [](JsonWriter&) {});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "m, 2 threads, kernels avx2, 7 tokens before\n\na table\n");
  EXPECT_EQ(status, absl::OkStatus());
}

TEST_F(BenchFrame, FlagsOfTheModelMayBeLeftOut) {
  EXPECT_EQ(ModelFlagsBut({"threads", "context", "path", "recipe", "kv_block", "kernels", "kv_format"}).flags,
            (std::vector<std::string>{"model", "trace", "dry_run"}));
  EXPECT_DEATH(ModelFlagsBut({"threads", "dryrun"}), "dryrun") << "a flag that is misspelt";
}

TEST(BenchCommandList, HeaderExample) {
  const AppInfo info = {.name = "tessera_x", .summary = "Measures."};
  const Ended help = RunCommands({"rows", "--help"}, info, {BenchSpeed(), BenchRows()});
  EXPECT_EQ(help.code, 0) << help.errors;
  EXPECT_EQ(help.output.rfind("tessera_x rows: The time of passes", 0), 0u) << help.output;
  EXPECT_EQ(RunCommands({}, info, {BenchSpeed(), BenchRows()}).errors,
            "tessera_x: subcommand: found none, expected one of speed, rows\nTry tessera_x --help.\n");
}

}  // namespace
}  // namespace tessera
