// A library that a program is started with (LD_PRELOAD): one of its calls of the C library fails, as on a disk that breaks or is full.
//
//   TESSERA_FAILING_CALL="pwrite 28 0 .tmp"   the function, the errno it ends with, how many calls go well before, the end of the path
//   TESSERA_FAILED_CALL=/some/new/file        made when a call has failed, so that a test knows of it
//
// An errno below 0 is a signal that the program gets instead of the call: "fsync -9 0 .tmp" kills it where it would sync.
// All calls after the first that fails do, too. A clock is no error: where its call would fail the system's clocks go back, by a
// millisecond at each look, and the errno is of no account. A descriptor's path is that of its file now; the standard streams are
// /dev/stdin, /dev/stdout and /dev/stderr, and another pipe ends with "]". Without a path's end every file is meant. System calls that are
// made without the C library, those of io_uring, are not seen.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace {

struct Chosen {
  char function[32] = "";
  int error = 0;
  long passed = 0;
  char end[256] = "";
};

const Chosen& TheChosen() {
  static const Chosen chosen = [] {
    Chosen read;
    const char* const text = std::getenv("TESSERA_FAILING_CALL");
    if (text == nullptr) return read;
    if (std::sscanf(text, "%31s %d %ld %255[^\n]", read.function, &read.error, &read.passed, read.end) >= 3) return read;
    std::fprintf(stderr, "TESSERA_FAILING_CALL: found %s, expected a function, an errno, a count and a path's end\n", text);
    std::abort();
  }();
  return chosen;
}

// The file that a call is about, by name or by descriptor.
class Place {
 public:
  Place(const char* path) : path_(path) {}        // NOLINT: a place is what its argument says.
  Place(int descriptor) : descriptor_(descriptor) {}  // NOLINT

  bool EndsWith(const char* end) const {
    static constexpr const char* kStandard[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
    char link[64], followed[4096];
    const char* path = path_;
    if (path == nullptr && descriptor_ >= 0 && descriptor_ <= 2) path = kStandard[descriptor_];
    if (path == nullptr) {
      std::snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor_);
      const long bytes = syscall(SYS_readlinkat, AT_FDCWD, link, followed, sizeof(followed) - 1);
      followed[bytes < 0 ? 0 : bytes] = '\0';
      path = followed;
    }
    const size_t bytes = std::strlen(path), wanted = std::strlen(end);
    return bytes >= wanted && std::strcmp(path + bytes - wanted, end) == 0;
  }

 private:
  const char* path_ = nullptr;
  int descriptor_ = -1;
};

void TellTest() {
  const char* const path = std::getenv("TESSERA_FAILED_CALL");
  if (path == nullptr) return;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file >= 0) syscall(SYS_close, file);
}

// Whether this call fails; errno is set then.
bool Fails(const char* function, const Place& place) {
  static std::atomic<long> calls{0};
  const Chosen& chosen = TheChosen();
  if (std::strcmp(chosen.function, function) != 0) return false;
  const int kept = errno;
  const bool fails = place.EndsWith(chosen.end) && calls++ >= chosen.passed;
  if (fails) TellTest();
  if (fails && chosen.error < 0) kill(getpid(), -chosen.error);
  errno = fails ? chosen.error : kept;
  return fails;
}

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// What a function returns that has failed.
template <typename Result>
Result Failed() {
  if constexpr (std::is_pointer_v<Result>) return nullptr;
  else return -1;
}

}  // namespace

