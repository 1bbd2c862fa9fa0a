// What the model of phones says to figures of papers: each once, sorted, within what is assumed of requests; and no parameter of a profile
// is without effect.
#include "tessera/apps/lab/papers/npu/npu_predictions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/apps/lab/papers/figures/phone_costs.h"
#include "tessera/apps/lab/papers/npu/calibration.h"
#include "tessera/apps/lab/papers/sdnpu/sdnpu_systems.h"
#include "tessera/npu/compiler.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/modeled/modeled_device.h"
#include "tessera/tests/fakes/made_up_recordings.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

const ProfileSet& Profiles() {
  static const ProfileSet profiles = Must(BuiltInProfiles());
  return profiles;
}

std::map<std::string, Prediction> PredictionsById(const NpuAssumptions& assumptions) {
  KnownModels models;
  std::map<std::string, Prediction> by_id;
  for (const Prediction& prediction : Must(PredictNpuFigures(Profiles(), assumptions, models))) {
    EXPECT_TRUE(by_id.emplace(prediction.id, prediction).second) << prediction.id << " twice";
  }
  return by_id;
}

TEST(NpuPredictions, HeaderExample) {
  const ProfileSet profiles = Must(BuiltInProfiles());
  KnownModels models;
  const std::vector<Prediction> predictions = Must(PredictNpuFigures(profiles, NpuAssumptions(), models));
  EXPECT_GT(predictions.size(), 20u);
  for (const Prediction& prediction : predictions) {
    EXPECT_GT(prediction.low, 0) << prediction.id;
    EXPECT_LE(prediction.low, prediction.high) << prediction.id;
    EXPECT_TRUE(std::isfinite(prediction.high)) << prediction.id;
    EXPECT_FALSE(prediction.asked.empty()) << prediction.id;
  }
}

TEST(NpuPredictions, ASetWithoutThePapersPhonesIsRefused) {
  KnownModels models;
  for (const char* const phone : {"8gen2", "8gen3", "8elite"}) {
    ProfileSet profiles = Profiles();
    profiles.erase(phone);
    EXPECT_TRUE(absl::IsNotFound(PredictNpuFigures(profiles, {}, models).status())) << phone;
  }
}

TEST(NpuPredictions, AssumptionsOnRequestsAreWithinTheirRangesAndMoveTheRequests) {
  const std::map<std::string, Prediction> base = PredictionsById({});
  for (const NpuAssumption& assumption : NpuAssumptionRanges()) {
    EXPECT_LE(assumption.low, NpuAssumptions().*assumption.value) << assumption.name;
    EXPECT_GE(assumption.high, NpuAssumptions().*assumption.value) << assumption.name;
    NpuAssumptions most;
    most.*assumption.value = assumption.high;
    const std::map<std::string, Prediction> moved = PredictionsById(most);
    EXPECT_NE(moved.at("000-ablation-npu").low, base.at("000-ablation-npu").low) << assumption.name;
    EXPECT_EQ(moved.at("004-step-1").low, base.at("004-step-1").low) << assumption.name << ": no request";
  }
}

// Requests of sd.npu and of the CPU with drafts: time and energy.
void AddRequests(const DeviceProfile& profile, std::vector<double>& said) {
  static const SdnpuRecordings recordings = MadeUpRecordings();
  const std::unique_ptr<PhoneCosts> phone = Must(PhoneCosts::Open(profile, "qwen2.5-0.5b"));
  for (const absl::string_view system : {"full", "cpu_sam"}) {
    const SystemOnTask on = Must(RunSystem(phone->costs(), SdnpuSystems()[SystemIndex(system)], recordings, "summary"));
    said.push_back(on.seconds.total());
    said.push_back(on.joules);
  }
}

// All that comes of profiles: both kinds of figures, requests, and what papers say nothing of: energy by mailbox, sessions of large models,
// and changing between graphs that share weights.
std::vector<double> SaidBy(const ProfileSet& profiles, KnownModels& models) {
  std::vector<double> said = Must(PredictCalibration(Must(CalibrationFigures()), profiles, models));
  for (const Prediction& prediction : Must(PredictNpuFigures(profiles, {}, models))) {
    said.push_back(prediction.low);
    said.push_back(prediction.high);
  }
  AddRequests(profiles.at("8gen2"), said);
  CosterCache costers(profiles, models);
  const PassCoster* const mailbox =
      Must(costers.Of({.device = "8gen3", .style = "operators", .shape = "qwen2.5-0.5b", .recipe = "001"}));
  said.push_back(Must(mailbox->Of({.rows = 1, .positions = 1024, .logit_rows = 1})).joules);
  for (const char* const shape : {"qwen2.5-7b", "qwen3-14b"}) {
    said.push_back(static_cast<double>(
        Must(costers.Of({.device = "8gen2", .style = "unshared", .shape = shape, .recipe = "int8-channel-a8"}))->sessions()));
  }
  ThreadPool pool(1);
  VirtualClock clock;
  HostDevice numbers(pool);
  const ModeledDevice device(numbers, clock, {.profile = profiles.at("8gen3"), .style = Must(ExecutionStyleByName("static"))});
  said.push_back(device.CostOf(Must(Compile(Must(costers.LayerGraphOf("004-1b", "qnn")), {.row_capacity = 32}))).seconds);
  return said;
}

TEST(NpuPredictions, TenPerCentMoreOfEachParameterMovesTheReport) {
  const std::set<std::string> unused = {"ddr_bytes_per_second"};   // No cost is that of several parts that read at once.
  KnownModels models;
  const std::vector<double> base = SaidBy(Profiles(), models);
  EXPECT_EQ(SaidBy(Profiles(), models), base);
  for (const ProfileField& field : ProfileFields()) {
    const bool moved = SaidBy(Times(Profiles(), field.name, 1.1), models) != base;
    EXPECT_EQ(moved, unused.count(field.name) == 0) << field.name;
  }
}

}  // namespace
}  // namespace tessera
