// What a question takes on a modeled phone: passes times what they cost, with a row for each sample that goes on.
#include "tessera/apps/lab/scale/grid/phone_time.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/apps/lab/scale/tasks/sample_lengths.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

PhoneTime Phone(const std::string& device = "8gen3", int most_samples = 16) {
  return Must(PhoneTime::Create({.device = device, .shape = "qwen2.5-0.5b", .most_samples = most_samples}));
}

double Seconds(const PhoneTime& phone, double prompt, const std::vector<double>& lengths) {
  return Must(phone.Of(prompt, lengths)).seconds();
}

TEST(PhoneTime, HeaderExample) {
  const PhoneTime phone = Must(PhoneTime::Create({.device = "8gen3", .shape = "qwen2.5-1.5b", .most_samples = 16}));
  EXPECT_EQ(phone.device(), "8gen3, operators");
  EXPECT_EQ(phone.shape(), "qwen2.5-1.5b");
  const std::vector<int64_t> tokens(16, 200);
  const PhoneCost cost = Must(phone.Of(/*prompt_tokens=*/90, MeanLengths(tokens, 8)));
  EXPECT_GT(cost.prompt_seconds, 0);
  EXPECT_GT(cost.decode_seconds, cost.prompt_seconds);
  EXPECT_GT(cost.joules, 0);
}

TEST(PhoneTime, IsThePromptAndAPassForEachToken) {
  const PhoneReport report = Must(MakePhoneReport({.device = "8gen3", .shape = "qwen2.5-0.5b", .prompt = 64, .decode = 1, .rows = {4}}));
  const PassCost pass = Must(report.coster->Of({.rows = 4, .positions = 64 + 50, .logit_rows = 4}));
  const PhoneCost cost = Must(Phone().Of(64, std::vector<double>(4, 100)));
  EXPECT_DOUBLE_EQ(cost.prompt_seconds, report.prompt.seconds);
  EXPECT_NEAR(cost.decode_seconds, 100 * pass.seconds, 1e-9);
  EXPECT_NEAR(cost.joules, report.prompt.joules + 100 * pass.joules, 1e-9);
}

TEST(PhoneTime, SamplesThatEndedHaveNoRows) {
  const PhoneTime phone = Phone();
  const double two = Seconds(phone, 64, {100, 100}), one = Seconds(phone, 64, {100}), shorter = Seconds(phone, 64, {100, 50});
  EXPECT_LT(one, shorter);
  EXPECT_LT(shorter, two);
  EXPECT_DOUBLE_EQ(Seconds(phone, 64, {100, 0}), one) << "one that never went on";
}

TEST(PhoneTime, StaticGraphsHaveAllTheirRowsToTheEnd) {
  const PhoneTime phone = Phone("8gen3:static");
  EXPECT_NEAR(Seconds(phone, 64, {100, 50}), Seconds(phone, 64, {100, 100}), 1e-9);
}

TEST(PhoneTime, ManySamplesCostLittleMoreThanOne) {
  const PhoneTime phone = Phone();
  const double one = Seconds(phone, 64, {200}), eight = Seconds(phone, 64, std::vector<double>(8, 200));
  EXPECT_GT(eight, one);
  EXPECT_LT(eight, 4 * one) << "that is what idle rows are for";
}

TEST(PhoneTime, AnUnknownPhoneShapeOrShortContextIsNamed) {
  EXPECT_TRUE(absl::StrContains(PhoneTime::Create({.device = "nokia", .shape = "qwen2.5-0.5b"}).status().message(), "device: "));
  EXPECT_TRUE(absl::StrContains(PhoneTime::Create({.device = "8gen3", .shape = "qwen9"}).status().message(), "shape: "));
  const PhoneTime phone = Must(PhoneTime::Create({.device = "8gen3", .shape = "qwen2.5-0.5b", .context = 128}));
  EXPECT_TRUE(Must(phone.Of(64, std::vector<double>{64})).decode_seconds > 0);
  EXPECT_EQ(phone.Of(64, std::vector<double>{64.5}).status().message(),
            "context: found 128, expected at least 129, prompts and samples of these questions on average");
}

TEST(PhoneTime, APowerModeThatIsAskedForIsNamed) {
  EXPECT_EQ(Phone("8gen3:static:sustained").device(), "8gen3, static, sustained");
  EXPECT_GT(Seconds(Phone("8gen3:static:sustained"), 64, {50}), Seconds(Phone("8gen3:static"), 64, {50}));
}

}  // namespace
}  // namespace tessera
