// tessera_bench threads.
#include "tessera/apps/bench/passes/thread_figures.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/apps/bench/passes/overhead.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/programs/run_program.h"

namespace tessera {
namespace {

TEST(ThreadFigures, EveryFigureHasALimitAndSaysWhetherTheLimitIsMet) {
  if (AvailableCpus() < kThreadFigureCpus) GTEST_SKIP() << "takes two CPUs";
  const Ended ended = RunProgram("tessera_bench threads", {"--model=" + TinyPath("llama"), "--json", "--repetitions=1",
                                                           "--prompt_tokens=16", "--generate_tokens=6"});
  ASSERT_EQ(ended.code, 0) << ended.errors;
  EXPECT_TRUE(absl::StrContains(ended.errors, "threads: found 3, takes 2")) << ended.errors;
  const JsonValue report = *JsonValue::Parse(ended.output);
  EXPECT_EQ(*report.Int("threads"), 2);
  const JsonValue figures = *report.Array("figures");
  ASSERT_EQ(figures.size(), 7);
  for (int64_t i = 0; i < figures.size(); ++i) {
    const JsonValue figure = figures[i];
    const std::string name = *figure.String("figure");
    const double median = *figure.Object("value")->Double("median");
    EXPECT_TRUE(median > 0 || absl::StrContains(name, "idle")) << name << " " << median;
    const bool met = figure.Has("at_least") ? median >= *figure.Double("at_least") : median <= *figure.Double("at_most");
    EXPECT_EQ(*figure.Bool("met"), met) << name;
  }
}

TEST(ThreadFigures, ChooseTheThreadsThemselves) {
  for (const char* flag : {"--threads=2", "--prompt_tokens=0", "--generate_tokens=2"}) {
    EXPECT_EQ(RunProgram("tessera_bench threads", {flag, "--model=" + TinyPath("llama")}).code, 2) << flag;
  }
}

TEST(ThreadFigures, OnOneCpuAreAnError) {
  const CpuLimit limit = *CpuLimit::Create(1);
  const Ended ended = RunProgram("tessera_bench threads", {"--model=" + TinyPath("llama")});
  EXPECT_EQ(ended.code, 1);
  EXPECT_TRUE(absl::StrContains(ended.errors, "found 1, expected 2 or more")) << ended.errors;
}

TEST(ThreadFigures, HeaderExample) {
  if (AvailableCpus() < kThreadFigureCpus) GTEST_SKIP() << "takes two CPUs";
  const int cpus = AvailableCpus();
  const auto example = []() -> absl::Status {
    const EngineOptions options = {.model_path = TinyPath("llama")};
    const BenchmarkOptions benchmark = {.prompt_tokens = 8, .generate_tokens = kOverheadTokens};
    ASSIGN_OR_RETURN(const std::vector<ThreadFigure> figures, MeasureThreads(options, benchmark, /*repetitions=*/1));
    EXPECT_TRUE(absl::StrContains(ThreadFiguresText(figures), "3 threads on 2 CPUs"));
    return absl::OkStatus();
  };
  EXPECT_TRUE(example().ok());
  EXPECT_EQ(AvailableCpus(), cpus) << "the limit has ended";
}

}  // namespace
}  // namespace tessera
