#include "tessera/apps/scale/child_run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/clock.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/write_all.h"

namespace tessera {
namespace {

constexpr int kLowestNumber = 10;        // Files here have it or a higher one, so none of them is one that the child gets.
constexpr int kVerdict = 3;
constexpr size_t kMostVerdict = 256;
constexpr int kTickMillis = 20;

absl::Status SystemError(const char* call) { return absl::ErrnoToStatus(errno, call); }

class File {
 public:
  File() = default;
  explicit File(int number) : number_(number) {}
  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~File() { Close(); }
  void Close() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// The same file under another number; `call` opened it.
absl::StatusOr<File> Moved(File low, const char* call) {
  if (!low.is_open()) return SystemError(call);
  File moved(fcntl(low.number(), F_DUPFD_CLOEXEC, kLowestNumber));
  if (!moved.is_open()) return SystemError("fcntl(F_DUPFD_CLOEXEC)");
  return moved;
}

struct Pipe {
  File reader = {}, writer = {};
};

absl::StatusOr<Pipe> NewPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return SystemError("pipe");
  File reader(ends[0]), writer(ends[1]);
  Pipe pipe;
  ASSIGN_OR_RETURN(pipe.reader, Moved(std::move(reader), "pipe"));
  ASSIGN_OR_RETURN(pipe.writer, Moved(std::move(writer), "pipe"));
  if (fcntl(pipe.reader.number(), F_SETFL, O_NONBLOCK) != 0) return SystemError("fcntl(F_SETFL)");
  return pipe;
}

absl::StatusOr<File> InputFile(const std::string& text) {
  ASSIGN_OR_RETURN(File file, Moved(File(memfd_create("input", MFD_CLOEXEC)), "memfd_create"));
  if (const int error = WriteAll(file.number(), text); error != 0) return absl::ErrnoToStatus(error, "write");
  if (lseek(file.number(), 0, SEEK_SET) != 0) return SystemError("lseek");
  return file;
}

// An open folder that has no name any more.
absl::StatusOr<File> NamelessFolder() {
  const char* const parent = std::getenv("TMPDIR");
  std::string path = absl::StrCat(parent == nullptr || *parent == '\0' ? "/tmp" : parent, "/tessera_XXXXXX");
  if (mkdtemp(path.data()) == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot make this folder"));
  absl::StatusOr<File> folder = Moved(File(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), "open");
  if (rmdir(path.c_str()) != 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot remove this folder"));
  return folder;
}

// All that the child needs, made before fork: after it, only calls that are safe in a signal's handler follow.
struct Prepared {
  std::vector<char*> arguments = {}, environment = {};
  File input = {}, folder = {};
  Pipe output = {}, verdict = {}, failure = {};
  pid_t parent = 0;
};

struct Failure {
  int error;
  char call[60];
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

absl::StatusOr<Prepared> Prepare(const ChildOptions& options) {
  Prepared prepared = {.arguments = Pointers(options.arguments), .environment = Pointers(options.environment), .parent = getpid()};
  ASSIGN_OR_RETURN(prepared.input, InputFile(options.input));
  ASSIGN_OR_RETURN(prepared.folder, NamelessFolder());
  for (Pipe* pipe : {&prepared.output, &prepared.verdict, &prepared.failure}) {
    ASSIGN_OR_RETURN(*pipe, NewPipe());
  }
  return prepared;
}

bool SetLimit(decltype(RLIMIT_CPU) which, rlim_t soft, rlim_t hard) {
  const rlimit limit = {soft, hard};
  return setrlimit(which, &limit) == 0;
}

bool SetLimits(const ChildOptions& options) {
  const rlim_t cpu = static_cast<rlim_t>(options.cpu_seconds), memory = static_cast<rlim_t>(options.memory);
  if (cpu > 0 && !SetLimit(RLIMIT_CPU, cpu, cpu + 1)) return false;   // A signal first, then the end.
  if (memory > 0 && !SetLimit(RLIMIT_AS, memory, memory)) return false;
  if (options.sandbox == nullptr) return true;
  return SetLimit(RLIMIT_FSIZE, 0, 0) && SetLimit(RLIMIT_CORE, 0, 0) && SetLimit(RLIMIT_NOFILE, 64, 64);
}

bool DefaultSignals() {
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGXFSZ}) {
    if (std::signal(signal, SIG_DFL) == SIG_ERR) return false;
  }
  sigset_t none;
  return sigemptyset(&none) == 0 && sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
}

// The call that failed, with errno, or null.
const char* BecomeChild(const Prepared& prepared, const ChildOptions& options) {
  if (setsid() < 0) return "setsid";
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "prctl(PR_SET_PDEATHSIG)";
  if (getppid() != prepared.parent) _exit(1);   // It ended before prctl took effect.
  if (fchdir(prepared.folder.number()) != 0) return "fchdir";
  const int output = prepared.output.writer.number();
  const std::pair<int, int> files[] = {{prepared.input.number(), STDIN_FILENO}, {output, STDOUT_FILENO}, {output, STDERR_FILENO},
                                       {prepared.verdict.writer.number(), kVerdict}};
  for (const auto& [from, to] : files) {
    if (dup2(from, to) < 0) return "dup2";
  }
  if (close_range(kVerdict + 1, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return "close_range";
  if (!DefaultSignals()) return "signal";
  if (!SetLimits(options)) return "setrlimit";
  if (options.sandbox != nullptr) {
    if (const char* const failed = options.sandbox->Enter()) return failed;
  }
  execve(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  return "execve";
}

[[noreturn]] void RunAsChild(const Prepared& prepared, const ChildOptions& options) {
  const char* const call = BecomeChild(prepared, options);
  Failure failure = {.error = errno, .call = {}};
  for (size_t i = 0; i + 1 < sizeof(failure.call) && call[i] != '\0'; ++i) failure.call[i] = call[i];
  const ssize_t written = write(prepared.failure.writer.number(), &failure, sizeof(failure));
  _exit(written == static_cast<ssize_t>(sizeof(failure)) ? 127 : 126);
}

// What the parent does while the child runs.
class Watch {
 public:
  Watch(const ChildOptions& options, pid_t child, Prepared prepared)
      // Real time: the child is not on any other clock.
      : options_(options), clock_(RealClock()), child_(child), prepared_(std::move(prepared)), begin_(clock_.NowNanos()) {
    for (Pipe* pipe : {&prepared_.output, &prepared_.verdict, &prepared_.failure}) pipe->writer.Close();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    Kill();
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {}
  }

  absl::StatusOr<ChildEnd> ToTheEnd() {
    ChildEnd end;
    const int64_t most_nanos = static_cast<int64_t>(options_.seconds * 1e9);
    bool ended = false;
    while (!ended) {
      ended = HasEnded(end);
      Wait(ended ? 0 : kTickMillis);
      const bool too_much = !Take(prepared_.output.reader, static_cast<size_t>(options_.most_output), end.output);
      Take(prepared_.verdict.reader, kMostVerdict, end.verdict);
      if (ended) break;
      if (too_much) end.how = ChildEnd::How::kWroteTooMuch;
      if (clock_.NowNanos() - begin_ > most_nanos) end.how = ChildEnd::How::kTimedOut;
      if (end.how != ChildEnd::How::kExited) break;
    }
    end.seconds = static_cast<double>(clock_.NowNanos() - begin_) / 1e9;
    Kill();
    std::string failure;
    Take(prepared_.failure.reader, sizeof(Failure), failure);
    if (failure.size() == sizeof(Failure)) return NotStarted(failure);
    return end;
  }

 private:
  // The whole group. Before the child leads one, the child alone.
  void Kill() const {
    kill(-child_, SIGKILL);
    kill(child_, SIGKILL);
  }

  // It stays a zombie, whose number no other process gets, until the end of this watch.
  bool HasEnded(ChildEnd& end) const {
    siginfo_t info = {};
    if (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
    end.how = info.si_code == CLD_EXITED ? ChildEnd::How::kExited : ChildEnd::How::kSignalled;
    end.code = info.si_status;
    return true;
  }

  void Wait(int millis) {
    pollfd files[] = {{prepared_.output.reader.number(), POLLIN, 0}, {prepared_.verdict.reader.number(), POLLIN, 0}};
    poll(files, 2, millis);   // A closed one is -1, which poll passes over. After an error or a signal the loop goes on.
  }

  // Appends what there is. False: there is more than `most` in all.
  static bool Take(File& file, size_t most, std::string& text) {
    std::array<char, 65536> bytes;
    while (file.is_open()) {
      const ssize_t count = read(file.number(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return true;   // Nothing now.
      if (count == 0) file.Close();
      const size_t taken = std::min(static_cast<size_t>(count), most - text.size());
      text.append(bytes.data(), taken);
      if (taken == static_cast<size_t>(count)) continue;
      file.Close();
      return false;
    }
    return true;
  }

  absl::Status NotStarted(const std::string& bytes) const {
    Failure failure;
    std::memcpy(&failure, bytes.data(), sizeof(failure));
    return absl::ErrnoToStatus(failure.error, absl::StrCat(options_.arguments[0], ": cannot start: ", failure.call));
  }

  const ChildOptions& options_;
  const Clock& clock_;
  const pid_t child_;
  Prepared prepared_;
  const int64_t begin_;
};

}  // namespace

absl::StatusOr<ChildEnd> RunChild(const ChildOptions& options) {
  ASSIGN_OR_RETURN(Prepared prepared, Prepare(options));
  const pid_t child = fork();
  if (child == 0) RunAsChild(prepared, options);
  if (child < 0) return SystemError("fork");
  return Watch(options, child, std::move(prepared)).ToTheEnd();
}

}  // namespace tessera
