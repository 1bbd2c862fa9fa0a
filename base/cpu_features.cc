#include "tessera/base/cpu_features.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tessera/base/quoted.h"
#include "tessera/base/usage_error.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace tessera {
namespace {

// For each processor the slowest path first.
constexpr struct { KernelPath path; absl::string_view name; } kAllPaths[] = {
    {KernelPath::kPortable, "portable"},
    {KernelPath::kAvx2, "avx2"},
    {KernelPath::kAvx512Vnni, "avx512"},
    {KernelPath::kNeon, "neon"},
};

#if defined(__x86_64__)
// Checks F16C: leaf 1, ECX, bit 29, since not every compiler knows the feature's name. F16C uses AVX's registers, which a built-in checks.
// Call HasF16c once: on a virtual machine the host answers, which is slow.
bool HasF16c() {
  unsigned eax, ebx, ecx = 0, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> 29 & 1) != 0;
}
#endif

// Everything for which the path's files are compiled (cmake/TesseraKernels.cmake) must be there, in the CPU and in the state that the
// system saves.
bool CpuSupports(KernelPath path) {
  if (path == KernelPath::kPortable) return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  static const bool f16c = HasF16c();
  const bool avx2 = f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (path == KernelPath::kAvx2) return avx2;
  if (path == KernelPath::kAvx512Vnni) {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
  }
#elif defined(__aarch64__)
  // Dot products, and the parts of armv8.2-a beyond the baseline that a compiler may use by itself.
  constexpr unsigned long kNeeded = HWCAP_ASIMDDP | HWCAP_ATOMICS | HWCAP_ASIMDRDM | HWCAP_CRC32;
  if (path == KernelPath::kNeon) return (getauxval(AT_HWCAP) & kNeeded) == kNeeded;
#endif
  return false;
}

std::string SupportedNames() {
  return absl::StrJoin(SupportedKernelPaths(), ", ",
                       [](std::string* out, KernelPath path) { absl::StrAppend(out, KernelPathName(path)); });
}

}  // namespace

absl::string_view KernelPathName(KernelPath path) {
  for (const auto& known : kAllPaths) {
    if (known.path == path) return known.name;
  }
  return "unknown";
}

absl::StatusOr<KernelPath> KernelPathFromName(absl::string_view name) {
  if (name == "auto") return BestKernelPath();
  for (const auto& known : kAllPaths) {
    if (name != known.name) continue;
    if (CpuSupports(known.path)) return known.path;
    return absl::FailedPreconditionError(
        absl::StrCat("kernel path \"", name, "\": this CPU lacks it, expected one of auto, ", SupportedNames()));
  }
  return WrongUsage("kernels", Quoted(name), absl::StrCat("one of auto, ", SupportedNames()));
}

std::vector<KernelPath> SupportedKernelPaths() {
  std::vector<KernelPath> paths;
  for (const auto& known : kAllPaths) {
    if (CpuSupports(known.path)) paths.push_back(known.path);
  }
  return paths;
}

KernelPath BestKernelPath() { return SupportedKernelPaths().back(); }

}  // namespace tessera
