// Turns the standard library's exception for memory that ended into a Status, at the border of a library.
//
//   absl::StatusOr<Model> Open(const std::string& path) {
//     return OrOutOfMemory([&] { return OpenUnguarded(path); });   // ResourceExhausted "out of memory"
//   }
//
// What was under way is undone by its destructors. Thread-safe (no state).
#pragma once

#include <new>

#include "absl/status/status.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// body: a Status or a StatusOr, which is returned.
template <typename Body>
auto OrOutOfMemory(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory");
  }
}

}  // namespace tessera
