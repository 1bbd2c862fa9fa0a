// The read speed of a flash device: a phone's, from a file, or this machine's, as measured by flash_probe.h.
//
//   ASSIGN_OR_RETURN(FlashProfile flash, LoadFlashProfile("ufs4.0"));              // a name, or a file's path
//   double speed = flash.BytesPerSecond(/*block_bytes=*/1 << 20, /*depth=*/4);
//
// Speeds between a profile's numbers: a depth takes the speeds of the largest depth not above it (or of the least depth there is). Between
// two block sizes the speed is linear in the logarithm of the size. Below the smallest and above the largest size the speed stays the same.
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
  int64_t latency_nanos = 0;  // A small read's, nothing else in flight; 0 if not measured.

  double BytesPerSecond(int64_t block_bytes, int depth) const;
  const Speed& Best() const;  // The fastest; of several as fast, the one of least depth, then size.
};

std::vector<std::string> FlashProfileNames();  // The built-in ones: "ufs3.1", "ufs4.0", ...

// Parses a profile. InvalidArgument (source, line or field, found, expected) if the text is no profile.
absl::StatusOr<FlashProfile> ParseFlashProfile(absl::string_view text, absl::string_view source);

// Loads a built-in profile by its name, else a file. NotFound names the built-in profiles.
absl::StatusOr<FlashProfile> LoadFlashProfile(const std::string& name_or_path);

}  // namespace tessera
