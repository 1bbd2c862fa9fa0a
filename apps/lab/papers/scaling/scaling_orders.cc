// Judges the orders that the test-time scaling paper states about steps of several samples, by a report's own numbers. Where the paper's
// words are no order ("mild", "close to"), the claim states our reading.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "tessera/apps/lab/papers/scaling/scaling_report.h"

namespace tessera {
namespace {

constexpr int kMostRows = kScalingRows[std::size(kScalingRows) - 1];
// Our readings of the paper's words.
constexpr double kCloseToHalf = 0.45, kMildLoss = 0.2, kAlike = 0.1;
constexpr int kSamplesOfText = 8;            // Section 7.2.3.

std::string WhereOf(const ScalingModel& model) { return absl::StrCat(model.phone, ", ", model.shape); }

std::string Joined(const std::vector<double>& values, int decimals) {
  return absl::StrJoin(values, ", ", [&](std::string* out, double value) { absl::StrAppendFormat(out, "%.*f", decimals, value); });
}

bool Ascends(const std::vector<double>& values) {
  return std::adjacent_find(values.begin(), values.end(), [](double a, double b) { return a >= b; }) == values.end();
}

// Returns the matrix unit's seconds on weights.
double ProductSeconds(const PassCost& pass) {
  double seconds = 0;
  for (const auto& [label, cost] : pass.operators) {
    if (absl::EndsWith(label, ".weight")) seconds += cost.busy[static_cast<size_t>(Bound::kMatrix)];
  }
  return seconds;
}

// Describes a step of the most rows next to a step of one row.
std::string PartsOf(const ScalingSteps& steps) {
  const PassCost &one = steps.passes.front(), &most = steps.passes.back();
  return absl::StrFormat("layers %.1f and %.1f ms, the head %.1f and %.1f ms, of 1 and %d rows", 1e3 * one.layer_seconds,
                         1e3 * most.layer_seconds, 1e3 * one.head_seconds, 1e3 * most.head_seconds, kMostRows);
}

// Section 7.2.2.
void AddSteps(const ScalingSteps& steps, std::vector<PaperOrder>& orders) {
  const auto add = [&](std::string claim, std::string found, bool holds) {
    orders.push_back({.claim = std::move(claim), .where = WhereOf(steps.model), .found = std::move(found), .holds = holds,
                      .why = PartsOf(steps)});
  };
  std::vector<double> speeds;
  for (size_t i = 0; i < steps.passes.size(); ++i) speeds.push_back(steps.TokensPerSecond(i));
  const std::string tokens = absl::StrCat(Joined(speeds, 1), " tokens per second");
  add("figure 11: throughput grows with the batch", tokens, Ascends(speeds));
  add("section 7.2.2: it grows less than the batch", tokens, speeds.back() < kMostRows * speeds.front());
  const double one = ProductSeconds(steps.passes.front()), most = ProductSeconds(steps.passes.back());
  add("section 7.2.2: the matrix unit's time for products does not grow", absl::StrFormat("%.3f and %.3f ms", 1e3 * one, 1e3 * most),
      most <= one * (1 + 1e-9));
  const double share = steps.HeadShare(steps.passes.size() - 1);
  const std::string shares = absl::StrFormat("%.1f and %.1f %%", 100 * steps.HeadShare(0), 100 * share);
  add("section 7.2.2: the head's share grows with the batch", shares, share > steps.HeadShare(0));
  add(absl::StrFormat("section 7.2.2: at %d rows the head takes close to half of a step or more (read as %.0f %%)", kMostRows,
                      100 * kCloseToHalf),
      shares, share >= kCloseToHalf);
}

// Section 5.2.1.
void AddAttention(const ScalingReport& report, std::vector<PaperOrder>& orders) {
  std::vector<double> shares;
  for (const ScalingAttention& attention : report.attention) shares.push_back(100 * attention.ShareOf(Bound::kVector));
  const ScalingAttention& most = report.attention.back();
  const double matrix = 100 * most.ShareOf(Bound::kMatrix), memory = 100 * most.ShareOf(Bound::kDma);
  const std::string found = absl::StrFormat("softmax %s %%; at %d rows products %.0f %% and memory %.0f %%", Joined(shares, 0),
                                            most.rows, matrix, memory);
  const std::string where = absl::StrCat(kMeasuredPhone, ", qwen2.5-1.5b, 4096 positions");
  const std::string why = "busy times of the parts in attention";
  orders.push_back({.claim = "figure 8: softmax's share of attention grows with the rows", .where = where, .found = found,
                    .holds = Ascends(shares), .why = why});
  orders.push_back({.claim = "figure 8: with many rows softmax takes more of attention than products or memory", .where = where,
                    .found = found, .holds = shares.back() > matrix && shares.back() > memory, .why = why});
}

// Section 7.2.3.
void AddPowers(const ScalingReport& report, std::vector<PaperOrder>& orders) {
  const ScalingPower &small = report.powers[0], &large = report.powers[1];
  const auto where = [](const ScalingPower& power) { return absl::StrCat(kMeasuredPhone, ", ", power.shape); };
  const auto ends = [](const ScalingPower& power) {
    return absl::StrFormat("%.2f and %.2f W", power.watts.front().value, power.watts.back().value);
  };
  const auto growth = [](const ScalingPower& power) { return power.watts.back().value / power.watts.front().value; };
  orders.push_back({.claim = "figure 12: power of the 1.5B grows with the batch", .where = where(small), .found = ends(small),
                    .holds = growth(small) > 1, .why = "powers of the parts are assumed"});
  orders.push_back({.claim = absl::StrFormat("section 7.2.3: power of the 3B stays the same (read as: within %.0f %%)", 100 * kAlike),
                    .where = where(large), .found = ends(large), .holds = growth(large) - 1 <= kAlike && growth(large) >= 1 - kAlike,
                    .why = "powers of the parts are assumed"});
  for (const ScalingPower& power : {small, large}) {
    const ScalingSteps& steps = report.StepsOf(kMeasuredPhone, power.shape);
    const double time = steps.passes.back().seconds / steps.passes.front().seconds, energy = power.energy.back().value;
    orders.push_back({.claim = absl::StrFormat("section 7.2.3: a step's energy grows with the batch as its time does (read as: within "
                                               "%.0f %%)", 100 * kAlike),
                      .where = where(power), .found = absl::StrFormat("%.3f and %.3f times", energy, time),
                      .holds = energy / time - 1 <= kAlike && energy / time >= 1 - kAlike, .why = PartsOf(steps)});
    std::vector<double> of_token;
    for (size_t i = 0; i < power.energy.size(); ++i) of_token.push_back(-power.energy[i].value / kScalingRows[i]);
    orders.push_back({.claim = "figure 12: a token's energy falls with the batch", .where = where(power),
                      .found = absl::StrFormat("%.3f of one row's, at %d rows", -of_token.back(), kMostRows), .holds = Ascends(of_token),
                      .why = PartsOf(steps)});
  }
  const PowerRange& beside = report.energy_beside;
  orders.push_back({.claim = "section 7.2.3: 8 rows of the 1.5B take less energy than one of the 3B", .where = kMeasuredPhone,
                    .found = absl::StrFormat("%.3f times, by any powers that are assumed %.3f to %.3f", beside.value, beside.low,
                                             beside.high),
                    .holds = beside.value < 1, .why = "powers of the parts are assumed"});
}

// Section 7.5.
void AddPrompts(const ScalingReport& report, std::vector<PaperOrder>& orders) {
  for (const ScalingPrompts& prompts : report.prompts) {
    const double loss = 1 - prompts.seconds.front() / prompts.seconds.back();
    std::vector<double> speeds;
    for (const double seconds : prompts.seconds) speeds.push_back(prompts.rows / seconds);
    const std::string where = absl::StrCat(kMeasuredPhone, ", ", prompts.shape, ", rows: ", prompts.rows);
    const std::string found = absl::StrCat(Joined(speeds, 1), " tokens per second");
    orders.push_back({.claim = "figure 17: decoding is slower behind longer prompts", .where = where, .found = found,
                      .holds = Ascends(prompts.seconds), .why = "attention takes no longer"});
    orders.push_back({.claim = absl::StrFormat("figure 17: from 512 to 4096 tokens by little (read as: less than %.0f %%)",
                                               100 * kMildLoss),
                      .where = where, .found = absl::StrFormat("%.1f %%", 100 * loss), .holds = loss < kMildLoss,
                      .why = "attention reads keys and values at the vector unit's rate"});
  }
}

// Sections 7.2.1 and 7.2.2.
void AddMemory(const ScalingReport& report, std::vector<PaperOrder>& orders) {
  for (const ScalingMemory& memory : report.memory) {
    if (memory.model.phone != "8gen2") continue;
    const bool runs = std::any_of(std::begin(kScalingRuns), std::end(kScalingRuns), [&](const ScalingRun& run) {
      return memory.model.phone == run.phone && memory.model.shape == run.shape;
    });
    orders.push_back({.claim = "section 7.2.1: one session of the 8 Gen 2 addresses models below 3B, and no others",
                      .where = WhereOf(memory.model),
                      .found = absl::StrFormat("%d MiB, sessions: %d", memory.npu_bytes >> 20, memory.sessions),
                      .holds = (memory.sessions == 1) == runs,
                      .why = "the profile's session, against weights, keys and values, and activations"});
  }
}

// Section 7.2.1: the part of figure 10 about time.
void AddPairs(const ScalingReport& report, std::vector<PaperOrder>& orders) {
  for (const ScalingPair& pair : report.pairs) {
    const std::string where = absl::StrCat(pair.phone, ", ", pair.small, " beside ", pair.large);
    orders.push_back({.claim = absl::StrFormat("section 7.2.1: %d samples of a smaller model take less time than one of a larger",
                                               kSamplesOfText),
                      .where = where, .found = absl::StrFormat("%.3f times", pair.TimeRatio(kSamplesOfText)),
                      .holds = pair.TimeRatio(kSamplesOfText) < 1, .why = "see the tables of steps"});
    orders.push_back({.claim = absl::StrFormat("section 7.2.3: and they take less energy, %d to one", kSamplesOfText), .where = where,
                      .found = absl::StrFormat("%.3f times", pair.EnergyRatio(kSamplesOfText)),
                      .holds = pair.EnergyRatio(kSamplesOfText) < 1, .why = "powers of the parts are assumed"});
  }
}

}  // namespace

std::vector<PaperOrder> ScalingOrders(const ScalingReport& report) {
  std::vector<PaperOrder> orders;
  for (const ScalingSteps& steps : report.steps) AddSteps(steps, orders);
  AddAttention(report, orders);
  AddPowers(report, orders);
  AddPrompts(report, orders);
  AddMemory(report, orders);
  AddPairs(report, orders);
  for (PaperOrder& order : orders) {
    if (order.holds) order.why.clear();
  }
  return orders;
}

}  // namespace tessera
