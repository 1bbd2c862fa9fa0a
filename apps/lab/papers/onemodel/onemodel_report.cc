#include "tessera/apps/lab/papers/onemodel/onemodel_report.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/lab/papers/npu/npu_predictions.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr double kMilli = 1e3, kMegabyte = 1e6;
constexpr int kTasksOfTable1 = 2;    // Tables 1 and 2 have two tasks,
constexpr int kTasksOfTable5 = 4;    // and the 1B has four adapters (section A.3.1).
// Rows of the 3B's chunks, which the paper does not state.
constexpr int64_t kChunkRows[] = {128, 256, 512};

class OnemodelPredictor {
 public:
  OnemodelPredictor(const ProfileSet& profiles, const OnemodelAssumptions& assumptions, OnemodelReport& report)
      : profiles_(profiles), costs_(profiles, models_, assumptions), report_(report) {}

  absl::Status All() {
    RETURN_IF_ERROR(OfNpuReport());
    RETURN_IF_ERROR(Ways());
    RETURN_IF_ERROR(Whole1b());
    RETURN_IF_ERROR(Whole3b());
    RETURN_IF_ERROR(Storage());
    RETURN_IF_ERROR(SplitAdapters());
    return Setups();
  }

 private:
  void Add(const char* id, double low, double high, std::string asked, Standing standing) {
    report_.predictions.push_back({.id = id, .low = low, .high = high, .asked = std::move(asked), .standing = standing});
  }
  void Add(const char* id, double value, std::string asked, Standing standing) { Add(id, value, value, std::move(asked), standing); }

  static std::string Asked(const char* phone, const OnemodelShape& model) {
    return absl::StrCat(phone, " static, ", model.shape, ", ", kOnemodelRecipe, ", context ", model.context);
  }
  std::string RankText() const { return absl::StrCat("adapters of rank ", costs_.assumptions().adapter_rank); }

  // Tables 3 and 10, which tessera_reproduce npu has, too.
  absl::Status OfNpuReport() {
    ASSIGN_OR_RETURN(std::vector<Prediction> predictions, PredictNpuFigures(profiles_, NpuAssumptions(), models_));
    for (Prediction& prediction : predictions) {
      if (!absl::StartsWith(prediction.id, "004-")) continue;
      const Standing standing = prediction.near_calibration ? Standing::kNear : Standing::kElsewhere;
      Add(prediction.id.c_str(), prediction.low, prediction.high, std::move(prediction.asked), standing);
    }
    const OnemodelPrediction* const total = report_.Find("004-total-1");
    if (total == nullptr) return absl::OkStatus();
    const OnemodelPrediction same = *total;
    Add("004-total-1-formula", same.low, same.high, same.asked, same.standing);
    return absl::OkStatus();
  }

  // Tables 1 and 2: sizes and times by each way.
  absl::Status Ways() {
    const std::string asked = Asked(kPhoneOf1b, kOnemodel1b);
    const OnemodelShape& model = kOnemodel1b;
    ASSIGN_OR_RETURN(const OnemodelSetup base, costs_.SetupOf(kPhoneOf1b, model, AdapterWay::kGraph, 1));
    ASSIGN_OR_RETURN(const OnemodelSetup graph, costs_.SetupOf(kPhoneOf1b, model, AdapterWay::kGraph, kTasksOfTable1));
    ASSIGN_OR_RETURN(const OnemodelSetup mask, costs_.SetupOf(kPhoneOf1b, model, AdapterWay::kMask, kTasksOfTable1));
    ASSIGN_OR_RETURN(const OnemodelSetup input, costs_.SetupOf(kPhoneOf1b, model, AdapterWay::kInput, kTasksOfTable1));
    const std::string tasks = absl::StrCat(", ", kTasksOfTable1, " tasks");
    AddWay("base", base, absl::StrCat(asked, ", no adapter"), Standing::kFitted);
    AddWay("graph", graph, absl::StrCat(asked, tasks, ", queries, keys, values, outputs of each its own"), Standing::kNear);
    AddWay("mask", mask, absl::StrCat(asked, tasks, ", ", RankText(), ", all of them multiplied"), Standing::kNear);
    AddWay("input", input, absl::StrCat(asked, tasks, ", ", RankText(), " beside the graphs"), Standing::kNear);
    return absl::OkStatus();
  }

