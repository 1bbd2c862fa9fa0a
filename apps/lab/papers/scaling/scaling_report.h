// Test-time scaling on modeled phones: figures 8, 10 to 12, 16 and 17, as far as about time, energy and memory.
//
//   ASSIGN_OR_RETURN(const ProfileSet profiles, BuiltInProfiles());
//   ASSIGN_OR_RETURN(const ScalingReport report, MakeScalingReport(profiles, /*curves=*/{}));
//   Print(ScalingReportText(report));                     // tables beside the paper's figures; also as JSON, and drawn
//   for (const PaperOrder& order : report.orders) if (!order.holds) Print(order.where, order.found, order.why);
//
// Numbers come from the phone model (scaling_costs.h). The paper's figures (published.h) stand next to them in tables and JSON alone: none
// is a parameter, and no prediction uses one. The paper's curves of accuracy are pictures. So a pair of models states the gain in accuracy
// at which samples of the smaller break even, as a share of the gap between both models' accuracies with one sample. Threads: one at a
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/lab/papers/figures/paper_order.h"
#include "tessera/apps/lab/papers/npu/npu_predictions.h"
#include "tessera/apps/lab/papers/scaling/scaling_costs.h"
#include "tessera/apps/lab/papers/scaling/scaling_curves.h"
#include "tessera/apps/lab/papers/scaling/scaling_power.h"

namespace tessera {

inline constexpr int kScalingRows[] = {1, 2, 4, 8, 16};                       // Batches, and numbers of samples in tables.
inline constexpr int kScalingPrompts[] = {512, 1024, 2048, 4096};             // Figure 17: from the least to the most.
inline constexpr int kMostScalingSamples = 32;                                // Rows of one tile of the matrix unit.
inline constexpr char kMeasuredPhone[] = "8gen3";                             // The OnePlus 12, of sections 7.2.3, 7.4 and 7.5.
// Figure 11: of the 8 Gen 2 only models that one session can address.
struct ScalingRun { const char *phone, *shape; };
inline constexpr ScalingRun kScalingRuns[] = {{"8gen2", "qwen2.5-1.5b"}, {"8gen2", "llama-3.2-1b"},  {"8gen3", "qwen2.5-1.5b"},
                                              {"8gen3", "qwen2.5-3b"},   {"8gen3", "llama-3.2-1b"},  {"8gen3", "llama-3.2-3b"},
                                              {"8elite", "qwen2.5-1.5b"}, {"8elite", "qwen2.5-3b"},  {"8elite", "llama-3.2-1b"},
                                              {"8elite", "llama-3.2-3b"}};

// Figure 11: steps over rows, by kScalingRows.
struct ScalingSteps {
  ScalingModel model = {};
  std::vector<PassCost> passes = {};

  double TokensPerSecond(size_t i) const { return kScalingRows[i] / passes[i].seconds; }
  double HeadShare(size_t i) const;   // The CPU's part of the time.
};

// Figure 17: seconds of a step of `rows` rows behind a prompt, by kScalingPrompts.
struct ScalingPrompts {
  std::string shape = {};
  int rows = 0;
  std::vector<double> seconds = {};
};

// Figure 8: attention in a step of `rows` rows.
struct ScalingAttention {
  int rows = 0;
  OperatorCost cost = {};
  double ShareOf(Bound part) const;   // The part's share of the summed busy times of matrix unit, vector unit and memory.
};

// Figure 12: by kScalingRows.
struct ScalingPower {
  std::string shape = {};
  std::vector<PowerRange> watts = {};
  std::vector<PowerRange> energy = {};   // A step's energy, relative to a step of one row.
};

// Sections 7.2.2 and 7.5.
struct ScalingMemory {
  ScalingModel model = {};
  int64_t npu_bytes = 0, bytes = 0;   // npu_bytes: the part of `bytes` that the NPU addresses.
  int64_t sessions = 0;
};

// Figure 10 without its accuracies: samples of the smaller model next to one sample of the larger model.
struct ScalingPair {
  std::string phone = {}, small = {}, large = {};
  std::vector<WorkCost> answers = {};   // The smaller model's, by numbers of samples from 1 to kMostScalingSamples,
  std::vector<WorkCost> whole = {};     // and with the prompt and a scorer that reads the answers.
  WorkCost large_answer = {}, large_whole = {};   // One sample, without a scorer.

  // REQUIRES: 1 <= samples <= kMostScalingSamples.
  double TimeRatio(int samples) const { return At(answers, samples).seconds / large_answer.seconds; }
  double EnergyRatio(int samples) const { return At(answers, samples).joules / large_answer.joules; }
  double WholeRatio(int samples) const { return At(whole, samples).seconds / large_whole.seconds; }
  // Returns the time that `samples` samples add to the time of one, divided by the time that the larger model adds. On the line between one
  // sample of each model, the same share of the gap in accuracy is gained. None: the larger model takes no longer than the smaller.
  std::optional<double> GapShare(int samples) const;
  // Returns the most samples that take no longer than one of the larger model; 0: not even one.
  int MostSamples() const;

 private:
  static const WorkCost& At(const std::vector<WorkCost>& costs, int samples) { return costs[static_cast<size_t>(samples) - 1]; }
};

// The time ratio of the most samples in tables under another assumption, by pairs.
struct ScalingOtherwise {
  std::string what = {};
  std::vector<double> ratios = {};
};

struct ScalingReport {
  ScalingAssumptions assumptions = {};
  std::vector<Prediction> predictions = {};
  std::vector<ScalingSteps> steps = {};             // By kScalingRuns.
  std::vector<ScalingAttention> attention = {};     // By kScalingRows.
  std::vector<ScalingPrompts> prompts = {};
  std::vector<ScalingPower> powers = {};
  PowerRange energy_beside = {};                    // Eight rows of the 1.5B relative to one of the 3B.
  std::vector<ScalingMemory> memory = {};
  std::vector<ScalingPair> pairs = {};
  std::vector<ScalingOtherwise> otherwise = {};
  std::vector<AccuracyCurve> curves = {};
  std::vector<PaperOrder> orders = {};

  const ScalingSteps& StepsOf(absl::string_view phone, absl::string_view shape) const;   // REQUIRES: one of kScalingRuns.
};

// Computes the report. NotFound for a set without the paper's phones; the errors of costs. REQUIRES: answers of two tokens or more, the
// others positive.
absl::StatusOr<ScalingReport> MakeScalingReport(const ProfileSet& profiles, std::vector<AccuracyCurve> curves,
                                                const ScalingAssumptions& assumptions = {});

// Returns the orders that the paper states, judged by this report's numbers. Uses no figure of the paper.
std::vector<PaperOrder> ScalingOrders(const ScalingReport& report);

// Returns the text of ShownTables (shown_tables.h); `table`: a table's name. WrongUsage (table) for an unknown name.
absl::StatusOr<std::string> ScalingReportText(const ScalingReport& report, absl::string_view table = "");
std::string ScalingReportJson(const ScalingReport& report);
// Time of samples next to one sample of the larger model, on the measured phone.
std::string ScalingReportSvg(const ScalingReport& report);

}  // namespace tessera
