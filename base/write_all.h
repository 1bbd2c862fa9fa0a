// Writes all bytes to an open file, however many calls that takes.
//
//   if (const int error = WriteAll(STDERR_FILENO, "ready\n"); error != 0) std::abort();
//
// A file that cannot take bytes now (a full pipe that does not block its writer) is waited for. A reader that has gone is EPIPE only where
// SIGPIPE is ignored; else the signal comes. Thread-safe; texts of two threads may mix.
#pragma once

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// 0, or the system's error (errno) that stopped it.
int WriteAll(int descriptor, absl::string_view bytes);

}  // namespace tessera
