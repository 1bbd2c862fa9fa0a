// Shows messages of libraries (glog, Protocol Buffers) in the form of a program's own messages: the program's name, "warning", one line,
// and no control characters.
//
//   ShowLibraryMessages("tessera_generate");
//   LOG(WARNING) << "slow";                                           // tessera_generate: warning: slow
//
// Threads: called once, before other threads are started; messages may come from any thread.
#pragma once

#include <string>

namespace tessera {

void ShowLibraryMessages(const std::string& program);

}  // namespace tessera
