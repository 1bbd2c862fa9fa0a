#include "tessera/apps/lab/scale/sandbox/child_run.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <utility>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/scale/sandbox/open_files.h"
#include "tessera/base/clock.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int kFirstGiven = 3;           // The first descriptor after standard input, output and error.
constexpr size_t kMostVerdict = 256;
constexpr int kTickMillis = 20;
constexpr int64_t kGraceNanos = 1'000'000'000;

absl::Status SystemError(const char* call) { return absl::ErrnoToStatus(errno, call); }

// Everything that the child needs, made before fork. After fork, only calls that are safe in a signal's handler follow.
struct Prepared {
  std::vector<char*> arguments = {}, environment = {};
  OpenFile input = {}, folder = {};
  Pipe output = {}, verdict = {}, failure = {};
  std::vector<OpenFile> joined = {};           // Given to the child as 3 and up.
  bool judges = false;                         // True: the verdict's file follows `joined`.
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
    RETURN_IF_ERROR(ReadWithoutWaiting(pipe->reader));
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

// Turns this process into the child. Returns the call that failed, with errno; does not return on success.
const char* BecomeChild(const Prepared& prepared, const ChildOptions& options) {
  if (setsid() < 0) return "setsid";
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "prctl(PR_SET_PDEATHSIG)";
  if (getppid() != prepared.parent) _exit(1);   // The parent ended before prctl took effect.
  if (fchdir(prepared.folder.number()) != 0) return "fchdir";
  const int output = prepared.output.writer.number();
  const std::pair<int, int> files[] = {{prepared.input.number(), STDIN_FILENO}, {output, STDOUT_FILENO}, {output, STDERR_FILENO}};
  for (const auto& [from, to] : files) {
    if (dup2(from, to) < 0) return "dup2";
  }
  int next = kFirstGiven;
  for (const OpenFile& file : prepared.joined) {
    if (dup2(file.number(), next++) < 0) return "dup2";
  }
  if (prepared.judges && dup2(prepared.verdict.writer.number(), next++) < 0) return "dup2";
  if (close_range(static_cast<unsigned>(next), ~0U, CLOSE_RANGE_CLOEXEC) != 0) return "close_range";
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

// Watches one child from the parent.
class Watch {
 public:
  static absl::StatusOr<std::unique_ptr<Watch>> Start(const ChildOptions& options, Prepared prepared) {
    const pid_t child = fork();
    if (child == 0) RunAsChild(prepared, options);
    if (child < 0) return SystemError("fork");
    return std::unique_ptr<Watch>(new Watch(options, child, std::move(prepared)));
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    Kill();
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {}
  }

  // Takes the child's new output. Returns true if the child has ended, or is beyond a limit.
  bool Look() {
    if (done_) return true;
    done_ = HasEnded();
    const bool too_much = !Take(prepared_.output.reader, static_cast<size_t>(options_.most_output), end_.output);
    Take(prepared_.verdict.reader, kMostVerdict, end_.verdict);
    const int64_t nanos = clock_.NowNanos() - begin_;
    end_.seconds = static_cast<double>(nanos) / 1e9;
    if (too_much) end_.how = ChildEnd::How::kWroteTooMuch;
    if (!done_ && nanos > static_cast<int64_t>(options_.seconds * 1e9)) end_.how = ChildEnd::How::kTimedOut;
    is_beyond_ = too_much || end_.how == ChildEnd::How::kTimedOut;
    done_ |= is_beyond_;
    return done_;
  }
  bool is_beyond() const { return is_beyond_; }   // A limit of time or output.

  // Returns the files for poll. A closed file is -1, which poll skips.
  std::array<pollfd, 2> Polled() const {
    return {{{prepared_.output.reader.number(), POLLIN, 0}, {prepared_.verdict.reader.number(), POLLIN, 0}}};
  }

  // Kills the remaining processes and returns the result.
  absl::StatusOr<ChildEnd> End() {
    if (!Look()) end_.how = ChildEnd::How::kStopped;
    Kill();
    std::string failure;
    Take(prepared_.failure.reader, sizeof(Failure), failure);
    if (failure.size() == sizeof(Failure)) return NotStarted(failure);
    return end_;
  }

 private:
  Watch(const ChildOptions& options, pid_t child, Prepared prepared)
      // Real time: the child is not on any other clock.
      : options_(options), clock_(RealClock()), child_(child), prepared_(std::move(prepared)), begin_(clock_.NowNanos()) {
    for (Pipe* pipe : {&prepared_.output, &prepared_.verdict, &prepared_.failure}) pipe->writer.Close();
    prepared_.joined.clear();
  }

  // Kills the whole group or, before the child leads a group, the child alone.
  void Kill() const {
    kill(-child_, SIGKILL);
    kill(child_, SIGKILL);
  }

  // Whether the child has ended. The child stays a zombie until the end of this watch, so no other process gets the child's id.
  bool HasEnded() {
    siginfo_t info = {};
    if (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
    end_.how = info.si_code == CLD_EXITED ? ChildEnd::How::kExited : ChildEnd::How::kSignalled;
    end_.code = info.si_status;
    return true;
  }

  // Appends the available bytes. Returns false if the text would exceed `most` bytes.
  static bool Take(OpenFile& file, size_t most, std::string& text) {
    std::array<char, 65536> bytes;
    while (file.is_open()) {
      const ssize_t count = read(file.number(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return true;   // No bytes now.
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
  ChildEnd end_ = {};
  bool done_ = false, is_beyond_ = false;
};

// Waits for output for a short time. The caller's loop goes on, also after an error or a signal.
void Wait(std::initializer_list<const Watch*> watches) {
  std::vector<pollfd> files;
  for (const Watch* watch : watches) {
    for (const pollfd& file : watch->Polled()) files.push_back(file);
  }
  poll(files.data(), files.size(), kTickMillis);
}

// Joins two children by two pipes, one in each direction. The children's descriptors are 3 and 4.
absl::Status Join(Prepared& one, Prepared& other) {
  ASSIGN_OR_RETURN(Pipe there, NewPipe());
  ASSIGN_OR_RETURN(Pipe back, NewPipe());
  one.joined.push_back(std::move(back.reader));
  one.joined.push_back(std::move(there.writer));
  other.joined.push_back(std::move(there.reader));
  other.joined.push_back(std::move(back.writer));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ChildEnd> RunChild(const ChildOptions& options) {
  ASSIGN_OR_RETURN(Prepared prepared, Prepare(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<Watch> child, Watch::Start(options, std::move(prepared)));
  while (!child->Look()) Wait({child.get()});
  return child->End();
}

absl::StatusOr<JoinedEnd> RunJoined(const ChildOptions& judged, const ChildOptions& judge) {
  ASSIGN_OR_RETURN(Prepared of_judged, Prepare(judged));
  ASSIGN_OR_RETURN(Prepared of_judge, Prepare(judge));
  RETURN_IF_ERROR(Join(of_judged, of_judge));
  of_judge.judges = true;
  // The judged process begins first, and has no file of the judge: neither the judge's input nor the verdict has a descriptor there.
  ASSIGN_OR_RETURN(const std::unique_ptr<Watch> first, Watch::Start(judged, std::move(of_judged)));
  ASSIGN_OR_RETURN(const std::unique_ptr<Watch> second, Watch::Start(judge, std::move(of_judge)));
  while (!second->Look()) {
    if (first->Look() && first->is_beyond()) break;
    Wait({first.get(), second.get()});
  }
  const Clock& clock = RealClock();   // Real time: the children are on no other clock.
  const int64_t grace = second->is_beyond() ? 0 : kGraceNanos;
  for (const int64_t begin = clock.NowNanos(); !first->Look() && clock.NowNanos() - begin < grace;) Wait({first.get()});
  JoinedEnd end;
  ASSIGN_OR_RETURN(end.judged, first->End());
  ASSIGN_OR_RETURN(end.judge, second->End());
  return end;
}

}  // namespace tessera
