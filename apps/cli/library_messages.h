// What libraries say on their own (glog, Protocol Buffers) appears as a program's own messages do: its name, "warning", one line, and no
// control characters.
//
//   ShowLibraryMessages("tessera_generate");
//   LOG(WARNING) << "slow";                                           // tessera_generate: warning: slow
//
// Threads: called once, before others are started; messages may come from any.
#pragma once

#include <string>

namespace tessera {

void ShowLibraryMessages(const std::string& program);

}  // namespace tessera
