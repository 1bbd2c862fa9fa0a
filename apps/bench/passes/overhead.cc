#include "tessera/apps/bench/passes/overhead.h"

#include <sys/resource.h>

#include <utility>

#include "absl/strings/str_format.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/progress.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"

namespace tessera {
namespace {

// A token has several hundred graph runs and leases: 32 MiB hold some ten thousand tokens.
constexpr int64_t kEvents = 1 << 20;

// The times of one token, in seconds.
struct TokenTime {
  double pass = 0;
  double choose = 0;
  double graphs = 0;
  double leases = 0;
  double working = 0;   // Mean of the threads.
  double waiting = 0;
  bool interrupted = false;  // Another program got the CPU of one of the threads.
};

double SecondsIn(absl::Span<const TimelineEvent> events, Zone zone) {
  int64_t nanos = 0;
  for (const TimelineEvent& event : events) {
    if (event.zone == zone) nanos += event.end_ns - event.begin_ns;
  }
  return static_cast<double>(nanos) * 1e-9;
}

double Seconds(int64_t begin_ns, int64_t end_ns) { return static_cast<double>(end_ns - begin_ns) * 1e-9; }

// Returns the number of times that a thread of this process had to give up the CPU, so far.
int64_t Interruptions() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

// Generates one token after the other. Out of three tokens, one is plain, one has the timeline, and one has the working time counted.
class TokenClock {
 public:
  TokenClock(Engine& engine, Session& session, const Sampler& sampler, Timeline& timeline)
      : engine_(engine), session_(session), sampler_(sampler), timeline_(timeline) {}

  absl::Status Run(int depth, int tokens) {
    session_.Truncate(depth);
    RETURN_IF_ERROR(session_.Append({}));  // Recomputes the tokens that sliding windows gave up.
    TokenId token = 0;
    std::vector<TokenTime>* const kinds[kOverheadTokens] = {&plain_, &traced_, &counted_};
    for (int i = 0; i < tokens; ++i) {
      std::vector<TokenTime>* const kind = kinds[i % kOverheadTokens];
      CoreOf(engine_).SetTimeline(kind == &traced_ ? &timeline_ : nullptr);
      CoreOf(engine_).pool().CountTimes(kind == &counted_);
      const int64_t interruptions = Interruptions();
      const int64_t begin = RealClock().NowNanos();
      RETURN_IF_ERROR(session_.Append({&token, 1}));
      const int64_t passed = RealClock().NowNanos();
      ASSIGN_OR_RETURN(token, sampler_.Choose(session_.logits(), {}, /*stream=*/0, i));
      kind->push_back({.pass = Seconds(begin, passed), .choose = Seconds(passed, RealClock().NowNanos())});
      kind->back().interrupted = Interruptions() > interruptions;
      AddTimesOfThreads(kind->back());
    }
    return absl::OkStatus();
  }

  // Splits the timeline's events by pass.
  std::vector<TokenTime> Traced() const {
    std::vector<TokenTime> times = traced_;
    const std::vector<TimelineEvent> events = timeline_.Events();
    size_t token = 0;
    for (size_t begin = 0, i = 0; i < events.size() && token < times.size(); ++i) {
      if (events[i].zone != Zone::kHead) continue;  // A pass's last event: scopes record when they end.
      const absl::Span<const TimelineEvent> pass(&events[begin], i + 1 - begin);
      times[token].graphs = SecondsIn(pass, Zone::kGraphRun);
      times[token++].leases = SecondsIn(pass, Zone::kLease);
      begin = i + 1;
    }
    return times;
  }
  const std::vector<TokenTime>& plain() const { return plain_; }
  const std::vector<TokenTime>& counted() const { return counted_; }

 private:
  void AddTimesOfThreads(TokenTime& time) const {
    const ThreadPool::Times times = CoreOf(engine_).pool().times();
    time.working = Seconds(0, times.working) / engine_.threads();
    time.waiting = Seconds(0, times.runs) - time.working;
  }

