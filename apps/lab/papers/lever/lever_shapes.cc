#include "tessera/apps/lab/papers/lever/lever_shapes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glog/logging.h"
#include "tessera/apps/lab/papers/lever/streamed_layers.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr const char* kFarSets[] = {"mbpp", "gsm8k", "mt_bench"};   // Table 5's, in its order.
constexpr char kFarDraft[] = "qwen3-0.6b", kLever[] = "lever";
constexpr int kPinnedPercents[] = {0, 20, 40, 60, 80, 100};         // Table 6.
constexpr int kLengths[] = {32, 64, 128, 256, 512};                 // Table 7.
constexpr int kBudgets[] = {16, 32};                                // Table 2.
constexpr int kBudgetPositions = 256;                               // In the cache; the paper does not state the number.

struct Workload { const char *name, *model, *set; };
constexpr Workload kWorkloads[] = {{"Q8 / MBPP", "Qwen3-8B", "mbpp"},
                                   {"L8 / MBPP", "Llama-3.1-8B", "mbpp"},
                                   {"Q8 / GSM8K", "Qwen3-8B", "gsm8k"},
                                   {"L8 / GSM8K", "Llama-3.1-8B", "gsm8k"}};

absl::Status CheckSets(const char* name, const DraftRecording& recording, absl::Span<const char* const> sets) {
  for (const char* set : sets) {
    if (recording.Has(set)) continue;
    return absl::FailedPreconditionError(absl::StrCat("recording ", name, ": found no text of ", set, ", expected some"));
  }
  return absl::OkStatus();
}

std::string WhatWasRecorded(const char* name, const DraftRecording& recording) {
  return absl::StrFormat("%s: %d texts by %s (sha256 %s), draft %s (sha256 %s), %s; %.1f %% of tokens were the draft's likeliest; off the "
                         "path: %s (after wrong tokens the next is %.2f probable, by the rule %.2f)",
                         name, static_cast<int>(recording.texts.size()), recording.model, recording.model_sha256.substr(0, 12),
                         recording.draft, recording.draft_sha256.substr(0, 12), recording.command, 100 * recording.HitShare(""),
                         kOffPathRule, recording.wrong.said, recording.wrong.by_rule);
}

class Builder {
 public:
  Builder(const ProfileSet& profiles, const LeverDrafts& drafts) : drafts_(drafts), costers_(profiles, models_) {}

  absl::StatusOr<LeverReport> Build() {
    report_.recordings = {WhatWasRecorded("near", drafts_.near), WhatWasRecorded("far", drafts_.far)};
    RETURN_IF_ERROR(AddConfigurations());
    for (const LeverModel& model : kLeverModels) RETURN_IF_ERROR(AddExecution(model));
    AddSpeedups();
    RETURN_IF_ERROR(AddOneToken());
    RETURN_IF_ERROR(AddBudgets());
    RETURN_IF_ERROR(AddDraftQuality());
    RETURN_IF_ERROR(AddPinning());
    RETURN_IF_ERROR(AddLengths());
    report_.series.push_back({.table = "figure12",
                              .row = "Lever",
                              .columns = {"rows kept, %", "verification shorter by, %", "accepted tokens kept, %"},
                              .values = {std::nullopt, std::nullopt, std::nullopt},
                              .missed = "not modeled: recordings have no scores of an exit predictor"});
    report_.orders = LeverOrders(report_);
    return std::move(report_);
  }

 private:
  // Caches runs: several tables ask for the same run.
  absl::StatusOr<LeverRun> Simulate(const LeverCosts& costs, const LeverSetup& setup, const DraftRecording& recording, const char* set) {
    const RunKey key = {&costs, &recording, set, setup.tree, setup.retrieval, setup.drafting, setup.head, setup.pinned, setup.most_tokens};
    if (const auto found = runs_.find(key); found != runs_.end()) return found->second;
    ASSIGN_OR_RETURN(const LeverRun run, SimulateLever(costs, setup, recording, set));
    runs_[key] = run;
    return run;
  }

