// Which CPUs are worth a thread each: one of each physical core, and where cores differ in speed, one of each fast core.
//
//   const ProcessorCores cores = ProcessorCores::Read();            // once: a few small files for each CPU
//   const int threads = cores.FastCores(CpusOfThread());            // 8 of 24 on 8 fast cores with two CPUs each and 8 slow ones
//
// Two CPUs of one core share its units, which one thread of a product fills. Work is shared out evenly, so a slow core makes all
// others wait for it. A file that is missing, or makes no sense, takes no CPU away: a machine that says nothing
// has one core for each CPU. Thread-safe.
#pragma once

#include <sched.h>

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/cpp20.h"

namespace tessera {

using CpuSet = std::bitset<CPU_SETSIZE>;   // By the numbers of CPUs. CPUs beyond are not told apart.

// Returns the CPUs that the calling thread may run on. Where the system does not tell them: the first AvailableCpus().
CpuSet CpusOfThread();

class ProcessorCores {
 public:
  // devices: the folder in which Linux describes CPUs.
  static ProcessorCores Read(const std::string& devices = "/sys/devices");

  // Returns the number of fast cores that have a CPU in `allowed`, at least 1. A core is fast if it is one of the kind for performance, or
  // has at least half the capacity of the largest, or three quarters of the highest frequency: the first of these that the system tells of
  // all allowed CPUs and that sets some of them apart.
  int FastCores(const CpuSet& allowed) const;

 private:
  struct Cpu {
    size_t core = 0;         // The first CPU of its core.
    int64_t capacity = 0;    // 0, here and below: not told.
    int64_t frequency = 0;   // Most, in kHz.
  };

  ProcessorCores();          // Nothing is told.
  CpuSet FastOf(const CpuSet& allowed) const;

  std::vector<Cpu> cpus_;
  CpuSet performance_;       // CPUs of the kind for performance, where there is another kind, too.
};

}  // namespace tessera
