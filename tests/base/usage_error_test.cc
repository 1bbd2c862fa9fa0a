#include "tessera/base/usage_error.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace tessera {
namespace {

absl::Status CheckThreads(int threads) {
  if (threads >= 0 && threads <= 256) return absl::OkStatus();
  return WrongUsage("threads", threads, "0 (all CPUs) to 256");
}

TEST(UsageError, HeaderExample) {
  int code = 0;
  const absl::Status status = CheckThreads(999);
  if (IsWrongUsage(status)) code = 2;
  EXPECT_EQ(code, 2);
  EXPECT_EQ(FieldOf(status), "threads");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(), "threads: found 999, expected 0 (all CPUs) to 256");
  EXPECT_TRUE(CheckThreads(1).ok());
}

TEST(UsageError, OtherErrorsAreNotWrongUsageWhateverTheirMessage) {
  for (const absl::Status& status : {absl::OkStatus(), absl::InvalidArgumentError("threads: found 999, expected 0 to 256"),
                                     absl::InvalidArgumentError("--threads: found 999")}) {
    EXPECT_FALSE(IsWrongUsage(status));
    EXPECT_EQ(FieldOf(status), "");
    EXPECT_EQ(LimitOf(status), "");
  }
}

TEST(UsageError, AMarkedStatusKeepsItsCodeAndItsFirstField) {
  const absl::Status marked = ForField("flash", absl::NotFoundError("ufs9: no such file"));
  EXPECT_TRUE(absl::IsNotFound(marked));
  EXPECT_EQ(marked.message(), "flash: ufs9: no such file");
  EXPECT_EQ(FieldOf(marked), "flash");
  EXPECT_EQ(ForField("other", marked), marked);
  EXPECT_EQ(ForField("flash", absl::NotFoundError("flash: gone")).message(), "flash: gone");
  EXPECT_TRUE(ForField("flash", absl::OkStatus()).ok());
}

TEST(UsageError, ALimitIsNamedBesideOrWithoutAField) {
  const absl::Status full = LimitedBy("context", absl::ResourceExhaustedError("context: found 41 tokens, expected at most 40"));
  EXPECT_EQ(LimitOf(full), "context");
  EXPECT_FALSE(IsWrongUsage(full));
  const absl::Status both = ForField("memory_budget", full);
  EXPECT_EQ(LimitOf(both), "context");
  EXPECT_EQ(FieldOf(both), "memory_budget");
  EXPECT_TRUE(LimitedBy("context", absl::OkStatus()).ok());
  EXPECT_EQ(LimitOf(LimitedBy("context", absl::OkStatus())), "");
}

TEST(ForFile, FailuresOfTheSystemAreNotWrongUsage) {
  for (const int error : {ENOENT, EACCES, EISDIR, ENOTDIR, ENAMETOOLONG, EROFS}) {
    const absl::Status status = ForFile("trace", absl::ErrnoToStatus(error, "/x/y: cannot write"));
    EXPECT_EQ(FieldOf(status), "trace") << status;
  }
  for (const int error : {ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, EFBIG}) {
    const absl::Status status = ForFile("trace", absl::ErrnoToStatus(error, "/x/y: cannot write"));
    EXPECT_FALSE(IsWrongUsage(status)) << status;
    EXPECT_EQ(status, absl::ErrnoToStatus(error, "/x/y: cannot write"));
  }
  EXPECT_EQ(ForFile("trace", absl::OkStatus()), absl::OkStatus());
}

}  // namespace
}  // namespace tessera
