// The CPU time that the system grants this process. A container with a quota may run on all CPUs of a machine, but not all the time.
//
//   const std::optional<double> quota = CpuQuota();          // 1.5: three milliseconds of CPU time in two; nullopt: no limit
//   const int threads = quota.has_value() ? ThreadsForQuota(*quota) : AvailableCpus();
//
// The source is control groups (Linux, both versions): the least quota of the process's own group and the groups around that group. Reads a
// few small files, so call CpuQuota at the start of a program, not in each pass. Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "tessera/base/cpp20.h"

namespace tessera {

// Returns the quota in CPUs, or nullopt without a limit. proc, groups: the system's folders of processes and control groups. A file that is
// unreadable, or makes no sense, is no limit.
std::optional<double> CpuQuota(const std::string& proc = "/proc", const std::string& groups = "/sys/fs/cgroup");

// Returns the number of threads that the quota serves all the time: the quota's whole CPUs, 7 for 7.65, at least 1. One more thread would
// exhaust the time of all threads before a period ends; all threads would then stand still until the next period. REQUIRES: quota > 0.
int ThreadsForQuota(double quota);

}  // namespace tessera
