// Restricts a child process before untrusted code runs. The process may still compute, read files of the interpreter, and write to the
// given pipes.
//
//   ASSIGN_OR_RETURN(const Sandbox sandbox, Sandbox::Create({.folders = {"/usr/lib/python3.11"}, .programs = {"/usr/bin/python3.11"}}));
//   if (fork() == 0) {
//     if (const char* failed = sandbox.Enter()) _exit(127);
//     execve(...);
//   }
//
// A filter of system calls (seccomp) names the allowed calls; all others fail with EPERM. No allowed call makes a process, a thread or a
// socket, sends a signal to others, or changes a file system. Files open for reading only. If the system has Landlock, reading is limited
// to the given folders and files, too; else limits_reads() is false. The calls of execve stay allowed, since starting the interpreter needs
// execve. With Landlock only `programs` can be run; without Landlock any file that the user may run, under the same filter.
//
// The process keeps no capability in any set (effective, permitted, inheritable, ambient; bounding, if the process could lower that set).
// Executing a file cannot add capabilities (no_new_privs).
//
// Not hidden are the time, the process's own id and user, and facts that /proc or a path gives without being opened (existence and size of
// a file). Without Landlock, all files that the user may read are not hidden either. Resources are not limited here (child_run.h).
// Thread-safe after Create.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera {

struct SandboxOptions {
  std::vector<std::string> folders = {};    // All files in the folders may be read.
  std::vector<std::string> programs = {};   // Files that may be read and run. Missing files are left out.
};

class Sandbox {
 public:
  // Creates a sandbox. FailedPrecondition if the system has no such filters; the system's error for a folder that cannot be opened.
  static absl::StatusOr<Sandbox> Create(const SandboxOptions& options);
  Sandbox(Sandbox&& other) noexcept;
  ~Sandbox();

  // Whether reading is limited to the options' folders and programs.
  bool limits_reads() const;

  // Restricts this process for good, and all programs that the process will execute. Returns null, or the name of the call that failed,
  // with errno. Async-signal-safe.
  const char* Enter() const;

 private:
  struct State;
  explicit Sandbox(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tessera
