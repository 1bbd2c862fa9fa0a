#include "tessera/apps/lab/papers/scaling/scaling_report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr char kSmall[] = "qwen2.5-1.5b", kLarge[] = "qwen2.5-3b";   // Figures 12, 16 and 17.
constexpr int kAttentionPositions = 4096;                              // Figure 8's prompt.
constexpr double kMebibyte = 1 << 20, kGibibyte = 1 << 30;
constexpr int kMostRows = kScalingRows[std::size(kScalingRows) - 1];
constexpr size_t kEightRows = 3;                                       // In kScalingRows.
static_assert(kScalingRows[kEightRows] == 8);

// Figure 10: its phones, and each model with the larger models of its family.
constexpr const char* kPairPhones[] = {"8gen3", "8elite"};
struct Sizes { const char *small, *large; };
constexpr Sizes kSizes[] = {{"qwen2.5-1.5b", "qwen2.5-3b"}, {"qwen2.5-3b", "qwen2.5-7b"}, {"llama-3.2-1b", "llama-3.2-3b"},
                            {"qwen2.5-1.5b", "qwen2.5-7b"}};
constexpr const char* kMemoryPhones[] = {"8gen2", "8gen3", "8elite"};
constexpr const char* kMemoryShapes[] = {"llama-3.2-1b", "qwen2.5-1.5b", "qwen2.5-3b", "llama-3.2-3b", "qwen2.5-7b"};

class ScalingReporter {
 public:
  ScalingReporter(const ProfileSet& profiles, const ScalingAssumptions& assumptions, ScalingReport& report)
      : profiles_(profiles), costs_(profiles, models_, assumptions), report_(report) {}

  absl::Status All() {
    RETURN_IF_ERROR(Steps());
    RETURN_IF_ERROR(Attention());
    RETURN_IF_ERROR(Prompts());
    RETURN_IF_ERROR(Powers());
    RETURN_IF_ERROR(Memory());
    RETURN_IF_ERROR(Pairs());
    RETURN_IF_ERROR(Otherwise());
    Predict();
    return absl::OkStatus();
  }

