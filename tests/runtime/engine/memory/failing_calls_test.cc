// Each system call of opening, loading and the first pass fails once, in its turn: what comes of it is an error that says what, or the
// right logits. Never the end of the process, and never an endless wait.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/system_calls.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

struct FailingCall {
  int number;
  int error;
};
constexpr FailingCall kCalls[] = {
    {SCMP_SYS(openat), EMFILE},         {SCMP_SYS(read), EIO},
    {SCMP_SYS(pread64), EIO},           {SCMP_SYS(newfstatat), EIO},
    {SCMP_SYS(fstat), EIO},             {SCMP_SYS(statx), EIO},
    {SCMP_SYS(fstatfs), EIO},           {SCMP_SYS(fcntl), EINVAL},
    {SCMP_SYS(fadvise64), EINVAL},      {SCMP_SYS(mmap), ENOMEM},
    {SCMP_SYS(mremap), ENOMEM},         {SCMP_SYS(mprotect), ENOMEM},
    {SCMP_SYS(madvise), EAGAIN},        {SCMP_SYS(mincore), ENOMEM},
    {SCMP_SYS(mlock), ENOMEM},          {SCMP_SYS(clone), EAGAIN},
    {SCMP_SYS(clone3), EAGAIN},         {SCMP_SYS(sched_getaffinity), EPERM},
    {SCMP_SYS(sched_setscheduler), EPERM}, {SCMP_SYS(setpriority), EPERM},
    {SCMP_SYS(pipe2), EMFILE},          {SCMP_SYS(poll), ENOMEM},
    {SCMP_SYS(io_uring_setup), ENOMEM}, {SCMP_SYS(io_uring_enter), EIO},
    {SCMP_SYS(io_uring_register), ENOMEM},
};

std::vector<int> Numbers() {
  std::vector<int> numbers;
  for (const FailingCall& call : kCalls) numbers.push_back(call.number);
  return numbers;
}

// Which call fails next, counted from 1; 0: none. How many there were since it was set.
std::atomic<int64_t> failing{0}, calls{0};
std::atomic<int> failed{-1};

std::optional<int64_t> Answer(pid_t, const seccomp_data& call) {
  if (++calls != failing) return std::nullopt;
  failed = call.nr;
  for (const FailingCall& known : kCalls) {
    if (known.number == call.nr) return -known.error;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<float>> FirstLogits(const EngineOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine->NewSession());
  RETURN_IF_ERROR(session->Append({1, 2, 3}));
  return std::vector<float>(session->logits().begin(), session->logits().end());
}

absl::StatusOr<std::vector<float>> FirstLogitsWithFailure(const EngineOptions& options, int64_t index) {
  failed = -1;
  calls = 0;
  failing = index;
  absl::StatusOr<std::vector<float>> logits = FirstLogits(options);
  failing = 0;
  return logits;
}

// Ends the process: 0 if all went as it should.
[[noreturn]] void FailEachCallAndExit(const EngineOptions& options) {
  alarm(120);
  const std::vector<float> expected = Must(FirstLogitsWithFailure(options, 0));
  const int64_t all = calls;
  int64_t errors = 0;
  for (int64_t index = 1; index <= all; ++index) {
    const absl::StatusOr<std::vector<float>> logits = FirstLogitsWithFailure(options, index);
    errors += !logits.ok();
    if (logits.ok() ? *logits == expected : logits.status().message().size() > 10) continue;
    std::cerr << "call " << index << ", system call " << failed << ": " << (logits.ok() ? "other logits" : "no message") << "\n";
    _exit(1);
  }
  std::cerr << errors << " errors in " << all << " runs\n";
  _exit(all > 30 && errors > 3 && errors < all ? 0 : 2);
}

class FailingCallsDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters: " << std::strerror(errno);
    if (kSanitized) GTEST_SKIP() << "a sanitizer needs these calls itself";
  }
  static const PackedModel& Model() {
    static const PackedModel model(TinyModelBuilder({.layers = 1}));
    return model;
  }
  static EngineOptions Options(const std::string& path) {
    return {.model_path = path, .compute = {.threads = 2, .row_capacity = 8}, .cache = {.context = 64}};
  }
  static void ExpectAllWell(const EngineOptions& options) {
    EXPECT_EXIT(WithAnswers(Numbers(), Answer, [&] { FailEachCallAndExit(options); }), testing::ExitedWithCode(0), "errors in ");
  }
};

TEST_F(FailingCallsDeathTest, AGgufFileIsRunRightOrRefused) { ExpectAllWell(Options(Model().gguf())); }

TEST_F(FailingCallsDeathTest, APackedFileIsRunRightOrRefused) { ExpectAllWell(Options(Model().path())); }

TEST_F(FailingCallsDeathTest, AStreamedFileIsRunRightOrRefused) {
  const PackedModel model(TinyModelBuilder({.layers = 4}));  // More than a ring has room for.
  for (const IoKind io : {IoKind::kAuto, IoKind::kPread}) {
    EngineOptions options = Options(model.path());
    options.streaming = {.memory_budget = int64_t{1} << 30, .pin = PinPolicy::kNone, .io = io};
    options.streaming.probe_in_child = true;
    options.streaming.raise_priority = true;
    ExpectAllWell(options);
  }
}

}  // namespace
}  // namespace tessera
