// Runs the program that does the work of an old name.
//
//   int main(int, char** argv) { return tessera::Forward(argv, "tessera_bench", {"spec"}); }      // in old_names/spec_bench.cc
//
// Programs of old names are five lines each and go with the next release. The new program lies in the same folder.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <unistd.h>

namespace tessera {

inline void WriteLine(const std::string& line) {
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;   // Nobody reads it.
}

// Replaces this process by `program`, with the arguments `first` before those of `argv`, and says so on standard error. Returns 1 if the
// program cannot be run. REQUIRES: main calls it first.
inline int Forward(char** argv, const std::string& program, std::vector<std::string> first) {
  char own[4096];
  const ssize_t size = readlink("/proc/self/exe", own, sizeof(own));
  const std::string path = size > 0 ? std::string(own, static_cast<size_t>(size)) : std::string(argv[0] == nullptr ? "" : argv[0]);
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::string now = program;
  for (const std::string& word : first) now += " " + word;
  WriteLine(path.substr(folder.size()) + ": this is " + now + " now\n");
  std::vector<char*> arguments = {const_cast<char*>(program.c_str())};
  for (std::string& word : first) arguments.push_back(word.data());
  for (char** more = argv + (argv[0] != nullptr ? 1 : 0); *more != nullptr; ++more) arguments.push_back(*more);
  arguments.push_back(nullptr);
  execv((folder + program).c_str(), arguments.data());
  const std::string error = std::strerror(errno);
  WriteLine(path.substr(folder.size()) + ": " + folder + program + ": cannot run it: " + error + "; both lie in one folder\n");
  return 1;
}

}  // namespace tessera
