// Flags of a program that a test runs, and more behind them.
//
//   const Ended ended = RunProgram("tessera_generate", Flags{"--model=" + path} + Flags{"--n_predict=2"});
#pragma once

#include <string>
#include <vector>

namespace tessera {

using Flags = std::vector<std::string>;

inline Flags operator+(Flags flags, const Flags& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

}  // namespace tessera
