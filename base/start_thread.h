// Starts a thread, or returns an error if the system has none to give (memory, a limit on processes). std::thread would throw an exception.
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

// ResourceExhausted, with the system's message, if no thread can be started.
absl::StatusOr<std::thread> StartThread(std::function<void()> body);

}  // namespace tessera
