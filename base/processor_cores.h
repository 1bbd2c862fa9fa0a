// The CPUs that are worth a thread each: one per physical core, and if cores differ in speed, one per fast core.
//
//   const ProcessorCores cores = ProcessorCores::Read();            // once: a few small files for each CPU
//   const int threads = cores.FastCores(CpusOfThread());            // 8 of 24 on 8 fast cores with two CPUs each and 8 slow ones
//
// Two CPUs of one core share units, which one thread of a product fills. Work is divided evenly, so a slow core makes all others wait. A
// file that is missing, or makes no sense, excludes no CPU: a machine without such files has one core for each CPU. Thread-safe.
#pragma once

#include <sched.h>

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/cpp20.h"

namespace tessera {

using CpuSet = std::bitset<CPU_SETSIZE>;   // Indexed by CPU number. CPUs beyond CPU_SETSIZE are not told apart.

// Returns the CPUs that the calling thread may run on. If the system does not tell: the first AvailableCpus().
CpuSet CpusOfThread();

class ProcessorCores {
 public:
  // Reads the cores. devices: the folder with Linux's description of CPUs.
  static ProcessorCores Read(const std::string& devices = "/sys/devices");

  // Returns the number of fast cores that have a CPU in `allowed`, at least 1. A core is fast by the first of three criteria that the
  // system tells for all allowed CPUs and that sets some CPUs apart. The criteria: a core of the performance kind; at least half the
  // capacity of the largest core; at least three quarters of the highest frequency.
  int FastCores(const CpuSet& allowed) const;

 private:
  struct Cpu {
    size_t core = 0;         // The first CPU of the same core.
    int64_t capacity = 0;    // 0: not known, as for frequency.
    int64_t frequency = 0;   // Highest, in kHz.
  };

  ProcessorCores();          // All values unknown.
  CpuSet FastOf(const CpuSet& allowed) const;

  std::vector<Cpu> cpus_;
  CpuSet performance_;       // CPUs of the performance kind, if there is another kind, too.
};

}  // namespace tessera