  Engine& engine_;
  Session& session_;
  const Sampler& sampler_;
  Timeline& timeline_;
  std::vector<TokenTime> plain_;
  std::vector<TokenTime> traced_;
  std::vector<TokenTime> counted_;
};

// Returns the tokens that nothing interrupted; all tokens if each was interrupted.
std::vector<TokenTime> Undisturbed(const std::vector<TokenTime>& tokens) {
  std::vector<TokenTime> undisturbed = tokens;
  std::erase_if(undisturbed, [](const TokenTime& token) { return token.interrupted; });
  return undisturbed.empty() ? tokens : undisturbed;
}

// Returns the median of seconds(token) over the tokens, in microseconds.
template <typename SecondsOf>
double MedianMicros(const std::vector<TokenTime>& tokens, SecondsOf seconds) {
  std::vector<double> values;
  for (const TokenTime& token : tokens) values.push_back(seconds(token) * 1e6);
  return MedianOf(std::move(values));
}

Overhead MediansOf(const TokenClock& clock) {
  const std::vector<TokenTime> plain = Undisturbed(clock.plain());
  const std::vector<TokenTime> traced = Undisturbed(clock.Traced());
  const std::vector<TokenTime> counted = Undisturbed(clock.counted());
  const auto total = [](const TokenTime& token) { return token.pass + token.choose; };
  Overhead overhead;
  overhead.pass = MedianMicros(traced, [](const TokenTime& token) { return token.pass; });
  overhead.choose = MedianMicros(traced, [](const TokenTime& token) { return token.choose; });
  overhead.graphs = MedianMicros(traced, [](const TokenTime& token) { return token.graphs; });
  overhead.leases = MedianMicros(traced, [](const TokenTime& token) { return token.leases; });
  overhead.total = MedianMicros(traced, total);
  overhead.total_without_timeline = MedianMicros(plain, total);
  overhead.total_counted = MedianMicros(counted, total);
  overhead.waiting = MedianMicros(counted, [](const TokenTime& token) { return token.waiting; });
  overhead.working = MedianMicros(counted, [](const TokenTime& token) { return token.working; });
  overhead.tokens = static_cast<int>(plain.size() + traced.size() + counted.size());
  return overhead;
}

}  // namespace

absl::StatusOr<Overhead> MeasureOverhead(EngineOptions options, const BenchmarkOptions& benchmark, int repetitions) {
  Timeline timeline({.capacity = kEvents});
  options.timeline = nullptr;
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine->NewSession());
  ASSIGN_OR_RETURN(const Sampler sampler, Sampler::Create({.temperature = 0}));
  const std::vector<TokenId> before(benchmark.depth, 0);
  RETURN_IF_ERROR(session->Append(before));
  TokenClock clock(*engine, *session, sampler, timeline);
  Progress progress("repetitions", repetitions);
  for (int i = 0; i < repetitions; ++i) {
    RETURN_IF_ERROR(clock.Run(benchmark.depth, benchmark.generate_tokens));
    progress.Update(i + 1);
  }
  if (timeline.dropped() > 0) {
    return WrongUsage("generate_tokens", absl::StrCat("runs of ", timeline.dropped() + kEvents, " events"),
                      absl::StrCat("at most ", kEvents, "; take fewer tokens or repetitions"));
  }
  return MediansOf(clock);
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
  add("all, working time counted", overhead.total_counted);
  add("waiting for other threads", overhead.waiting);
  return absl::StrFormat("%smedians of %d tokens\n"
                         "outside graphs: %.2f %% of a token's time, at most %.0f %%\n"
                         "outside graphs or waiting for other threads: %.2f %%, at most %.0f %%\n"
                         "the timeline adds %.2f %%\n",
                         table.ToString(), overhead.tokens, 100 * overhead.OutsideShare(), 100 * kMostOutside,
                         100 * overhead.NotWorkingShare(), 100 * kMostNotWorking, 100 * overhead.TimelineShare());
}

void WriteOverhead(JsonWriter& json, const Overhead& overhead) {
  json.BeginObject();
  json.Key("tokens").Int(overhead.tokens);
  json.Key("pass_us").Double(overhead.pass, 6);
  json.Key("graphs_us").Double(overhead.graphs, 6);
  json.Key("leases_us").Double(overhead.leases, 6);
  json.Key("choose_us").Double(overhead.choose, 6);
  json.Key("total_us").Double(overhead.total, 6);
  json.Key("total_without_timeline_us").Double(overhead.total_without_timeline, 6);
  json.Key("total_counted_us").Double(overhead.total_counted, 6);
  json.Key("waiting_us").Double(overhead.waiting, 6);
  json.Key("working_us").Double(overhead.working, 6);
  json.Key("outside_share").Double(overhead.OutsideShare(), 6);
  json.Key("not_working_share").Double(overhead.NotWorkingShare(), 6);
  json.Key("timeline_share").Double(overhead.TimelineShare(), 6);
  json.EndObject();
}

}  // namespace tessera
