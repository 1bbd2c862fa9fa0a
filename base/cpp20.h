// Says in one sentence that C++20 is missing, where a compiler would otherwise print many errors of code that it cannot read.
//
//   #include "tessera/base/cpp20.h"     // g++ -std=c++17: error: #error The headers of Tessera need C++20: compile with ...
//
// Every installed header includes this one, itself or by way of another; scripts/checks/check_libraries.py looks for that.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "The headers of Tessera need C++20: compile with -std=c++20 or later (in CMake: target_compile_features(TARGET PUBLIC cxx_std_20))"
#endif
