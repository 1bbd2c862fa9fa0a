// A program that a model wrote, and the program's tests, for a CodeChecker (code_checker.h).
//
//   const CodeTrial trial = {.program = "def f(x):\n  return x\n", .tests = "assert f(1) == 1\n", .tested = {"f"}};
//
// Values: any threads.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace tessera {

struct CodeTrial {
  std::string program = {};                // The only untrusted part.
  std::string before = {};                 // Statements that the tests need, such as imports. Run with the tests alone.
  std::string tests = {};                  // Statements that raise an error if the program is wrong.
  std::vector<std::string> tested = {};    // Names that the tests take from the program, even where Python has such a name.
  friend auto operator<=>(const CodeTrial&, const CodeTrial&) = default;
};

}  // namespace tessera
