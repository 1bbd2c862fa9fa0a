// Makes a test do less under a sanitizer, where programs run several times slower and in terabytes of address space.
//
//   for (int seed = 0; seed < Fewer(/*cases=*/400, /*sanitized=*/40); ++seed) ...      // says so on stderr where it is 40
//   EXPECT_LT(CpuSeconds() - begin, TimeLimit(2.0));                                    // ten times as much there
//   if (kSanitized) GTEST_SKIP() << "limits the address space";
#pragma once

#include <cstdio>
#include <ctime>

namespace tessera {

#ifdef TESSERA_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kThreadSanitized = __has_feature(thread_sanitizer);
#else
inline constexpr bool kThreadSanitized = false;
#endif

inline int Fewer(int cases, int sanitized) {
  if (!kSanitized) return cases;
  std::fprintf(stderr, "under a sanitizer: %d cases of %d\n", sanitized, cases);
  return sanitized;
}

// Returns the CPU seconds of this process so far: other programs on the machine do not change this time.
inline double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

inline double TimeLimit(double seconds) { return kSanitized ? 10 * seconds : seconds; }

}  // namespace tessera
