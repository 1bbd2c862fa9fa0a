// Whether a thread that reads runs before those that compute or after them.
//
//   std::thread([] { RunBeforeOthers(); ReadAllDay(); });     // waits for a device, which should never wait for it
//   std::thread([] { RunAfterOthers(); CopyAllOfIt(); });     // computes itself, and what it does is needed later
//
// Both are for the calling thread, for the rest of its life. Thread-safe.
#pragma once

namespace tessera {

// Real-time, of the least priority, where the system allows that; else a high ordinary priority; else nothing changes. Among ordinary
// threads the one that wakes waits up to several milliseconds for a core, and the device with it. REQUIRES: the thread mostly waits.
void RunBeforeOthers();

// A low ordinary priority: about a tenth of a core that others want, all of one that nobody does.
void RunAfterOthers();

}  // namespace tessera
