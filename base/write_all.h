// Writes all bytes to an open file, with as many calls as necessary.
//
//   if (const int error = WriteAll(STDERR_FILENO, "ready\n"); error != 0) std::abort();
//
// Waits for a file that cannot take bytes now (a full pipe that does not block its writer). A reader that has gone is EPIPE only if SIGPIPE
// is ignored; else the signal comes. Thread-safe; texts of two threads may mix.
#pragma once

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns 0, or the system's error (errno) that stopped the writing.
int WriteAll(int descriptor, absl::string_view bytes);

}  // namespace tessera
