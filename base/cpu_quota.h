// How many CPUs' time the system grants this process: a container with a quota may run on all CPUs of a machine, but not all the time.
//
//   const std::optional<double> quota = CpuQuota();          // 1.5: three milliseconds of CPU time in two; nullopt: no limit
//   const int threads = quota.has_value() ? ThreadsForQuota(*quota) : AvailableCpus();
//
// Control groups say it (Linux, both versions): the least of the quotas of the process's own group and those it lies in. Reads a few small
// files, so it is for the beginning of a program, not for each pass. Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "tessera/base/cpp20.h"

namespace tessera {

// proc, groups: where the system shows processes and control groups. What cannot be read, or makes no sense, is no limit.
std::optional<double> CpuQuota(const std::string& proc = "/proc", const std::string& groups = "/sys/fs/cgroup");

// Returns as many threads as the quota serves all the time: its whole CPUs, 7 for 7.65, at least 1. One more would use up the time of all
// before a period ends, and all would stand still until the next. REQUIRES: quota > 0.
int ThreadsForQuota(double quota);

}  // namespace tessera
