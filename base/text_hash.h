// Hashes and compares text, so that a header can hold a std::unordered_map of names, and lookups copy no text.
//
//   std::unordered_map<std::string, size_t, TextHash, TextEqual> places;
//   places.emplace("token_embd.weight", 0);
//   places.find(absl::string_view("token_embd.weight"));      // found; no std::string was made
//
// absl::flat_hash_map is faster, but its header brings many more lines (scripts/checks/check_headers.py counts lines). So public headers
// use this hash, and .cc files use absl's map. The hash is Abseil's, seeded per process, so no file can choose names that collide.
// Thread-safe.
#pragma once

#include <cstddef>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct TextHash {
  using is_transparent = void;
  // Returns Abseil's hash of the text. The value differs from run to run.
  size_t operator()(absl::string_view text) const;
};

struct TextEqual {
  using is_transparent = void;
  bool operator()(absl::string_view a, absl::string_view b) const { return a == b; }
};

}  // namespace tessera
