// What a child process may still do before it runs code that nobody has looked at: compute, read files of its own interpreter, and write to
// the pipes it was given.
//
//   ASSIGN_OR_RETURN(const Sandbox sandbox, Sandbox::Create({.folders = {"/usr/lib/python3.11"}, .programs = {"/usr/bin/python3.11"}}));
//   if (fork() == 0) {
//     if (const char* failed = sandbox.Enter()) _exit(127);
//     execve(...);
//   }
//
// A filter of system calls (seccomp) names those that are allowed; all others fail with EPERM. There are none among them that make a
// process or thread, a socket, a signal to others, or a change to a file system: files open for reading only. Where the system has
// Landlock, reading is limited to the given folders and files, too; where it has not, limits_reads() says so. The calls of execve stay,
// which the interpreter needs to be started: with Landlock only `programs` can be, without it any file that the user may run, under the
// same filter.
//
// The process keeps no capability in any set (effective, permitted, inheritable, ambient; bounding, if it could lower that), and can gain
// none by what it executes (no_new_privs).
//
// Not hidden: the time, the process's own id and user, what /proc or a path says without being opened (that a file is there, its size),
// and, without Landlock, whatever the user may read. Resources are not limited here (child_run.h). Thread-safe after Create.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera {

struct SandboxOptions {
  std::vector<std::string> folders = {};    // All that lies in them may be read.
  std::vector<std::string> programs = {};   // Files that may be read and run. What is not there is left out.
};

class Sandbox {
 public:
  // FailedPrecondition where the system has no such filters; the system's error for a folder that cannot be opened.
  static absl::StatusOr<Sandbox> Create(const SandboxOptions& options);
  Sandbox(Sandbox&& other) noexcept;
  ~Sandbox();

  // Whether reading is limited to what the options name.
  bool limits_reads() const;

  // Binds this process for good, and what it will execute. Null, or the name of the call that failed, with errno. Async-signal-safe.
  const char* Enter() const;

 private:
  struct State;
  explicit Sandbox(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tessera
