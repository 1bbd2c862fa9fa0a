#include "tessera/apps/lab/scale/grid/host_times.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/lab/scale/grid/grid_results.h"
#include "tessera/apps/lab/scale/report/figures_json.h"
#include "tessera/apps/lab/scale/tasks/records.h"
#include "tessera/base/clock.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int kDigits = 6;
constexpr double kMostSeconds = 1e9, kMostTokens = 1e9, kMostCpus = 1e6;
constexpr size_t kMostTimes = 4096;

// Returns the seconds that all CPUs of the machine were busy since the start: the first line of /proc/stat, proc(5).
std::optional<double> BusySeconds() {
  constexpr size_t kIdle = 4, kWaiting = 5, kGuest = 9;   // Guests are counted as user time, too.
  std::ifstream file("/proc/stat");
  std::string line;
  if (!std::getline(file, line) || !absl::StartsWith(line, "cpu ")) return std::nullopt;
  const std::vector<std::string> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
  double ticks = 0;
  for (size_t i = 1; i < std::min(fields.size(), kGuest); ++i) {
    double count;
    if (!absl::SimpleAtod(fields[i], &count)) return std::nullopt;
    if (i != kIdle && i != kWaiting) ticks += count;
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double OwnSeconds() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    const std::string::size_type colon = line.find(':');
    if (colon != std::string::npos) return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return "a processor without a name";
}

absl::StatusOr<HostTime> TimeOf(const JsonValue& record) {
  HostTime time;
  ASSIGN_OR_RETURN(time.task, record.String("task"));
  ASSIGN_OR_RETURN(const int64_t samples, record.Int("samples", 1, kMostGridSamples));
  ASSIGN_OR_RETURN(const int64_t questions, record.Int("questions", 1, 1 << 20));
  ASSIGN_OR_RETURN(time.beams, record.Bool("beams"));
  if (time.beams && record.Has("scorer")) {
    ASSIGN_OR_RETURN(time.scorer, record.String("scorer"));
  }
  time.samples = static_cast<int>(samples);
  time.questions = static_cast<int>(questions);
  ASSIGN_OR_RETURN(time.seconds, ReadNumber(record, "seconds", 0, kMostSeconds));
  ASSIGN_OR_RETURN(time.least_seconds, ReadNumber(record, "least_seconds", 0, kMostSeconds));
  ASSIGN_OR_RETURN(time.most_seconds, ReadNumber(record, "most_seconds", time.least_seconds, kMostSeconds));
  ASSIGN_OR_RETURN(time.tokens, ReadNumber(record, "tokens", 0, kMostTokens));
  if (record.Has("other_cpus")) {
    ASSIGN_OR_RETURN(time.other_cpus, ReadNumber(record, "other_cpus", 0, kMostCpus));
  }
  ASSIGN_OR_RETURN(time.machine, record.String("machine"));
  return time;
}

}  // namespace

void WriteHostTime(const HostTime& time, JsonWriter& json) {
  json.Key("task").String(time.task).Key("samples").Int(time.samples).Key("beams").Bool(time.beams);
  if (time.beams) json.Key("scorer").String(time.scorer);
  json.Key("questions").Int(time.questions);
  json.Key("seconds").Double(time.seconds, kDigits).Key("least_seconds").Double(time.least_seconds, kDigits);
  json.Key("most_seconds").Double(time.most_seconds, kDigits).Key("tokens").Double(time.tokens, kDigits);
  if (time.other_cpus.has_value()) json.Key("other_cpus").Double(*time.other_cpus, kDigits);
  json.Key("machine").String(time.machine);
}

std::string MachineName(const Engine& engine) {
  const std::string& kernels = engine.options().compute.kernels;
  return absl::StrCat(ProcessorName(), ", ", engine.threads(), engine.threads() == 1 ? " thread, " : " threads, ",
                      kernels == "auto" ? KernelPathName(BestKernelPath()) : kernels);
}

