// Which family of kernels runs: what this CPU can do, and a name for each choice.
//
//   KernelPath path = BestKernelPath();                       // what the CPU runs fastest
//   ASSIGN_OR_RETURN(path, KernelPathFromName("avx2"));       // what a flag asks for
//   for (KernelPath path : SupportedKernelPaths()) Test(path);
//
// All paths give the same bits (docs/numerics.md); they differ in speed alone. Thread-safe.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

enum class KernelPath { kPortable, kAvx2, kAvx512Vnni, kNeon };

// "portable", "avx2", "avx512", "neon".
absl::string_view KernelPathName(KernelPath path);

// Accepts the names above and "auto" (BestKernelPath). WrongUsage (kernels) lists the names this CPU supports;
// FailedPrecondition if the CPU lacks an instruction set the path needs.
absl::StatusOr<KernelPath> KernelPathFromName(absl::string_view name);

// Slowest first; kPortable is always there.
std::vector<KernelPath> SupportedKernelPaths();
KernelPath BestKernelPath();

}  // namespace tessera
