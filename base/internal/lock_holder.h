// The process that holds the lock (flock) on a file that this process could not lock, for errors that name the holder.
//
//   OtherHolderOf(descriptor).value_or("another process");   // "process 1234 (tessera_generate)"
//
// Thread-safe.
#pragma once

#include <optional>
#include <string>

namespace tessera {

// Returns the process that holds a lock on the open file, with its name if the system tells. Nullopt: the holder is this process, or the
// system does not tell, as for processes of other machines and containers.
std::optional<std::string> OtherHolderOf(int descriptor);

}  // namespace tessera
