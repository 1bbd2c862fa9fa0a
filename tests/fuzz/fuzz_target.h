// A fuzz target: two functions that one file, X_fuzz.cc, defines for one kind of input.
//
//   absl::Status RunInput(absl::Span<const std::byte> input) { return GgufFile::Parse(input, "input").status(); }
//   std::vector<FuzzSeed> Seeds() { return {{"empty", ""}, {"small", Small().Build()}}; }
//
// Each target is built as tessera_replay_X, by any compiler. This program is a test, and runs the seeds and the files of
// tests/fuzz/corpus/X. In the build type AddressSanitizer, the target is also built as tessera_fuzz_X, which changes seeds and files at
// random without a time limit. docs/fuzzing.md explains how to run both.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace tessera {

// Returns OK if the input is valid, else the error that refuses the input. A broken promise is a CHECK failure. The same input does the
// same each time. One thread.
absl::Status RunInput(absl::Span<const std::byte> input);

struct FuzzSeed {
  std::string name;   // Fit for a file's name.
  std::string bytes;
};
std::vector<FuzzSeed> Seeds();

}  // namespace tessera
