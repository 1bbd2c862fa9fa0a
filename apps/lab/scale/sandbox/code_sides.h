// The two Python programs of a CodeChecker (code_checker.h): one runs the program under test and gives values, the other runs the tests and
// decides.
//
//   const std::string code = absl::StrCat(kBothSides, kTestsSide);              // python3 -c code
//
// The programs talk in messages: the length in 8 hexadecimal digits, then as many bytes of JSON. A value is null, true, false or a string,
// or a list with a letter: ["i", "-ff"] an int, ["f", "0x1.8p+0"] a float, ["c", re, im], ["b", "00ff"] bytes, ["l", ...] a list, and so on
// for tuples (t), sets (s), frozen sets (z) and dicts (d: key, value, ...). ["h", "0", type] is an object of the program, which stays in
// the program's process. The tests can also name one of Python's own objects: ["y", "int"]. Thread-safe (constant data).
#pragma once

namespace tessera {

extern const char kBothSides[];      // Values to messages and back.
extern const char kProgramSide[];    // Standard input: the program.
extern const char kTestsSide[];      // Standard input: an object of "before", "tests" and "tested".

}  // namespace tessera
