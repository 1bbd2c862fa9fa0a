// How fast a flash device reads: a phone's, from a file, or this machine's, as flash_probe.h measured it.
//
//   ASSIGN_OR_RETURN(FlashProfile flash, LoadFlashProfile("ufs4.0"));              // a name, or a file's path
//   double speed = flash.BytesPerSecond(/*block_bytes=*/1 << 20, /*depth=*/4);
//
// Between the numbers that a profile has: at a depth, those of the largest depth not above it (or the least there is) count;
// between two sizes of blocks the speed goes evenly with the logarithm of the size, beyond the smallest and largest it stays.
// Files are protobuf text (flash_profile.proto) and hostile until checked. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct FlashProfile {
  struct Speed {
    int64_t block_bytes = 0;
    int depth = 0;
    double bytes_per_second = 0;
  };

  std::string name = {};
  std::vector<Speed> speeds = {};  // By depth, then by size. Not empty.
  int64_t latency_nanos = 0;  // A small read's, nothing else in flight; 0 if it was not measured.

  double BytesPerSecond(int64_t block_bytes, int depth) const;
  const Speed& Best() const;  // The fastest; of several as fast, the one of least depth, then size.
};

std::vector<std::string> FlashProfileNames();  // The built-in ones: "ufs3.1", "ufs4.0", ...

// InvalidArgument (source, line or field, found, expected) if the text is no profile.
absl::StatusOr<FlashProfile> ParseFlashProfile(absl::string_view text, absl::string_view source);

// A built-in one by its name, else a file. NotFound names those built in.
absl::StatusOr<FlashProfile> LoadFlashProfile(const std::string& name_or_path);

}  // namespace tessera
