// Systems that refuse a call each time it is made: containers with a filter of their own, old kernels, other systems that run Linux's
// programs. What is only a wish of ours is done without, and changes no bit.
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

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

constexpr int kWishes[] = {SCMP_SYS(madvise),         SCMP_SYS(mincore),           SCMP_SYS(mlock),
                           SCMP_SYS(fadvise64),       SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_setscheduler),
                           SCMP_SYS(setpriority),     SCMP_SYS(io_uring_setup),    SCMP_SYS(io_uring_register),
                           SCMP_SYS(io_uring_enter),  SCMP_SYS(getrandom),         SCMP_SYS(getcpu),
                           SCMP_SYS(membarrier),      SCMP_SYS(fstatfs),           SCMP_SYS(getrusage),
                           SCMP_SYS(sysinfo)};

absl::StatusOr<std::vector<float>> LogitsOf(const EngineOptions& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine->NewSession());
  RETURN_IF_ERROR(session->Append({1, 2, 3}));
  return std::vector<float>(session->logits().begin(), session->logits().end());
}

[[noreturn]] void RunWithoutAndExit(const EngineOptions& options, int call, int error) {
  alarm(120);
  const std::vector<float> expected = Must(LogitsOf(options));
  Restrict(call, SCMP_ACT_ERRNO(static_cast<unsigned>(error)));
  const absl::StatusOr<std::vector<float>> found = LogitsOf(options);
  std::cerr << (!found.ok() ? found.status().ToString() : *found == expected ? "the same" : "other logits") << "\n";
  _exit(found.ok() && *found == expected ? 0 : 1);
}

class RefusedWishesDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    if (prctl(PR_GET_SECCOMP) < 0) GTEST_SKIP() << "this system has no seccomp filters: " << std::strerror(errno);
    if (kSanitized) GTEST_SKIP() << "a sanitizer needs these calls itself";
  }
  static void ExpectTheSame(const EngineOptions& options) {
    for (const int call : kWishes) {
      for (const int error : {EPERM, EINVAL, ENOSYS}) {
        EXPECT_EXIT(RunWithoutAndExit(options, call, error), testing::ExitedWithCode(0), "the same")
            << "system call " << call << ": " << std::strerror(error);
      }
    }
  }
  static EngineOptions Options(const std::string& path) {
    return {.model_path = path, .compute = {.threads = 2, .row_capacity = 8}, .cache = {.context = 64}};
  }
};

TEST_F(RefusedWishesDeathTest, AGgufFileAndAPackedOneRunTheSame) {
  const PackedModel model(TinyModelBuilder({.layers = 1}));
  ExpectTheSame(Options(model.gguf()));
  ExpectTheSame(Options(model.path()));
}

TEST_F(RefusedWishesDeathTest, AStreamedFileRunsTheSame) {
  const PackedModel model(TinyModelBuilder({.layers = 4}));  // More than a ring has room for.
  EngineOptions options = Options(model.path());
  options.streaming = {.memory_budget = int64_t{1} << 30, .pin = PinPolicy::kNone, .io = IoKind::kAuto};
  options.streaming.probe_in_child = true;
  options.streaming.raise_priority = true;
  ExpectTheSame(options);
}

}  // namespace
}  // namespace tessera
