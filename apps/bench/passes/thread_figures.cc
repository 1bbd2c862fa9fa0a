#include "tessera/apps/bench/passes/thread_figures.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/passes/overhead.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/progress.h"
#include "tessera/base/spread.h"
#include "tessera/base/start_thread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

constexpr double kMostIdleMillis = 1;   // The time of falling asleep and of reading the clock.

struct TimedEngine {
  std::unique_ptr<Engine> engine;
  Benchmark benchmark;
};

absl::StatusOr<TimedEngine> Load(EngineOptions options, const BenchmarkOptions& benchmark, int threads) {
  options.compute.threads = threads;
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(Benchmark timed, Benchmark::Create(*engine, benchmark));
  return TimedEngine{std::move(engine), std::move(timed)};
}

// Returns the seconds until both engines have generated all tokens.
absl::StatusOr<double> GenerateTogether(Benchmark& a, Benchmark& b) {
  absl::StatusOr<GenerationTime> time_b;
  ASSIGN_OR_RETURN(std::thread other, StartThread([&] { time_b = b.TimeGeneration(); }));
  const absl::StatusOr<GenerationTime> time_a = a.TimeGeneration();
  other.join();
  RETURN_IF_ERROR(time_a.status());
  RETURN_IF_ERROR(time_b.status());
  return std::max(time_a->Total(), time_b->Total());
}

struct Ratios {                                     // One of each per repetition.
  std::vector<double> prompt_two_to_one;            // Ratios of speeds.
  std::vector<double> prompt_three_to_two;          // Ratios of times.
  std::vector<double> generation_three_to_two;      // Ratios of times.
  std::vector<double> two_engines_to_one;           // Ratios of tokens per second, all engines together.
};

struct Engines { TimedEngine one, another_one, two, three; };   // By the threads asked for.

absl::StatusOr<Engines> LoadAll(const EngineOptions& options, const BenchmarkOptions& benchmark) {
  ASSIGN_OR_RETURN(TimedEngine one, Load(options, benchmark, 1));
  ASSIGN_OR_RETURN(TimedEngine another_one, Load(options, benchmark, 1));
  ASSIGN_OR_RETURN(TimedEngine two, Load(options, benchmark, 2));
  ASSIGN_OR_RETURN(TimedEngine three, Load(options, benchmark, 3));
  return Engines{std::move(one), std::move(another_one), std::move(two), std::move(three)};
}

absl::Status Repeat(Engines& engines, Ratios& ratios) {
  ASSIGN_OR_RETURN(const double prompt_one, engines.one.benchmark.TimePrompt());
  ASSIGN_OR_RETURN(const double prompt_two, engines.two.benchmark.TimePrompt());
  ASSIGN_OR_RETURN(const double prompt_three, engines.three.benchmark.TimePrompt());
  ASSIGN_OR_RETURN(const double together, GenerateTogether(engines.one.benchmark, engines.another_one.benchmark));
  ASSIGN_OR_RETURN(const GenerationTime two, engines.two.benchmark.TimeGeneration());
  ASSIGN_OR_RETURN(const GenerationTime three, engines.three.benchmark.TimeGeneration());
  ratios.prompt_two_to_one.push_back(prompt_one / prompt_two);
  ratios.prompt_three_to_two.push_back(prompt_three / prompt_two);
  ratios.generation_three_to_two.push_back(three.Total() / two.Total());
  ratios.two_engines_to_one.push_back(2 * two.Total() / together);
  return absl::OkStatus();
}

double CpuMillis() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto millis = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return millis(usage.ru_utime) + millis(usage.ru_stime);
}

// Returns the CPU time of this process while idle.
double IdleCpuMillis(int seconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // Workers fall asleep.
  const double begin = CpuMillis();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  return CpuMillis() - begin;
}

ThreadFigure Once(const std::string& name, double value, double limit) {
  return {name, {value, value, value}, /*at_least=*/false, limit};
}

}  // namespace

absl::StatusOr<std::vector<ThreadFigure>> MeasureThreads(EngineOptions options, const BenchmarkOptions& benchmark,
                                                        int repetitions) {
  ASSIGN_OR_RETURN(const CpuLimit limit, CpuLimit::Create(kThreadFigureCpus));
  options.compute.threads = kThreadFigureCpus;
  ASSIGN_OR_RETURN(const Overhead overhead, MeasureOverhead(options, benchmark, repetitions));
  ASSIGN_OR_RETURN(Engines engines, LoadAll(options, benchmark));
  Ratios ratios, warm_up;
  RETURN_IF_ERROR(Repeat(engines, warm_up));
  Progress progress("repetitions", repetitions);
  for (int i = 0; i < repetitions; ++i) {
    RETURN_IF_ERROR(Repeat(engines, ratios));
    progress.Update(i + 1);
  }
  return std::vector<ThreadFigure>{
      Once("a token of 2 threads: share of time outside graphs", overhead.OutsideShare(), kMostOutside),
      Once("the same, and waiting for the other thread", overhead.NotWorkingShare(), kMostNotWorking),
      {"prompt: speed of 2 threads / of 1", SpreadOf(ratios.prompt_two_to_one), /*at_least=*/true, 1.7},
      {"prompt: time of 3 threads on 2 CPUs / of 2", SpreadOf(ratios.prompt_three_to_two), /*at_least=*/false, 1.3},
      {"generation: time of 3 threads on 2 CPUs / of 2", SpreadOf(ratios.generation_three_to_two), /*at_least=*/false, 1.3},
      {"generation: speed of 2 engines of 1 thread / 1 of 2", SpreadOf(ratios.two_engines_to_one), /*at_least=*/true, 0.9},
      Once(absl::StrCat("idle engines: ms of CPU in ", repetitions, " s"), IdleCpuMillis(repetitions), kMostIdleMillis)};
}

std::string ThreadFiguresText(const std::vector<ThreadFigure>& figures) {
  constexpr Table::Align kRight = Table::Align::kRight;
  Table table({{"on 2 CPUs"}, {"min", kRight}, {"median", kRight}, {"max", kRight}, {"expected", kRight}, {""}});
  for (const ThreadFigure& figure : figures) {
    const auto cell = [](double value) { return absl::StrFormat("%.3f", value); };
    table.AddRow({figure.name, cell(figure.value.min), cell(figure.value.median), cell(figure.value.max),
                  absl::StrFormat("%s %g", figure.at_least ? ">=" : "<=", figure.limit), figure.Met() ? "met" : "missed"});
  }
  return table.ToString();
}

void WriteThreadFigures(JsonWriter& json, const std::vector<ThreadFigure>& figures) {
  json.BeginArray();
  for (const ThreadFigure& figure : figures) {
    json.BeginObject().Key("figure").String(figure.name);
    WriteSpread(json.Key("value"), figure.value);
    json.Key(figure.at_least ? "at_least" : "at_most").Double(figure.limit, 6).Key("met").Bool(figure.Met()).EndObject();
  }
  json.EndArray();
}

}  // namespace tessera
