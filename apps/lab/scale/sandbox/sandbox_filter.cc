#include "tessera/apps/lab/scale/sandbox/sandbox_filter.h"

#include <cerrno>
#include <cstdint>
#include <memory>

#include <fcntl.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

// Calls that change nothing outside the process, and reveal little to the process.
constexpr const char* kAllowed[] = {
    // Open files, and facts about paths.
    "read", "readv", "pread64", "write", "writev", "close", "lseek", "dup", "fstat", "newfstatat", "stat", "lstat", "statx", "fstatfs",
    "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "getdents64", "poll", "ppoll", "select", "pselect6",
    // Memory, signals to the process itself, the only thread.
    "mmap", "munmap", "mremap", "mprotect", "brk", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "futex",
    "set_robust_list", "get_robust_list", "set_tid_address", "rseq", "arch_prctl", "sched_yield", "sched_getaffinity", "restart_syscall",
    // The process's user, the time, and used resources.
    "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "uname", "sysinfo", "getrusage", "times", "getrlimit",
    "getrandom", "clock_gettime", "clock_getres", "gettimeofday", "time", "nanosleep", "clock_nanosleep",
    // The process's beginning and end.
    "execve", "exit", "exit_group"};

// A call that is allowed if one argument, under a mask, has a value.
struct Condition {
  const char* name;
  unsigned argument;
  uint64_t mask, value;
};

constexpr uint64_t kWrites = O_ACCMODE | O_CREAT | O_TRUNC;   // O_TMPFILE needs O_ACCMODE to be more than O_RDONLY.
constexpr Condition kConditions[] = {
    // Advice that only gives the process's own pages back to the system. All other advice fails. Some advice punches holes in files
    // (MADV_REMOVE), or shares pages with other processes, which timing reveals (MADV_MERGEABLE). Other advice pushes out pages of others
    // (MADV_PAGEOUT, MADV_WILLNEED), splits or merges pages for later calls (MADV_HUGEPAGE, MADV_COLLAPSE), or breaks memory
    // (MADV_HWPOISON).
    {"madvise", 2, 0xFFFFFFFF, MADV_DONTNEED},   // Used by free() of glibc for large heaps, and by Python's arenas.
    {"madvise", 2, 0xFFFFFFFF, MADV_FREE},       // Used by the allocator of newer interpreters (mimalloc).
    {"open", 1, kWrites, O_RDONLY},
    {"openat", 2, kWrites, O_RDONLY},
    {"fcntl", 1, 0xFFFFFFFF, F_GETFD},
    {"fcntl", 1, 0xFFFFFFFF, F_SETFD},
    {"fcntl", 1, 0xFFFFFFFF, F_GETFL},
    {"fcntl", 1, 0xFFFFFFFF, F_DUPFD_CLOEXEC},
    {"ioctl", 1, 0xFFFFFFFF, TCGETS},       // Asks whether a file is a terminal.
    {"ioctl", 1, 0xFFFFFFFF, FIOCLEX},
};

absl::Status Failed(const char* what, const char* name, int error) {
  return absl::ErrnoToStatus(-error, absl::StrCat("seccomp: ", what, *name == '\0' ? "" : " ", name));
}

// Allows a call. A name without a call on this architecture is left out.
absl::Status Allow(scmp_filter_ctx filter, const char* name, absl::Span<const scmp_arg_cmp> conditions) {
  const int call = seccomp_syscall_resolve_name(name);
  if (call < 0) return absl::OkStatus();
  const int error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, static_cast<unsigned>(conditions.size()), conditions.data());
  return error == 0 ? absl::OkStatus() : Failed("cannot allow", name, error);
}

absl::Status AllowAll(scmp_filter_ctx filter) {
  for (const char* name : kAllowed) RETURN_IF_ERROR(Allow(filter, name, {}));
  for (const Condition& condition : kConditions) {
    const scmp_arg_cmp compared = {condition.argument, SCMP_CMP_MASKED_EQ, condition.mask, condition.value};
    RETURN_IF_ERROR(Allow(filter, condition.name, {compared}));
  }
  // The call may read limits of this process, and set none.
  return Allow(filter, "prlimit64", {{0, SCMP_CMP_MASKED_EQ, 0xFFFFFFFF, 0}, {2, SCMP_CMP_EQ, 0, 0}});
}

// Returns the filter's program, by a file in memory: no name could be taken, and no disk could be full.
absl::StatusOr<std::vector<sock_filter>> Exported(scmp_filter_ctx filter) {
  const int file = memfd_create("filter", MFD_CLOEXEC);
  if (file < 0) return absl::ErrnoToStatus(errno, "memfd_create");
  const absl::Cleanup closed = [file] { close(file); };
  if (const int error = seccomp_export_bpf(filter, file); error != 0) return Failed("cannot export the filter", "", error);
  const off_t bytes = lseek(file, 0, SEEK_END);
  std::vector<sock_filter> program(static_cast<size_t>(bytes) / sizeof(sock_filter));
  if (pread(file, program.data(), static_cast<size_t>(bytes), 0) != bytes) return absl::ErrnoToStatus(errno, "pread");
  return program;
}

}  // namespace

absl::StatusOr<std::vector<sock_filter>> ReadingFilter() {
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release);
  if (filter == nullptr) return absl::ResourceExhaustedError("seccomp: cannot make a filter");
  RETURN_IF_ERROR(AllowAll(filter.get()));
  return Exported(filter.get());
}

}  // namespace tessera