  absl::StatusOr<const LeverCosts*> CostsOf(const LeverPhone& phone, const std::string& shape, const std::string& draft = kDraftHead) {
    const std::string key = absl::StrCat(phone.device, " ", phone.flash, " ", shape, " ", draft);
    if (const auto found = costs_.find(key); found != costs_.end()) return &found->second;
    const LeverCosts::Question question = {.device = phone.device, .flash = phone.flash, .shape = shape, .draft = draft};
    ASSIGN_OR_RETURN(LeverCosts costs, LeverCosts::Of(question, costers_));
    return &costs_.emplace(key, std::move(costs)).first->second;
  }

  static const char* ShapeOf(absl::string_view model) {
    const auto found = std::find_if(std::begin(kLeverModels), std::end(kLeverModels), [&](const LeverModel& m) { return model == m.name; });
    CHECK(found != std::end(kLeverModels)) << model;
    return found->shape;
  }

  absl::Status AddConfigurations() {
    for (const LeverPhone& phone : kLeverPhones) {
      for (const LeverModel& model : kLeverModels) {
        ASSIGN_OR_RETURN(const LeverCosts* const costs, CostsOf(phone, model.shape));
        for (const char* set : kLeverSets) {
          LeverConfiguration one = {.phone = phone.name, .model = model.name, .set = set};
          for (const char* system : kLeverSystems) {
            ASSIGN_OR_RETURN(one.runs.emplace_back(), Simulate(*costs, SetupOf(system), drafts_.near, set));
          }
          report_.configurations.push_back(std::move(one));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddExecution(const LeverModel& model) {
    ASSIGN_OR_RETURN(const LeverCosts* const costs, CostsOf(kLeverPhones[0], model.shape));
    LeverExecution execution = {.model = model.name};
    LeverRun lever;
    for (const char* tree : kLeverTrees) {
      std::vector<double> speeds, lengths;
      for (const char* set : kLeverSets) {
        ASSIGN_OR_RETURN(const LeverRun run, Simulate(*costs, SetupOf(tree), drafts_.near, set));
        speeds.push_back(run.tokens_per_second());
        lengths.push_back(run.tokens_per_pass());
        if (absl::string_view(tree) == kLever) lever += run;
      }
      execution.tokens_per_second.push_back(GeometricMean(speeds));
      execution.tokens_per_pass.push_back(GeometricMean(lengths));
    }
    execution.cycles = static_cast<double>(lever.passes);
    const double scale = lever.passes > 0 ? 1e3 / execution.cycles : 0;
    for (size_t way = 0; way < 3; ++way) {
      execution.draft_milliseconds[way] = scale * lever.draft_by_way[way];
      execution.head_milliseconds[way] = scale * lever.head_by_way[way];
    }
    RETURN_IF_ERROR(AddPruning(*costs, lever, execution));
    report_.executions.push_back(std::move(execution));
    return absl::OkStatus();
  }

  static int Rounded(double count) { return std::max(1, static_cast<int>(std::lround(count))); }

  // Adds the mean pass, and the same pass with only the reached rows in the upper half of the layers.
  static absl::Status AddPruning(const LeverCosts& costs, const LeverRun& lever, LeverExecution& execution) {
    const int rows = Rounded(lever.rows_per_pass()), reached = Rounded(lever.tokens_per_pass());
    ASSIGN_OR_RETURN(const double all, costs.LayerSeconds(rows, kBudgetPositions));
    ASSIGN_OR_RETURN(const double few, costs.LayerSeconds(reached, kBudgetPositions));
    const int upper = costs.layers() / 2;
    const auto steady = [&](double upper_seconds) {
      StreamedLayers layers({.layers = costs.layers(), .read_seconds = costs.read_seconds()});
      const auto of_layer = [&](int layer) { return layer < costs.layers() - upper ? all : upper_seconds; };
      const double first = layers.RunEach(0, of_layer);
      return layers.RunEach(first, of_layer) - first;
    };
    execution.pass_milliseconds = 1e3 * steady(all);
    execution.upper_milliseconds = 1e3 * upper * (all - few);
    execution.shortened_milliseconds = std::max(0.0, execution.pass_milliseconds - 1e3 * steady(few));   // Less than zero is rounding.
    return absl::OkStatus();
  }

  void AddSpeedups() {
    LeverSeries series = {.table = "section5.2", .row = "Lever over", .columns = {"Flash-AR", "Chain-SD", "EdgeLLM"}};
    for (const char* system : {"flash_ar", "chain", "edgellm"}) {
      std::vector<double> ratios;
      for (const LeverConfiguration& one : report_.configurations) ratios.push_back(one.SpeedOf(kLever) / one.SpeedOf(system));
      series.values.push_back(GeometricMean(ratios));
    }
    report_.series.push_back(std::move(series));
  }

  absl::Status AddOneToken() {
    for (const LeverModel& model : kLeverModels) {
      ASSIGN_OR_RETURN(const LeverCosts* const costs, CostsOf(kLeverPhones[0], model.shape));
      ASSIGN_OR_RETURN(const double layer, costs->LayerSeconds(1, kBudgetPositions));
      const double compute = 1e3 * (costs->layers() * layer + costs->call_seconds() + costs->HeadSeconds(HeadWay::kEagerNpu, 1, 1));
      const double reading = 1e3 * costs->layers() * costs->read_seconds();
      report_.series.push_back({.table = "table1",
                                .row = model.name,
                                .columns = {"compute, ms", "I/O, ms", "total, ms"},
                                .values = {compute, reading, compute + reading}});
    }
    return absl::OkStatus();
  }

  // Adds times of computing alone: the paper's times are less than its own time of reading.
  absl::Status AddBudgets() {
    for (const char* model : {"Llama-3.1-8B", "Qwen3-8B"}) {
      ASSIGN_OR_RETURN(const LeverCosts* const costs, CostsOf(kLeverPhones[0], ShapeOf(model)));
      for (const int rows : kBudgets) {
        LeverSetup setup = SetupOf("opt_tree");
        setup.tree = absl::StrCat("opt_tree:nodes=", rows - 1, ",threshold=0.01");
        LeverRun run;
        for (const char* set : kLeverSets) {
          ASSIGN_OR_RETURN(const LeverRun more, Simulate(*costs, setup, drafts_.near, set));
          run += more;
        }
        ASSIGN_OR_RETURN(const double all, VerifySeconds(*costs, rows));
        ASSIGN_OR_RETURN(const double reached, VerifySeconds(*costs, Rounded(run.tokens_per_pass())));
        report_.series.push_back({.table = "table2",
                                  .row = absl::StrCat(model, ", ", rows),
                                  .columns = {"verify, ms", "waste, ms", "waste, %"},
                                  .values = {1e3 * all, 1e3 * (all - reached), 100 * (all - reached) / all}});
      }
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<double> VerifySeconds(const LeverCosts& costs, int rows) {
    ASSIGN_OR_RETURN(const double layer, costs.LayerSeconds(rows, kBudgetPositions));
    return costs.layers() * layer + costs.call_seconds() + costs.HeadSeconds(HeadWay::kEagerNpu, rows, rows);
  }

  absl::Status AddDraftQuality() {
    const struct { const char *name, *draft; const DraftRecording& recording; } all[] = {{"EAGLE3", kDraftHead, drafts_.near},
                                                                                       {"Qwen3 (0.6B)", kFarDraft, drafts_.far}};
    for (const auto& draft : all) {
      ASSIGN_OR_RETURN(const LeverCosts* const costs, CostsOf(kLeverPhones[0], ShapeOf("Qwen3-8B"), draft.draft));
      for (const char* system : {"chain", "edgellm", kLever}) {
        std::vector<double> speeds;
        for (const char* set : kFarSets) {
          ASSIGN_OR_RETURN(const LeverRun run, Simulate(*costs, SetupOf(system), draft.recording, set));
          speeds.push_back(run.tokens_per_second());
        }
        speeds.push_back(GeometricMean(speeds));
        report_.series.push_back({.table = "table5",
                                  .row = absl::StrCat(draft.name, ", ", LeverSystemName(system)),
                                  .columns = {"MBPP", "GSM8K", "MT-Bench", "Geo."},
                                  .values = {speeds.begin(), speeds.end()}});
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<double> LeverSpeed(const Workload& work, const LeverSetup& setup) {
    ASSIGN_OR_RETURN(const LeverCosts* const costs, CostsOf(kLeverPhones[0], ShapeOf(work.model)));
    ASSIGN_OR_RETURN(const LeverRun run, Simulate(*costs, setup, drafts_.near, work.set));
    return run.tokens_per_second();
  }

  absl::Status AddPinning() {
    for (const Workload& work : kWorkloads) {
      LeverSeries series = {.table = "table6", .row = work.name};
      for (const int percent : kPinnedPercents) {
        LeverSetup setup = SetupOf(kLever);
        setup.pinned = percent / 100.0;
        ASSIGN_OR_RETURN(const double speed, LeverSpeed(work, setup));
        series.columns.push_back(absl::StrCat(percent, "%"));
        series.values.push_back(speed);
      }
      report_.series.push_back(std::move(series));
    }
    return absl::OkStatus();
  }

  absl::Status AddLengths() {
    for (const Workload& work : kWorkloads) {
      LeverSeries series = {.table = "table7", .row = work.name};
      for (const int length : kLengths) {
        series.columns.push_back(absl::StrCat(length));
        series.values.emplace_back();
        if (length > drafts_.near.most_tokens) {
          series.missed = absl::StrCat("recorded texts have at most ", drafts_.near.most_tokens, " tokens");
          continue;
        }
        LeverSetup setup = SetupOf(kLever);
        setup.most_tokens = length;
        ASSIGN_OR_RETURN(series.values.back(), LeverSpeed(work, setup));
      }
      report_.series.push_back(std::move(series));
    }
    return absl::OkStatus();
  }

  const LeverDrafts& drafts_;
  KnownModels models_;
  CosterCache costers_;
  std::map<std::string, LeverCosts> costs_;
  using RunKey = std::tuple<const LeverCosts*, const DraftRecording*, std::string, std::string, bool, DraftWay, HeadWay, double, int>;
  std::map<RunKey, LeverRun> runs_;
  LeverReport report_;
};

}  // namespace

absl::Status CheckLeverDrafts(const LeverDrafts& drafts) {
  RETURN_IF_ERROR(CheckSets("near", drafts.near, kLeverSets));
  return CheckSets("far", drafts.far, kFarSets);
}

absl::StatusOr<LeverDrafts> BuiltInLeverDrafts() {
  LeverDrafts drafts;
  ASSIGN_OR_RETURN(drafts.near, BuiltInDraftRecording("near"));
  ASSIGN_OR_RETURN(drafts.far, BuiltInDraftRecording("far"));
  RETURN_IF_ERROR(CheckLeverDrafts(drafts));
  return drafts;
}

const LeverRun& LeverConfiguration::By(absl::string_view system) const {
  const auto found = std::find(std::begin(kLeverSystems), std::end(kLeverSystems), system);
  CHECK(found != std::end(kLeverSystems)) << system;
  return runs[static_cast<size_t>(found - std::begin(kLeverSystems))];
}

const LeverSeries& LeverReport::Series(absl::string_view table, absl::string_view row) const {
  const auto is_it = [&](const LeverSeries& one) { return one.table == table && one.row == row; };
  const auto found = std::find_if(series.begin(), series.end(), is_it);
  CHECK(found != series.end()) << table << " " << row;
  return *found;
}

absl::StatusOr<LeverReport> MakeLeverReport(const ProfileSet& profiles, const LeverDrafts& drafts) {
  RETURN_IF_ERROR(CheckLeverDrafts(drafts));
  return Builder(profiles, drafts).Build();
}

}  // namespace tessera
