#include "tessera/storage/pin_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kPage = 4096;

std::string Text(const PinPlan& plan) {
  std::string text;
  for (const bool pinned : plan.pinned) text += pinned ? 'P' : '.';
  return text;
}

TEST(PinPlan, HeaderExample) {
  const std::vector<int64_t> unit_bytes = {100 << 20, 300 << 20, 600 << 20};
  const auto run = [&](int unit) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(PinPolicy policy, ParsePinPolicy("auto"));
    const PinPlan plan = PlanPins(unit_bytes, /*budget=*/512 << 20, policy);
    if (plan.pinned[unit]) return true;
    return false;
  };
  EXPECT_EQ(run(2).value(), false);
  EXPECT_EQ(run(1).value(), true);
}

TEST(PinPlan, SpreadsPinsEvenlyAndPrefixTakesTheFirst) {
  const std::vector<int64_t> twelve(12, kPage);
  EXPECT_EQ(Text(PlanPins(twelve, 4 * kPage, PinPolicy::kSpread)), ".P..P..P..P.");
  EXPECT_EQ(Text(PlanPins(twelve, 9 * kPage, PinPolicy::kSpread)), "PP.PPP.PPP.P");
  EXPECT_EQ(Text(PlanPins(twelve, 4 * kPage, PinPolicy::kPrefix)), "PPPP........");
  EXPECT_EQ(Text(PlanPins(twelve, 4 * kPage, PinPolicy::kNone)), "............");
  EXPECT_EQ(Text(PlanPins(twelve, 12 * kPage, PinPolicy::kSpread)), "PPPPPPPPPPPP");
}

TEST(PinPlan, AutoPinsTheFirstOnesNamedAndSpreadsTheRest) {
  const std::vector<int64_t> twelve(12, kPage);
  const std::vector<int> last_two = {10, 11};
  EXPECT_EQ(Text(PlanPins(twelve, 4 * kPage, PinPolicy::kAuto, last_two)), "..P....P..PP");
  EXPECT_EQ(Text(PlanPins(twelve, 2 * kPage, PinPolicy::kAuto, last_two)), "..........PP");
  EXPECT_EQ(PlanPins(twelve, 1 * kPage, PinPolicy::kAuto, last_two).pinned, PlanPins(twelve, 1 * kPage, PinPolicy::kSpread).pinned)
      << "not all of them fit";
  EXPECT_EQ(Text(PlanPins(twelve, 4 * kPage, PinPolicy::kSpread, last_two)), ".P..P..P..P.");
  EXPECT_EQ(PlanPins(twelve, 4 * kPage, PinPolicy::kAuto).pinned, PlanPins(twelve, 4 * kPage, PinPolicy::kSpread).pinned);
}

TEST(PinPlan, FillsItsBudgetAndNeverExceedsTheBudget) {
  SeededRandom random(4);
  for (int i = 0; i < 300; ++i) {
    std::vector<int64_t> units;
    int64_t smallest = INT64_MAX, total = 0;
    for (int64_t n = 1 + random.Below(40); n > 0; --n) units.push_back(1 + random.Below(100000));
    const auto pages = [](int64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; };
    for (const int64_t bytes : units) total += pages(bytes);
    const int64_t budget = random.Below(total + kPage);
    for (const PinPolicy policy : {PinPolicy::kAuto, PinPolicy::kSpread, PinPolicy::kPrefix}) {
      const PinPlan plan = PlanPins(units, budget, policy, /*first=*/{0});
      int64_t pinned = 0;
      for (size_t u = 0; u < units.size(); ++u) {
        if (plan.pinned[u]) pinned += pages(units[u]);
        else smallest = std::min(smallest, pages(units[u]));
      }
      EXPECT_EQ(pinned, plan.bytes);
      EXPECT_LE(plan.bytes, budget);
      const bool all = std::all_of(plan.pinned.begin(), plan.pinned.end(), [](bool pinned) { return pinned; });
      if (!all) {
        EXPECT_GT(smallest, budget - plan.bytes);  // Nothing more would fit.
      }
      smallest = INT64_MAX;
    }
  }
}

TEST(PinPolicy, HasNames) {
  EXPECT_EQ(ParsePinPolicy("prefix").value(), PinPolicy::kPrefix);
  EXPECT_EQ(ParsePinPolicy("first").status().message(), "pin: found \"first\", expected auto, spread, prefix or none");
}

}  // namespace
}  // namespace tessera
