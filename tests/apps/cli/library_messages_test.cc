#include "tessera/apps/cli/library_messages.h"

#include <cstdlib>

#include <glog/logging.h>
#include <gtest/gtest.h>

#include "tessera/apps/cli/flags/seed_flag.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

TEST(LibraryMessages, HeaderExample) {
  const auto example = [] {
    FLAGS_minloglevel = google::GLOG_WARNING;  // As programs have it.
    ShowLibraryMessages("tessera_generate");
    LOG(WARNING) << "slow";
    std::_Exit(0);
  };
  EXPECT_EXIT(example(), testing::ExitedWithCode(0), "^tessera_generate: warning: slow\n$");
}

TEST(LibraryMessages, ShowNoControlCharactersAndWhereABugIs) {
  const auto fail = [] {
    ShowLibraryMessages("tessera_generate");
    CHECK_EQ(std::string("\x1b[2J\xff"), "") << "planted";
  };
  EXPECT_DEATH(fail(), "tessera_generate: Check failed: .*\\\\x1b\\[2J\\\\xff vs.*planted \\(library_messages_test.cc:[0-9]+\\)\n");
}

TEST(SeedFlag, HeaderExample) {
  const auto example = []() -> absl::StatusOr<uint64_t> {
    ASSIGN_OR_RETURN(const uint64_t seed, SeedOfFlag());
    return seed;
  };
  EXPECT_EQ(*example(), 0u);
}

}  // namespace
}  // namespace tessera