// Defines a function of the C library that fails if it is `chosen`, and is the library's own otherwise.
#define TESSERA_FAILING(result, chosen, name, parameters, arguments, place, failed) \
  extern "C" result name parameters {                                               \
    static auto* const real = Real<result parameters>(#name);                       \
    return Fails(#chosen, place) ? failed : real arguments;                         \
  }
#define TESSERA_FAILING_CALL(result, name, parameters, arguments, place) \
  TESSERA_FAILING(result, name, name, parameters, arguments, place, Failed<result>())

// Those that take a mode only where they make a file.
#define TESSERA_FAILING_OPEN(chosen, name, parameters, arguments)              \
  extern "C" int name parameters {                                             \
    static auto* const real = Real<int parameters>(#name);                     \
    if (Fails(#chosen, path)) return -1;                                       \
    va_list more;                                                              \
    va_start(more, flags);                                                     \
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                              \
    return real arguments;                                                     \
  }

TESSERA_FAILING_OPEN(open, open, (const char* path, int flags, ...), (path, flags, mode))
TESSERA_FAILING_OPEN(open, open64, (const char* path, int flags, ...), (path, flags, mode))
TESSERA_FAILING_OPEN(openat, openat, (int folder, const char* path, int flags, ...), (folder, path, flags, mode))
TESSERA_FAILING_OPEN(openat, openat64, (int folder, const char* path, int flags, ...), (folder, path, flags, mode))
TESSERA_FAILING_CALL(FILE*, fopen, (const char* path, const char* mode), (path, mode), path)
TESSERA_FAILING_CALL(DIR*, opendir, (const char* path), (path), path)

TESSERA_FAILING_CALL(ssize_t, read, (int file, void* bytes, size_t size), (file, bytes, size), file)
TESSERA_FAILING_CALL(ssize_t, pread, (int file, void* bytes, size_t size, off_t offset), (file, bytes, size, offset), file)
TESSERA_FAILING(ssize_t, pread, pread64, (int file, void* bytes, size_t size, off64_t offset), (file, bytes, size, offset), file, -1)
TESSERA_FAILING_CALL(ssize_t, write, (int file, const void* bytes, size_t size), (file, bytes, size), file)
TESSERA_FAILING_CALL(ssize_t, pwrite, (int file, const void* bytes, size_t size, off_t offset), (file, bytes, size, offset), file)
TESSERA_FAILING(ssize_t, pwrite, pwrite64, (int file, const void* bytes, size_t size, off64_t offset), (file, bytes, size, offset), file,
                -1)
TESSERA_FAILING_CALL(off_t, lseek, (int file, off_t offset, int whence), (file, offset, whence), file)
TESSERA_FAILING_CALL(int, ftruncate, (int file, off_t size), (file, size), file)
TESSERA_FAILING_CALL(int, fallocate, (int file, int mode, off_t offset, off_t size), (file, mode, offset, size), file)
TESSERA_FAILING_CALL(int, fsync, (int file), (file), file)
TESSERA_FAILING_CALL(int, sync_file_range, (int file, off64_t offset, off64_t size, unsigned flags), (file, offset, size, flags), file)
TESSERA_FAILING_CALL(int, fchmod, (int file, mode_t mode), (file, mode), file)
TESSERA_FAILING_CALL(int, flock, (int file, int operation), (file, operation), file)

extern "C" int fcntl(int file, int command, ...) {
  static auto* const real = Real<int(int, int, ...)>("fcntl");
  if (Fails("fcntl", file)) return -1;
  va_list more;
  va_start(more, command);
  void* const given = va_arg(more, void*);
  va_end(more);
  return real(file, command, given);
}

// A descriptor is closed even where closing it fails.
extern "C" int close(int file) {
  static auto* const real = Real<int(int)>("close");
  const bool fails = Fails("close", file);
  const int error = errno, result = real(file);
  if (fails) errno = error;
  return fails ? -1 : result;
}

TESSERA_FAILING_CALL(int, stat, (const char* path, struct stat* found), (path, found), path)
TESSERA_FAILING_CALL(int, lstat, (const char* path, struct stat* found), (path, found), path)
TESSERA_FAILING_CALL(int, fstat, (int file, struct stat* found), (file, found), file)
TESSERA_FAILING_CALL(int, fstatfs, (int file, struct statfs* found), (file, found), file)
TESSERA_FAILING_CALL(int, statx, (int folder, const char* path, int flags, unsigned mask, struct statx* found),
                     (folder, path, flags, mask, found), path)

TESSERA_FAILING_CALL(int, renameat, (int from, const char* old_path, int to, const char* path), (from, old_path, to, path), path)
TESSERA_FAILING_CALL(int, unlinkat, (int folder, const char* path, int flags), (folder, path, flags), path)
TESSERA_FAILING_CALL(int, mkdir, (const char* path, mode_t mode), (path, mode), path)
TESSERA_FAILING_CALL(ssize_t, readlink, (const char* path, char* bytes, size_t size), (path, bytes, size), path)

TESSERA_FAILING(void*, mmap, mmap, (void* at, size_t size, int access, int flags, int file, off_t offset),
                (at, size, access, flags, file, offset), file, MAP_FAILED)
TESSERA_FAILING_CALL(int, pipe2, (int* ends, int flags), (ends, flags), "")
TESSERA_FAILING_CALL(pid_t, fork, (), (), "")
TESSERA_FAILING_CALL(int, poll, (pollfd* files, nfds_t count, int millis), (files, count, millis), "")
TESSERA_FAILING(int, pthread_create, pthread_create,
                (pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* given), (thread, attributes, run, given),
                "", errno)

extern "C" int ioctl(int file, unsigned long request, ...) {
  static auto* const real = Real<int(int, unsigned long, ...)>("ioctl");
  if (Fails("ioctl", file)) return -1;
  va_list more;
  va_start(more, request);
  void* const given = va_arg(more, void*);
  va_end(more);
  return real(file, request, given);
}

TESSERA_FAILING_CALL(int, madvise, (void* at, size_t size, int advice), (at, size, advice), "")
TESSERA_FAILING_CALL(int, mlock, (const void* at, size_t size), (at, size), "")
TESSERA_FAILING_CALL(int, mincore, (void* at, size_t size, unsigned char* pages), (at, size, pages), "")
TESSERA_FAILING(int, posix_fadvise, posix_fadvise, (int file, off_t offset, off_t size, int advice), (file, offset, size, advice), file,
                errno)
TESSERA_FAILING_CALL(int, sched_getaffinity, (pid_t thread, size_t size, cpu_set_t* cpus), (thread, size, cpus), "")
TESSERA_FAILING_CALL(int, sched_setscheduler, (pid_t thread, int policy, const sched_param* given), (thread, policy, given), "")
TESSERA_FAILING_CALL(int, setpriority, (__priority_which_t which, id_t who, int priority), (which, who, priority), "")
TESSERA_FAILING_CALL(int, memfd_create, (const char* name, unsigned flags), (name, flags), "")
TESSERA_FAILING_CALL(ssize_t, getrandom, (void* bytes, size_t size, unsigned flags), (bytes, size, flags), "")

extern "C" int clock_gettime(clockid_t clock, timespec* now) {
  static auto* const real = Real<int(clockid_t, timespec*)>("clock_gettime");
  static std::atomic<int64_t> looks{0};
  constexpr int64_t kBack = 1'000'000, kSecond = 1'000'000'000;
  const int kept = errno, result = real(clock, now);
  const bool is_time = clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
  if (result != 0 || !is_time || !Fails("clock_gettime", "")) return result;
  errno = kept;
  const int64_t nanos = now->tv_sec * kSecond + now->tv_nsec - ++looks * kBack;
  now->tv_nsec = (nanos % kSecond + kSecond) % kSecond;
  now->tv_sec = (nanos - now->tv_nsec) / kSecond;
  return 0;
}
