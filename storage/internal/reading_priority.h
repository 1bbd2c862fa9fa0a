// Sets whether a reading thread runs before computing threads or after them.
//
//   std::thread([] { RunBeforeOthers(); ReadAllDay(); });     // waits for a device, which should never wait for it
//   std::thread([] { RunAfterOthers(); CopyAllOfIt(); });     // computes itself, and what it does is needed later
//
// Both change the calling thread, for the rest of its life. Thread-safe.
#pragma once

namespace tessera {

// Sets the lowest real-time priority, where the system allows the change; else a high ordinary priority; else nothing changes. Among
// ordinary threads, a thread that wakes waits up to several milliseconds for a core, and the device waits, too. REQUIRES: the thread mostly
// waits.
void RunBeforeOthers();

// Sets a low ordinary priority: about a tenth of a core that others want, all of a core that is idle.
void RunAfterOthers();

}  // namespace tessera
