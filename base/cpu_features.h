// The families of kernels, the families that this CPU supports, and a name for each family.
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

// Returns the path for a name above, or BestKernelPath for "auto". WrongUsage (kernels) lists the names that this CPU supports.
// FailedPrecondition if the CPU lacks an instruction set of the path.
absl::StatusOr<KernelPath> KernelPathFromName(absl::string_view name);

// Returns the supported paths, slowest first; kPortable is always included.
std::vector<KernelPath> SupportedKernelPaths();
KernelPath BestKernelPath();

}  // namespace tessera
