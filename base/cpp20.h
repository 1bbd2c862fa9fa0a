// Reports in one sentence that C++20 is missing. Otherwise a compiler would print many errors about code that the compiler cannot read.
//
//   #include "tessera/base/cpp20.h"     // g++ -std=c++17: error: #error The headers of Tessera need C++20: compile with ...
//
// Every installed header includes this header, directly or indirectly; scripts/checks/check_libraries.py checks the includes.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "The headers of Tessera need C++20: compile with -std=c++20 or later (in CMake: target_compile_features(TARGET PUBLIC cxx_std_20))"
#endif
