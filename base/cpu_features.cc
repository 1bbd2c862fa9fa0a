#include "tessera/base/cpu_features.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tessera {
namespace {

constexpr KernelPath kAllPaths[] = {KernelPath::kPortable, KernelPath::kAvx2, KernelPath::kAvx512Vnni};  // Slowest first.

// What the path's files are compiled for (cmake/TesseraLayer.cmake) must all be there, in the CPU and in the system's saved state.
bool CpuSupports(KernelPath path) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // Not every compiler knows the name f16c: leaf 1, ECX, bit 29. Its registers are AVX's, which the built-in checks.
  unsigned eax, ebx, ecx = 0, edx;
  const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> 29 & 1) != 0;
  const bool avx2 = f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  switch (path) {
    case KernelPath::kPortable: return true;
    case KernelPath::kAvx2: return avx2;
    case KernelPath::kAvx512Vnni:
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
  }
#endif
  return path == KernelPath::kPortable;
}

std::string SupportedNames() {
  return absl::StrJoin(SupportedKernelPaths(), ", ",
                       [](std::string* out, KernelPath path) { absl::StrAppend(out, KernelPathName(path)); });
}

}  // namespace

absl::string_view KernelPathName(KernelPath path) {
  switch (path) {
    case KernelPath::kPortable: return "portable";
    case KernelPath::kAvx2: return "avx2";
    case KernelPath::kAvx512Vnni: return "avx512";
  }
  return "unknown";
}

absl::StatusOr<KernelPath> KernelPathFromName(absl::string_view name) {
  if (name == "auto") return BestKernelPath();
  for (KernelPath path : kAllPaths) {
    if (name != KernelPathName(path)) continue;
    if (CpuSupports(path)) return path;
    return absl::FailedPreconditionError(
        absl::StrCat("kernel path \"", name, "\": this CPU lacks it, expected one of auto, ", SupportedNames()));
  }
  return absl::InvalidArgumentError(absl::StrCat("kernel path: found \"", name, "\", expected one of auto, ", SupportedNames()));
}

std::vector<KernelPath> SupportedKernelPaths() {
  std::vector<KernelPath> paths;
  for (KernelPath path : kAllPaths) {
    if (CpuSupports(path)) paths.push_back(path);
  }
  return paths;
}

KernelPath BestKernelPath() { return SupportedKernelPaths().back(); }

}  // namespace tessera
