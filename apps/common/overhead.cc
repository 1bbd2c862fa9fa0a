#include "tessera/apps/common/overhead.h"

#include "absl/strings/str_format.h"
#include "tessera/base/progress.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

// Enough for 128 tokens, 6 repetitions and several hundred graph runs and leases a token: 32 MiB.
constexpr int64_t kEvents = 1 << 20;

// One run with the timeline: from begin_ns to end_ns of its clock.
struct TracedRun {
  GenerationTime time;
  int64_t begin_ns;
  int64_t end_ns;
};

double SecondsIn(const std::vector<TimelineEvent>& events, Zone zone, const TracedRun& run) {
  int64_t nanos = 0;
  for (const TimelineEvent& event : events) {
    if (event.zone == zone && event.begin_ns >= run.begin_ns && event.end_ns <= run.end_ns) nanos += event.end_ns - event.begin_ns;
  }
  return static_cast<double>(nanos) * 1e-9;
}

// The median over the runs of what `seconds` says, in microseconds a token.
template <typename Run, typename Seconds>
double PerToken(const std::vector<Run>& runs, int tokens, Seconds seconds) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(seconds(run) / tokens * 1e6);
  return SpreadOf(values).median;
}

}  // namespace

absl::StatusOr<Overhead> MeasureOverhead(EngineOptions options, const BenchmarkOptions& benchmark, int repetitions) {
  Timeline timeline({.capacity = kEvents});
  options.timeline = nullptr;
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> plain_engine, Engine::Load(options));
  options.timeline = &timeline;
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> traced_engine, Engine::Load(options));
  ASSIGN_OR_RETURN(Benchmark plain, Benchmark::Create(*plain_engine, benchmark));
  ASSIGN_OR_RETURN(Benchmark traced, Benchmark::Create(*traced_engine, benchmark));
  std::vector<GenerationTime> plain_runs;
  std::vector<TracedRun> traced_runs;
  Progress progress("repetitions", repetitions);
  for (int i = -1; i < repetitions; ++i) {  // The first is not counted.
    ASSIGN_OR_RETURN(const GenerationTime plain_time, plain.TimeGeneration());
    const int64_t begin_ns = timeline.Now();
    ASSIGN_OR_RETURN(const GenerationTime traced_time, traced.TimeGeneration());
    if (i >= 0) {
      plain_runs.push_back(plain_time);
      traced_runs.push_back({traced_time, begin_ns, timeline.Now()});
      progress.Update(i + 1);
    }
  }
  if (timeline.dropped() > 0) {
    return absl::ResourceExhaustedError(absl::StrFormat("--generate_tokens: found runs of %d events, expected at most %d; take fewer "
                                                        "tokens or repetitions", timeline.dropped() + kEvents, kEvents));
  }
  const std::vector<TimelineEvent> events = timeline.Events();
  const int tokens = benchmark.generate_tokens;
  Overhead overhead;
  overhead.pass = PerToken(traced_runs, tokens, [](const TracedRun& run) { return run.time.pass_seconds; });
  overhead.choose = PerToken(traced_runs, tokens, [](const TracedRun& run) { return run.time.choose_seconds; });
  overhead.total = PerToken(traced_runs, tokens, [](const TracedRun& run) { return run.time.Total(); });
  overhead.graphs = PerToken(traced_runs, tokens, [&](const TracedRun& run) { return SecondsIn(events, Zone::kGraphRun, run); });
  overhead.leases = PerToken(traced_runs, tokens, [&](const TracedRun& run) { return SecondsIn(events, Zone::kLease, run); });
  overhead.total_without_timeline = PerToken(plain_runs, tokens, [](const GenerationTime& time) { return time.Total(); });
  return overhead;
}

std::string OverheadText(const Overhead& overhead) {
  Table table({{"a generated token"}, {"us", Table::Align::kRight}});
  const auto add = [&](const char* what, double micros) { table.AddRow({what, absl::StrFormat("%.1f", micros)}); };
  add("in graphs", overhead.graphs);
  add("leasing weights", overhead.leases);
  add("rest of the pass", overhead.pass - overhead.graphs - overhead.leases);
  add("choosing the token", overhead.choose);
  add("all", overhead.total);
  add("all, without timeline", overhead.total_without_timeline);
  return table.ToString() + absl::StrFormat("outside graphs: %.2f %% of a token's time; the timeline adds %.2f %%\n",
                                            100 * overhead.OutsideShare(), 100 * overhead.TimelineShare());
}

void WriteOverhead(JsonWriter& json, const Overhead& overhead) {
  json.BeginObject();
  json.Key("pass_us").Double(overhead.pass, 6);
  json.Key("graphs_us").Double(overhead.graphs, 6);
  json.Key("leases_us").Double(overhead.leases, 6);
  json.Key("choose_us").Double(overhead.choose, 6);
  json.Key("total_us").Double(overhead.total, 6);
  json.Key("total_without_timeline_us").Double(overhead.total_without_timeline, 6);
  json.Key("outside_share").Double(overhead.OutsideShare(), 6);
  json.Key("timeline_share").Double(overhead.TimelineShare(), 6);
  json.EndObject();
}

}  // namespace tessera