  void AddWay(const char* name, const OnemodelSetup& setup, const std::string& asked, Standing standing) {
    const auto id = [&](const char* what) { return absl::StrCat("004-", name, "-", what); };
    Add(id("graphs").c_str(), setup.graphs, asked, Standing::kElsewhere);
    Add(id("size").c_str(), static_cast<double>(setup.graph_bytes) / kMegabyte, absl::StrCat(asked, ": weights in graphs"),
        Standing::kElsewhere);
    Add(id("first").c_str(), setup.chunk_seconds * kMilli, absl::StrCat(asked, ", ", kOnemodel1b.chunk_rows, " rows"), standing);
    Add(id("step").c_str(), setup.token_seconds * kMilli, absl::StrCat(asked, ", 1 row"), standing);
  }

  // Table 5.
  absl::Status Whole1b() {
    ASSIGN_OR_RETURN(const OnemodelSetup setup, costs_.SetupOf(kPhoneOf1b, kOnemodel1b, AdapterWay::kInput, kTasksOfTable5));
    const std::string asked =
        absl::StrCat(Asked(kPhoneOf1b, kOnemodel1b), ", ", kTasksOfTable5, " tasks as inputs, ", RankText());
    ASSIGN_OR_RETURN(const double pass, costs_.AdaptedPassSeconds(kPhoneOf1b, kOnemodel1b, kDs2dGraphRows));
    report_.ds2d_1b = {"1B", kPhoneOf1b, pass * kMilli, setup.token_seconds * kMilli};
    Add("004-1b-peak", static_cast<double>(setup.peak_bytes()) / kMegabyte, absl::StrCat(asked, ": all bytes"), Standing::kElsewhere);
    Add("004-1b-load", setup.load_seconds * kMilli, absl::StrCat(asked, ": graphs and adapters"), Standing::kFitted);
    Add("004-1b-first", setup.first_token_seconds * kMilli,
        absl::StrCat(asked, ", prompt of ", costs_.assumptions().prompt_chunks, " chunks of ", kOnemodel1b.chunk_rows, " rows"),
        Standing::kNear);
    Add("004-1b-token", setup.token_seconds * kMilli, absl::StrCat(asked, ", 1 row"), Standing::kNear);
    Add("004-1b-rate", 1 / setup.token_seconds, absl::StrCat(asked, ", 1 row"), Standing::kNear);
    return absl::OkStatus();
  }

  absl::Status Prompts3b() {
    for (const int chunks : {1, 2, 4}) {
      double low = 0, high = 0;
      for (const int64_t rows : kChunkRows) {
        ASSIGN_OR_RETURN(const double seconds,
                         costs_.AdaptedPromptSeconds(kPhoneOf3b, {kOnemodel3b.shape, kOnemodel3b.context, rows}, chunks));
        low = low == 0 ? seconds : std::min(low, seconds);
        high = std::max(high, seconds);
      }
      Add(absl::StrCat("004-3b-prefill-", chunks).c_str(), low * kMilli, high * kMilli,
          absl::StrCat(Asked(kPhoneOf3b, kOnemodel3b), ", ", RankText(), ", chunks: ", chunks, ", of 128 to 512 rows"),
          Standing::kElsewhere);
    }
    return absl::OkStatus();
  }

  // Tables 6 and 7.
  absl::Status Whole3b() {
    RETURN_IF_ERROR(Prompts3b());
    ASSIGN_OR_RETURN(const OnemodelSetup setup, costs_.SetupOf(kPhoneOf3b, kOnemodel3b, AdapterWay::kInput, kOnemodelTasks));
    ASSIGN_OR_RETURN(const double pass, costs_.AdaptedPassSeconds(kPhoneOf3b, kOnemodel3b, kDs2dGraphRows));
    report_.ds2d_3b = {"3B", kPhoneOf3b, pass * kMilli, setup.token_seconds * kMilli};
    const std::string asked =
        absl::StrCat(Asked(kPhoneOf3b, kOnemodel3b), ", ", kOnemodelTasks, " tasks as inputs, ", RankText());
    Add("004-3b-step", report_.ds2d_3b.row_milliseconds, absl::StrCat(asked, ", 1 row"), Standing::kElsewhere);
    Add("004-3b-pass", report_.ds2d_3b.pass_milliseconds, absl::StrCat(asked, ", ", kDs2dGraphRows, " rows"), Standing::kElsewhere);
    Add("004-3b-peak", static_cast<double>(setup.peak_bytes()) / kMegabyte, absl::StrCat(asked, ": all bytes"), Standing::kElsewhere);
    Add("004-3b-init", setup.load_seconds * kMilli, absl::StrCat(asked, ": graphs and adapters"), Standing::kFitted);
    return absl::OkStatus();
  }

