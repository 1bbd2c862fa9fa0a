// Lets a thread that reads run as soon as what it waits for has come, however busy threads that compute keep all cores.
//
//   std::thread([] { RunBeforeOthers(); ReadAllDay(); });
//
// Thread-safe.
#pragma once

namespace tessera {

// Real-time, of the least priority, where the system allows that; else a high ordinary priority; else nothing changes. Among ordinary
// threads the one that wakes waits up to several milliseconds for a core, and the device with it. REQUIRES: the thread mostly waits.
void RunBeforeOthers();

}  // namespace tessera
