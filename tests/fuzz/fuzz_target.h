// What a fuzz target is: two functions that one file, X_fuzz.cc, defines for one kind of input.
//
//   absl::Status RunInput(absl::Span<const std::byte> input) { return GgufFile::Parse(input, "input").status(); }
//   std::vector<FuzzSeed> Seeds() { return {{"empty", ""}, {"small", Small().Build()}}; }
//
// Each is built as tessera_replay_X, by any compiler, which runs the seeds and the files of tests/fuzz/corpus/X and is a test; and
// in the build type AddressSanitizer as tessera_fuzz_X, too, which changes them at random for as long as one likes.
// docs/fuzzing.md tells how to run both.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace tessera {

// OK if the input is what the target reads, else the words it was refused with. A broken promise is a CHECK failure. The same input
// does the same each time. One thread.
absl::Status RunInput(absl::Span<const std::byte> input);

struct FuzzSeed {
  std::string name;   // Fit for a file's name.
  std::string bytes;
};
std::vector<FuzzSeed> Seeds();

}  // namespace tessera
