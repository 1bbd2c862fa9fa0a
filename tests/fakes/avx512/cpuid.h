// Replaces the compiler's own header where AVX-512 is emulated (cmake/TesseraKernels.cmake): base/cpu_features.cc finds AVX-512 on every
// CPU.
#pragma once

#include_next <cpuid.h>

#define __builtin_cpu_supports(name) (__builtin_strncmp(name, "avx512", 6) == 0 || __builtin_cpu_supports(name))
