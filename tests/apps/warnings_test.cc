#include "tessera/apps/cli/warnings.h"

#include <sys/resource.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include <glog/logging.h>

#include "tessera/tests/fakes/packed_model.h"

namespace tessera {
namespace {

// Address space that this process may still take.
void LeaveAddressSpace(rlim_t bytes) {
  long pages = 0;
  FILE* const file = std::fopen("/proc/self/statm", "r");
  CHECK(file != nullptr && std::fscanf(file, "%ld", &pages) == 1);
  std::fclose(file);
  const rlim_t all = static_cast<rlim_t>(pages) * 4096 + bytes;
  const rlimit limit = {.rlim_cur = all, .rlim_max = all};
  CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

TEST(Warnings, HeaderExample) {
  const PackedTiny model({});
  const auto engine = Must(Engine::Load({.model_path = model.packed(), .compute = {.threads = 1}}));
  testing::internal::CaptureStderr();
  WarnOfShortages(*engine);
  WarnOfHistory(nullptr);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nothing is short";
}

// Loading goes on without its threads, whose stacks do not fit, and a program says so.
TEST(Warnings, ThreadsThatLoadingDidNotGetAreSaidOnce) {
  const PackedTiny model({});
  const auto run = [&] {
    FLAGS_logtostderr = true;
    const auto engine = Must(Engine::Open({.model_path = model.packed(), .compute = {.threads = 1}}));
    LeaveAddressSpace(6 << 20);
    const bool loaded = engine->LoadWeights().ok() && engine->AwaitWeights().ok();
    WarnOfShortages(*engine);
    std::fputs("again:", stderr);
    WarnOfShortages(*engine);
    std::_Exit(loaded ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "tiny.tsr: read by only 0 of [0-9]+ threads[^\n]*\n*again:$");
}

}  // namespace
}  // namespace tessera
