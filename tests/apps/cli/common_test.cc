// The parts the programs share that are functions of their arguments.
#include <gtest/gtest.h>

#include "tessera/apps/cli/flag_error.h"
#include "tessera/base/named_options.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

TEST(ShownMessage, CallsAnOptionByItsFlagOnce) {
  EXPECT_EQ(ShownMessage(WrongUsage("threads", 999, "0 to 256")), "--threads: found 999, expected 0 to 256");
  EXPECT_EQ(ShownMessage(ForField("path", absl::InvalidArgumentError("found x"))), "--path: found x");
  EXPECT_EQ(ShownMessage(ForField("path", absl::InvalidArgumentError("path: found x"))), "--path: found x");
}

TEST(ShownMessage, OptionsThatNoFlagSetsKeepTheirNames) {
  EXPECT_EQ(ShownMessage(WrongUsage("logit_rows", -1, "0 and up")), "logit_rows: found -1, expected 0 and up");
  EXPECT_EQ(ShownMessage(absl::InvalidArgumentError("threads: found 999")), "threads: found 999");
}

TEST(ShownMessage, AddsTheFlagThatSetsALimit) {
  const absl::Status full = absl::ResourceExhaustedError("prompt: found 31 tokens, expected at most 8, the context");
  EXPECT_EQ(ShownMessage(LimitedBy("context", full)), "prompt: found 31 tokens, expected at most 8, the context (--context)");
  EXPECT_EQ(ShownMessage(LimitedBy("sessions", full)), full.message());
}

TEST(ShownMessage, CallsOtherOptionsByTheirFlagsToo) {
  const absl::Status wrong = NamingOptions({"draft_model", "slots"}, WrongUsage("tree", "without draft_model", "both, and slots"));
  EXPECT_EQ(ShownMessage(wrong), "--tree: found without --draft_model, expected both, and slots");
  EXPECT_EQ(WithFlagNames(wrong).message(), "tree: found without --draft_model, expected both, and slots");
  EXPECT_EQ(ShownMessage(WithFlagNames(wrong)), ShownMessage(wrong));
}

}  // namespace
}  // namespace tessera
