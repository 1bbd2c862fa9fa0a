#include "tessera/base/processor_cores.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

constexpr int64_t kMostFileBytes = 1 << 16;
constexpr int64_t kMostSpeed = int64_t{1} << 40;   // A thousand times any frequency in kHz, and small enough to be multiplied.

std::string ReadIfThere(const std::string& path) { return ReadFileToString(path, kMostFileBytes).value_or(""); }

bool ReadCpu(absl::string_view text, int& cpu) { return absl::SimpleAtoi(text, &cpu) && cpu >= 0 && cpu < CPU_SETSIZE; }

// "0-3,8,10-11". Empty if any part of the text is something else.
CpuSet ReadCpus(const std::string& path) {
  const std::string text = ReadIfThere(path);
  CpuSet cpus;
  for (const absl::string_view part : absl::StrSplit(absl::StripAsciiWhitespace(text), ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, '-');
    int first = 0, last = 0;
    if (ends.size() > 2 || !ReadCpu(ends.front(), first) || !ReadCpu(ends.back(), last) || first > last) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.set(static_cast<size_t>(cpu));
  }
  return cpus;
}

// Returns 0 if there is no such file, or no possible speed of a CPU in the file.
int64_t ReadSpeed(const std::string& path) {
  int64_t speed = 0;
  const bool is_read = absl::SimpleAtoi(absl::StripAsciiWhitespace(ReadIfThere(path)), &speed);
  return is_read && speed > 0 && speed <= kMostSpeed ? speed : 0;
}

// Returns the CPUs of `allowed` whose speed is at least numerator / denominator of the highest. Returns all if the speed of any CPU is
// unknown.
template <typename SpeedOf>
CpuSet FastBy(const CpuSet& allowed, const SpeedOf& speed_of, int64_t numerator, int64_t denominator) {
  int64_t highest = 0;
  for (size_t cpu = 0; cpu < allowed.size(); ++cpu) {
    if (allowed[cpu]) highest = std::max<int64_t>(highest, speed_of(cpu));
  }
  CpuSet fast;
  for (size_t cpu = 0; cpu < allowed.size(); ++cpu) {
    if (!allowed[cpu]) continue;
    if (speed_of(cpu) == 0) return allowed;
    fast.set(cpu, speed_of(cpu) * denominator >= highest * numerator);
  }
  return fast;
}

}  // namespace

CpuSet CpusOfThread() {
  cpu_set_t set;
  const bool is_told = sched_getaffinity(0, sizeof(set), &set) == 0;
  const int count = is_told ? 0 : std::min(AvailableCpus(), CPU_SETSIZE);
  CpuSet cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) cpus.set(static_cast<size_t>(cpu), is_told ? CPU_ISSET(cpu, &set) : cpu < count);
  return cpus;
}

ProcessorCores::ProcessorCores() : cpus_(CPU_SETSIZE) {
  for (size_t cpu = 0; cpu < cpus_.size(); ++cpu) cpus_[cpu].core = cpu;
}

ProcessorCores ProcessorCores::Read(const std::string& devices) {
  ProcessorCores cores;
  const std::string folder = absl::StrCat(devices, "/system/cpu");
  const CpuSet there = ReadCpus(folder + "/possible");
  std::vector<CpuSet> siblings(there.size());   // Each CPU's own list.
  for (size_t cpu = 0; cpu < there.size(); ++cpu) {
    if (!there[cpu]) continue;
    const std::string of_cpu = absl::StrCat(folder, "/cpu", cpu);
    siblings[cpu] = ReadCpus(of_cpu + "/topology/core_cpus_list");
    if (siblings[cpu].none()) siblings[cpu] = ReadCpus(of_cpu + "/topology/thread_siblings_list");   // The name before Linux 5.3.
    cores.cpus_[cpu].capacity = ReadSpeed(of_cpu + "/cpu_capacity");
    cores.cpus_[cpu].frequency = ReadSpeed(of_cpu + "/cpufreq/cpuinfo_max_freq");
    for (size_t first = 0; first < cpu; ++first) {   // CPUs are of one core if each names the other.
      if (siblings[cpu][first] && siblings[first][cpu]) cores.cpus_[cpu].core = std::min(cores.cpus_[cpu].core, first);
    }
  }
  if (ReadCpus(devices + "/cpu_atom/cpus").any()) cores.performance_ = ReadCpus(devices + "/cpu_core/cpus");
  return cores;
}

CpuSet ProcessorCores::FastOf(const CpuSet& allowed) const {
  const CpuSet performance = allowed & performance_;
  if (performance.any() && performance != allowed) return performance;
  const CpuSet large = FastBy(allowed, [this](size_t cpu) { return cpus_[cpu].capacity; }, 1, 2);
  if (large != allowed) return large;
  return FastBy(allowed, [this](size_t cpu) { return cpus_[cpu].frequency; }, 3, 4);
}

int ProcessorCores::FastCores(const CpuSet& allowed) const {
  const CpuSet fast = FastOf(allowed);
  CpuSet cores;
  for (size_t cpu = 0; cpu < fast.size(); ++cpu) {
    if (fast[cpu]) cores.set(cpus_[cpu].core);
  }
  return std::max(1, static_cast<int>(cores.count()));
}

}  // namespace tessera
