// The wait of the first pass after a prompt for decode graphs is no cost of a pass, neither in the costs by which rows are weighed nor in
// reports.
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/spec/speculation/speculator.h"
#include "tessera/tests/fakes/switching_phone.h"

namespace tessera {
namespace {

struct Written {
  SpeculationReport report = {};
  CostProfile costs = {};
  double waited_seconds = 0, seconds = 0;   // For graphs, and in all.
};

// Nothing is drafted, so that all passes are plain ones; times are the phone's.
Written WritePlainly(SwitchRule rule) {
  SwitchingPhone phone(rule, /*load=*/1);
  const std::unique_ptr<Session> session = Must(phone.engine->NewSession());
  Must(session->Append(RandomTokens(40, 5)));
  Written written;
  Speculator speculator(std::vector<std::unique_ptr<Drafter>>(), {.costs = &written.costs, .clock = &phone.clock});
  const double before = phone.device->spent().waited_seconds, begin = phone.Seconds();
  const Sampler sampler = Must(Sampler::Create({.temperature = 0}));
  Must(Generate(*session, sampler, {.max_tokens = 12, .ignore_end = true, .speculator = &speculator}));
  written.seconds = phone.Seconds() - begin;
  written.waited_seconds = phone.device->spent().waited_seconds - before;
  written.report = speculator.report();
  return written;
}

TEST(SwitchingCosts, AWaitForGraphsIsNoCostOfAPass) {
  for (const SwitchRule rule : {SwitchRule::kSynchronous, SwitchRule::kNaive, SwitchRule::kPublished, SwitchRule::kPlanned}) {
    const Written written = WritePlainly(rule);
    const SpeculationReport& report = written.report;
    ASSERT_GT(report.steps, 5);
    const double pass = report.pass_seconds / static_cast<double>(report.steps);
    EXPECT_NEAR(written.costs.PassSeconds({}), pass, 1e-3 * pass) << SwitchRuleName(rule) << ": all passes of a static graph are alike";
    EXPECT_NEAR(report.Gain().value_or(0), 1, 1e-3) << SwitchRuleName(rule);
    EXPECT_NEAR(report.Seconds() + written.waited_seconds, written.seconds, 1e-3 * written.seconds) << SwitchRuleName(rule);
    if (rule != SwitchRule::kSynchronous) continue;
    EXPECT_GT(written.waited_seconds, 3 * pass) << "a wait that would be seen";
  }
}

}  // namespace
}  // namespace tessera
