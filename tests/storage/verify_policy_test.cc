#include "tessera/storage/verify_policy.h"

#include <gtest/gtest.h>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

TEST(VerifyPolicy, HeaderExample) {
  const auto run = []() -> absl::Status {
    ASSIGN_OR_RETURN(VerifyPolicy policy, ParseVerifyPolicy("first"));
    EXPECT_EQ(policy, VerifyPolicy::kFirst);
    return absl::OkStatus();
  };
  EXPECT_EQ(run(), absl::OkStatus());
}

TEST(VerifyPolicy, HasNames) {
  EXPECT_EQ(*ParseVerifyPolicy("always"), VerifyPolicy::kAlways);
  EXPECT_EQ(*ParseVerifyPolicy("never"), VerifyPolicy::kNever);
  EXPECT_EQ(ParseVerifyPolicy("often").status().message(), "verify: found \"often\", expected first, always or never");
}

}  // namespace
}  // namespace tessera