  // Table 9.
  absl::Status Storage() {
    ASSIGN_OR_RETURN(const int64_t half, costs_.HalfBytes(kOnemodel1b));
    ASSIGN_OR_RETURN(const int64_t adapter, costs_.AdapterBytes(kOnemodel1b));
    ASSIGN_OR_RETURN(const OnemodelSetup base, costs_.SetupOf(kPhoneOf1b, kOnemodel1b, AdapterWay::kInput, kTasksOfTable5));
    report_.adapter_bytes_per_rank = adapter / costs_.assumptions().adapter_rank;
    Add("004-rom-half", static_cast<double>(half) / kMegabyte, absl::StrCat(kOnemodel1b.shape, ", 16 bits"), Standing::kElsewhere);
    Add("004-rom-int4", static_cast<double>(base.graph_bytes) / kMegabyte,
        absl::StrCat(kOnemodel1b.shape, ", ", kOnemodelRecipe, ", head of 8 bits"), Standing::kElsewhere);
    Add("004-rom-adapters", static_cast<double>(base.adapter_bytes) / kMegabyte,
        absl::StrCat(kOnemodel1b.shape, ", ", kTasksOfTable5, " ", RankText(), ", 16 bits"), Standing::kElsewhere);
    return absl::OkStatus();
  }

  // The rows of table 10 about an adapter's B.
  absl::Status SplitAdapters() {
    double first[2], step[2];   // Composite, split.
    for (const bool split : {false, true}) {
      ASSIGN_OR_RETURN(first[split], costs_.AdaptedPromptSeconds(kPhoneOf1b, kOnemodel1b, 1, split));
      ASSIGN_OR_RETURN(step[split], costs_.AdaptedPassSeconds(kPhoneOf1b, kOnemodel1b, 1, split));
      const std::string asked = absl::StrCat(Asked(kPhoneOf1b, kOnemodel1b), ", ", RankText(), " as inputs, B ",
                                             split ? "a product per head" : "one product");
      Add(split ? "004-split-first" : "004-composite-first", first[split] * kMilli, asked, Standing::kNear);
      Add(split ? "004-split-step" : "004-composite-step", step[split] * kMilli, asked, Standing::kNear);
    }
    report_.split_chunk_milliseconds = (first[1] - first[0]) * kMilli;
    report_.split_row_milliseconds = (step[1] - step[0]) * kMilli;
    return absl::OkStatus();
  }

  absl::Status Setups() {
    for (const auto& [phone, profile] : profiles_) {
      for (const OnemodelShape& model : {kOnemodel1b, kOnemodel3b}) {
        for (const AdapterWay way : kAdapterWays) {
          ASSIGN_OR_RETURN(report_.setups.emplace_back(), costs_.SetupOf(phone, model, way, kOnemodelTasks));
        }
      }
    }
    return absl::OkStatus();
  }

  const ProfileSet& profiles_;
  KnownModels models_;
  OnemodelCosts costs_;
  OnemodelReport& report_;
};

}  // namespace

const char* StandingName(Standing standing) {
  switch (standing) {
    case Standing::kFitted: return "fitted";
    case Standing::kNear: return "near";
    case Standing::kElsewhere: return "elsewhere";
  }
  return "";
}

const OnemodelPrediction* OnemodelReport::Find(absl::string_view id) const {
  const auto found = std::find_if(predictions.begin(), predictions.end(), [&](const OnemodelPrediction& one) { return one.id == id; });
  return found == predictions.end() ? nullptr : &*found;
}

absl::StatusOr<OnemodelReport> MakeOnemodelReport(const ProfileSet& profiles, std::vector<Ds2dRun> runs,
                                                  const OnemodelAssumptions& assumptions) {
  OnemodelReport report = {.assumptions = assumptions, .runs = std::move(runs)};
  RETURN_IF_ERROR(OnemodelPredictor(profiles, assumptions, report).All());
  return report;
}

}  // namespace tessera
