#include "tessera/base/joined_status.h"

#include "gtest/gtest.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

absl::Status SaveHistory() { return absl::UnavailableError("history: cannot sync"); }
absl::Status SaveCosts() { return absl::ResourceExhaustedError("costs: cannot write"); }

TEST(JoinedStatus, HeaderExample) {
  const absl::Status saved = SaveHistory();
  EXPECT_EQ(Joined(saved, SaveCosts()), absl::UnavailableError("history: cannot sync; costs: cannot write"));
}

TEST(JoinedStatus, NeitherErrorIsPassedOver) {
  const absl::Status lost = absl::DataLossError("history: cut"), full = absl::ResourceExhaustedError("costs: no space");
  EXPECT_TRUE(Joined(absl::OkStatus(), absl::OkStatus()).ok());
  EXPECT_EQ(Joined(lost, absl::OkStatus()), lost);
  EXPECT_EQ(Joined(absl::OkStatus(), full), full);
  EXPECT_EQ(Joined(lost, full), absl::DataLossError("history: cut; costs: no space"));
  EXPECT_EQ(Joined(full, full), full) << "said once";
}

TEST(JoinedStatus, TheFirstKeepsItsMarks) {
  const absl::Status both = Joined(WrongUsage("out", "-", "a file"), absl::DataLossError("trace: cut"));
  EXPECT_EQ(FieldOf(both), "out");
  EXPECT_FALSE(IsWrongUsage(Joined(absl::DataLossError("trace: cut"), WrongUsage("out", "-", "a file"))));
}

}  // namespace
}  // namespace tessera