absl::StatusOr<int64_t> WriteAlone(Engine& engine, const SampleProblem& question, SampleOptions options, bool warm_up) {
  constexpr int kWarmUpTokens = 4;
  options.together = options.samples;
  if (warm_up) options.max_tokens = kWarmUpTokens;
  int64_t tokens = 0;
  const auto has_none = [](absl::string_view, int) { return false; };
  const auto keep = [&](const Sample& sample) {
    tokens += sample.tokens;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(WriteSamples(engine, absl::MakeConstSpan(&question, 1), options, has_none, keep).status());
  return tokens;
}

absl::Status TimeQuestions(const Engine& engine, absl::Span<const SampleProblem> questions,
                           absl::FunctionRef<absl::StatusOr<int64_t>(const SampleProblem& question, bool warm_up)> write, HostTime& time) {
  RETURN_IF_ERROR(write(questions[0], /*warm_up=*/true).status());
  const std::optional<double> busy_before = BusySeconds();
  const double own_before = OwnSeconds();
  double seconds = 0;
  int64_t tokens = 0;
  for (size_t i = 0; i < questions.size(); ++i) {
    const int64_t begin_ns = RealClock().NowNanos();
    ASSIGN_OR_RETURN(const int64_t written, write(questions[i], /*warm_up=*/false));
    const double one = static_cast<double>(RealClock().NowNanos() - begin_ns) * 1e-9;
    time.least_seconds = i == 0 ? one : std::min(time.least_seconds, one);
    time.most_seconds = i == 0 ? one : std::max(time.most_seconds, one);
    seconds += one;
    tokens += written;
  }
  const double own = OwnSeconds() - own_before, count = static_cast<double>(questions.size());
  const std::optional<double> busy = BusySeconds();
  constexpr double kLeast = 0.5;   // Seconds; /proc/stat counts hundredths.
  if (busy.has_value() && busy_before.has_value() && seconds >= kLeast) {
    time.other_cpus = std::max(0.0, *busy - *busy_before - own) / seconds;
  }
  time.questions = static_cast<int>(questions.size());
  time.seconds = seconds / count;
  time.tokens = static_cast<double>(tokens) / count;
  time.machine = MachineName(engine);
  return absl::OkStatus();
}

absl::StatusOr<HostTimes> HostTimes::Read(const std::string& path, const std::string& machine) {
  HostTimes times(path);
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return times;
  const auto read = [&](const JsonValue& record, int) -> absl::Status {
    ASSIGN_OR_RETURN(HostTime time, TimeOf(record));
    if (!machine.empty() && time.machine != machine) return absl::OkStatus();
    if (time.beams && time.scorer.empty()) return absl::OkStatus();
    if (times.Find(time.task, time.samples, time.scorer) != nullptr) return record.Error("a time of these samples again", "each once");
    if (times.times_.size() == kMostTimes) return record.Error("another time", absl::StrCat("at most ", kMostTimes));
    times.times_.push_back(std::move(time));
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachRecord(path, read));
  return times;
}

const HostTime* HostTimes::Find(absl::string_view task, int samples, absl::string_view scorer) const {
  const auto found = std::find_if(times_.begin(), times_.end(), [&](const HostTime& time) {
    return time.task == task && time.samples == samples && time.scorer == scorer;
  });
  return found == times_.end() ? nullptr : &*found;
}

const HostTime* HostTimes::FindBeams(absl::string_view task, int samples, absl::string_view figure) const {
  const auto found = std::find_if(times_.rbegin(), times_.rend(), [&](const HostTime& time) {
    return time.beams && time.task == task && time.samples == samples && time.scorer.substr(0, time.scorer.find(' ')) == figure;
  });
  return found == times_.rend() ? nullptr : &*found;
}

absl::Status HostTimes::Add(const HostTime& time) {
  times_.push_back(time);
  std::string lines;
  for (const HostTime& one : times_) {
    JsonWriter json;
    WriteHostTime(one, json.BeginObject());
    json.EndObject();
    absl::StrAppend(&lines, std::move(json).Take(), "\n");
  }
  return WriteFileAtomically(path_, lines);
}

}  // namespace tessera
