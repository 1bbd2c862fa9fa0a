// Starts a thread, or says that the system has none to give (memory, a limit on processes), which std::thread says by an exception.
//
//   ASSIGN_OR_RETURN(std::thread thread, StartThread([&] { sum = Sum(numbers); }));
//   thread.join();
//
// Thread-safe.
#pragma once

#include <functional>
#include <thread>

#include "absl/status/statusor.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// ResourceExhausted, with what the system said.
absl::StatusOr<std::thread> StartThread(std::function<void()> body);

}  // namespace tessera
