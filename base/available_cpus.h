// The number of CPUs that the calling thread may run on: in a container, or under taskset, fewer than the machine has.
//
//   ThreadPool pool(AvailableCpus());
//   ASSIGN_OR_RETURN(const CpuLimit limit, CpuLimit::Create(2));   // benchmarks and tests: two of them, to the end of the block
//
// A call costs a system call of well under a microsecond. Other programs may change the answer at any time. Thread-safe.
#pragma once

#include <sched.h>

#include <memory>

#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"

namespace tessera {

int AvailableCpus();  // At least 1.

// Keeps a thread, and the threads started meanwhile, on the first of the allowed CPUs.
// REQUIRES: a CpuLimit ends on the thread that created the limit.
class CpuLimit {
 public:
  // Limits the calling thread to `cpus` CPUs. FailedPrecondition (found, expected) if there are fewer CPUs, or the system does not allow
  // the limit.
  static absl::StatusOr<CpuLimit> Create(int cpus);
  ~CpuLimit();
  CpuLimit(CpuLimit&&) = default;

 private:
  explicit CpuLimit(const cpu_set_t& before) : before_(std::make_unique<cpu_set_t>(before)) {}

  std::unique_ptr<cpu_set_t> before_;
};

}  // namespace tessera
