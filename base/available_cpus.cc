#include "tessera/base/available_cpus.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"

namespace tessera {

int AvailableCpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));  // There are more CPUs than the set has room for.
}

absl::StatusOr<CpuLimit> CpuLimit::Create(int cpus) {
  cpu_set_t before, first;
  if (sched_getaffinity(0, sizeof(before), &before) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("CPUs that may be used: ", std::strerror(errno)));
  }
  CPU_ZERO(&first);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&first) < cpus; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &first);
  }
  if (CPU_COUNT(&first) < cpus) {
    return absl::FailedPreconditionError(
        absl::StrCat("CPUs that may be used: found ", CPU_COUNT(&first), ", expected ", cpus, " or more"));
  }
  if (sched_setaffinity(0, sizeof(first), &first) != 0) {
    return absl::FailedPreconditionError(absl::StrCat("limit of ", cpus, " CPUs: ", std::strerror(errno)));
  }
  return CpuLimit(before);
}

CpuLimit::~CpuLimit() {
  if (before_ != nullptr) sched_setaffinity(0, sizeof(*before_), before_.get());
}

}  // namespace tessera