 private:
  absl::Status Steps() {
    for (const ScalingRun& run : kScalingRuns) {
      ScalingSteps& steps = report_.steps.emplace_back(ScalingSteps{.model = {run.phone, run.shape}});
      for (const int rows : kScalingRows) {
        ASSIGN_OR_RETURN(steps.passes.emplace_back(), costs_.Step(steps.model, rows, costs_.assumptions().step_positions));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Attention() {
    for (const int rows : kScalingRows) {
      ASSIGN_OR_RETURN(const PassCost step, costs_.Step({kMeasuredPhone, kSmall}, rows, kAttentionPositions));
      report_.attention.push_back({.rows = rows, .cost = step.operators.at("Attention")});
    }
    return absl::OkStatus();
  }

  // All samples share the prompt, and each row adds its token.
  absl::Status Prompts() {
    for (const char* const shape : {kSmall, kLarge}) {
      for (const int rows : kScalingRows) {
        ScalingPrompts& prompts = report_.prompts.emplace_back(ScalingPrompts{.shape = shape, .rows = rows});
        for (const int tokens : kScalingPrompts) {
          ASSIGN_OR_RETURN(const PassCost step, costs_.Step({kMeasuredPhone, shape}, rows, tokens + rows));
          prompts.seconds.push_back(step.seconds);
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Powers() {
    ASSIGN_OR_RETURN(const DeviceProfile* const profile, costs_.ProfileOf(kMeasuredPhone));
    for (const char* const shape : {kSmall, kLarge}) {
      const std::vector<PassCost>& passes = report_.StepsOf(kMeasuredPhone, shape).passes;
      ScalingPower& power = report_.powers.emplace_back(ScalingPower{.shape = shape});
      for (const PassCost& pass : passes) {
        power.watts.push_back(PowerOf(pass, *profile));
        power.energy.push_back(EnergyRatioOf(pass, passes[0], *profile));
      }
    }
    report_.energy_beside = EnergyRatioOf(report_.StepsOf(kMeasuredPhone, kSmall).passes[kEightRows],
                                          report_.StepsOf(kMeasuredPhone, kLarge).passes[0], *profile);
    return absl::OkStatus();
  }

  absl::Status Memory() {
    for (const char* const phone : kMemoryPhones) {
      for (const char* const shape : kMemoryShapes) {
        ASSIGN_OR_RETURN(const PassCoster* const coster, costs_.CosterOf({phone, shape}));
        const PhoneMemory& memory = coster->memory();
        report_.memory.push_back({.model = {phone, shape},
                                  .npu_bytes = memory.weights + memory.keys_and_values + memory.activations,
                                  .bytes = memory.total(),
                                  .sessions = coster->sessions()});
      }
    }
    return absl::OkStatus();
  }

  // Returns the samples' costs, shared by all pairs with `model` as the smaller one.
  absl::StatusOr<const ScalingPair*> SamplesOf(const ScalingModel& model) {
    const std::string key = absl::StrCat(model.phone, " ", model.shape);
    if (const auto found = samples_.find(key); found != samples_.end()) return &found->second;
    ASSIGN_OR_RETURN(const WorkCost prompt, costs_.Prompt(model));
    ScalingPair samples = {.phone = model.phone, .small = model.shape};
    for (int count = 1; count <= kMostScalingSamples; ++count) {
      ASSIGN_OR_RETURN(const WorkCost answers, costs_.Answers(model, count));
      ASSIGN_OR_RETURN(WorkCost whole, costs_.Scoring(model.phone, count));
      whole += prompt;
      whole += answers;
      samples.answers.push_back(answers);
      samples.whole.push_back(whole);
    }
    return &samples_.emplace(key, std::move(samples)).first->second;
  }

  absl::Status Pairs() {
    for (const char* const phone : kPairPhones) {
      for (const Sizes& sizes : kSizes) {
        ASSIGN_OR_RETURN(const ScalingPair* const samples, SamplesOf({phone, sizes.small}));
        ScalingPair pair = *samples;
        pair.large = sizes.large;
        ASSIGN_OR_RETURN(pair.large_answer, costs_.Answers({phone, sizes.large}, 1));
        ASSIGN_OR_RETURN(pair.large_whole, costs_.Prompt({phone, sizes.large}));
        pair.large_whole += pair.large_answer;
        report_.pairs.push_back(std::move(pair));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddOtherwise(std::string what, const ProfileSet& profiles, const ScalingAssumptions& assumptions) {
    ScalingCosts costs(profiles, models_, assumptions);
    ScalingOtherwise& otherwise = report_.otherwise.emplace_back(ScalingOtherwise{.what = std::move(what)});
    for (const ScalingPair& pair : report_.pairs) {
      ASSIGN_OR_RETURN(const WorkCost small, costs.Answers({pair.phone, pair.small}, kMostRows));
      ASSIGN_OR_RETURN(const WorkCost large, costs.Answers({pair.phone, pair.large}, 1));
      otherwise.ratios.push_back(small.seconds / large.seconds);
    }
    return absl::OkStatus();
  }

  absl::Status Otherwise() {
    const ScalingAssumptions& assumed = costs_.assumptions();
    RETURN_IF_ERROR(AddOtherwise("as assumed", profiles_, assumed));
    ScalingAssumptions shorter = assumed, longer = assumed, own = assumed;
    shorter.answer_tokens /= 2;
    longer.answer_tokens *= 2;
    own.all_samples = false;
    RETURN_IF_ERROR(AddOtherwise(absl::StrCat("answers of ", shorter.answer_tokens, " tokens"), profiles_, shorter));
    RETURN_IF_ERROR(AddOtherwise(absl::StrCat("answers of ", longer.answer_tokens, " tokens"), profiles_, longer));
    RETURN_IF_ERROR(AddOtherwise("rows attend to their own sample alone", profiles_, own));
    constexpr char kProducts[] = "cpu_products_per_second";
    RETURN_IF_ERROR(AddOtherwise("a head as slow as the profile allows", AtEnd(profiles_, kProducts, RangeEnd::kLow), assumed));
    return AddOtherwise("a head as fast as the profile allows", AtEnd(profiles_, kProducts, RangeEnd::kHigh), assumed);
  }

  void Add(const char* id, double low, double high, std::string asked) {
    report_.predictions.push_back({.id = id, .low = low, .high = high, .asked = std::move(asked)});
  }

  void PredictPower(const char* id, const ScalingPower& power, bool most_alone) {
    const auto [least, most] = std::minmax_element(power.watts.begin(), power.watts.end(),
                                                   [](const PowerRange& a, const PowerRange& b) { return a.value < b.value; });
    Add(id, most_alone ? most->value : least->value, most->value,
        absl::StrCat(kMeasuredPhone, ", ", power.shape, ", 1 to ", kMostRows, " rows: energy by time, of assumed powers"));
  }

  void PredictMemory(const char* npu_id, const char* id, const char* shape) {
    const auto found = std::find_if(report_.memory.begin(), report_.memory.end(), [&](const ScalingMemory& memory) {
      return memory.model.phone == kMeasuredPhone && memory.model.shape == shape;
    });
    CHECK(found != report_.memory.end()) << shape;
    const std::string asked = absl::StrCat(kMeasuredPhone, ", ", shape, ", context ", kScalingContext);
    const double npu = static_cast<double>(found->npu_bytes) / kMebibyte, all = static_cast<double>(found->bytes) / kGibibyte;
    Add(npu_id, npu, npu, absl::StrCat(asked, ": weights in tiles, keys and values, activations"));
    Add(id, all, all, absl::StrCat(asked, ": with embedding table and head; what the app itself takes is not modeled"));
  }

  void Predict() {
    double least = 1, most = 0;
    for (const ScalingSteps& steps : report_.steps) {
      const double share = steps.HeadShare(steps.passes.size() - 1);
      least = std::min(least, share);
      most = std::max(most, share);
    }
    Add("001-head-share", 100 * least, 100 * most,
        absl::StrCat("all phones and models of figure 11, ", kMostRows, " rows at ", costs_.assumptions().step_positions, " positions"));
    PredictMemory("001-npu-memory-1.5b", "001-memory-1.5b", kSmall);
    PredictMemory("001-npu-memory-3b", "001-memory-3b", kLarge);
    PredictPower("001-power-1.5b", report_.powers[0], /*most_alone=*/true);
    PredictPower("001-power-3b", report_.powers[1], /*most_alone=*/false);
  }

  const ProfileSet& profiles_;
  KnownModels models_;
  ScalingCosts costs_;
  ScalingReport& report_;
  std::map<std::string, ScalingPair> samples_;   // Without a larger model.
};

}  // namespace

double ScalingSteps::HeadShare(size_t i) const { return passes[i].busy[static_cast<size_t>(Bound::kCpu)] / passes[i].seconds; }

double ScalingAttention::ShareOf(Bound part) const {
  double sum = 0;
  for (const Bound one : {Bound::kMatrix, Bound::kVector, Bound::kDma}) sum += cost.busy[static_cast<size_t>(one)];
  return cost.busy[static_cast<size_t>(part)] / sum;
}

std::optional<double> ScalingPair::GapShare(int samples) const {
  const double one = At(answers, 1).seconds;
  if (large_answer.seconds <= one) return std::nullopt;
  return (At(answers, samples).seconds - one) / (large_answer.seconds - one);
}

int ScalingPair::MostSamples() const {
  int most = 0;
  while (most < kMostScalingSamples && TimeRatio(most + 1) <= 1) ++most;
  return most;
}

const ScalingSteps& ScalingReport::StepsOf(absl::string_view phone, absl::string_view shape) const {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const ScalingSteps& one) {
    return one.model.phone == phone && one.model.shape == shape;
  });
  CHECK(found != steps.end()) << phone << " " << shape;
  return *found;
}

absl::StatusOr<ScalingReport> MakeScalingReport(const ProfileSet& profiles, std::vector<AccuracyCurve> curves,
                                                const ScalingAssumptions& assumptions) {
  ScalingReport report = {.assumptions = assumptions, .curves = std::move(curves)};
  RETURN_IF_ERROR(ScalingReporter(profiles, assumptions, report).All());
  report.orders = ScalingOrders(report);
  return report;
}

}  // namespace tessera
