// An engine of a tiny model on a modeled phone whose graphs have separate weights.
//
//   SwitchingPhone phone(SwitchRule::kPlanned, /*load=*/1000);      // loads a thousand times as fast as the 8 Gen 2
//   phone.clock.Advance(1'000'000);
//   phone.meter->FailLoad(3);                                       // the fourth from now
//   SwitchingPhone warm(SwitchRule::kPlanned, 1000, 1, SwitchWarmUp{.path = path, ...});   // chooses by itself
//   SwitchingPhone recorded(SwitchRule::kPlanned, 1000, 1, std::nullopt, {}, &timeline);   // the device's own timeline
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/base/status_macros.h"
#include "tessera/base/timeline.h"
#include "tessera/npu/modeled/modeled_device.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/switching/measure_switching.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/metered_device.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {

inline constexpr int kPrefillRows = 16, kDecodeRows = 4, kLayers = 6;

struct SwitchingPhone {
  explicit SwitchingPhone(std::optional<SwitchRule> rule, double load = 1000, int blocks = 3,
                          std::optional<SwitchWarmUp> warm_up = std::nullopt, std::vector<int> ends = {}, Timeline* timeline = nullptr) {
    ModeledDevice::Options modeled = {.profile = Must(LoadDeviceProfile("8gen2")), .style = Must(ExecutionStyleByName("unshared")),
                                      .context = 128, .timeline = timeline};
    modeled.profile.load_bytes_per_second *= load;
    modeled.profile.load_seconds /= load;
    EngineOptions options = {.compute = {.threads = 1, .row_capacity = kPrefillRows}, .cache = {.context = 128}, .clock = &clock};
    options.compute.path = ComputePath::kNpu;
    options.compute.recipe = "int8-channel-a8";
    options.compute.graph_rows = {kDecodeRows, kPrefillRows};
    options.compute.wrap_device = [this, modeled](std::unique_ptr<Device> made) -> absl::StatusOr<std::unique_ptr<Device>> {
      numbers = std::move(made);
      auto wrapped = std::make_unique<ModeledDevice>(*numbers, clock, modeled);
      device = wrapped.get();
      auto metered = std::make_unique<MeteredDevice>(std::move(wrapped));
      meter = metered.get();
      return metered;
    };
    if (rule.has_value()) {
      options.compute.switching =
          SwitchingOptions{.rule = *rule, .blocks = blocks, .prefill_rows = kPrefillRows, .decode_rows = kDecodeRows, .ends = ends};
    }
    const bool warms_up = warm_up.has_value();
    options.compute.warm_up = std::move(warm_up);
    engine = TinyEngine({.layers = kLayers}, options);
    if (rule.has_value() && !warms_up) Must(motion().SetTimes(Must(MeasureSwitchTimes(*engine))));
  }
  GraphMotion& motion() { return *CoreOf(*engine).motion(); }
  // Afterwards, exactly the blocks whose bits are set have their decode graphs; a prompt has ended.
  void SwitchBlocks(int bits) {
    GraphMotion& its = motion();
    std::vector<bool> wanted;
    for (int block = 0; block < its.blocks(); ++block) wanted.push_back((bits >> block & 1) != 0);
    Must(its.SetGraphs(wanted));
  }
  double Seconds() const { return static_cast<double>(clock.NowNanos()) * 1e-9; }

  VirtualClock clock;
  std::unique_ptr<Device> numbers;
  ModeledDevice* device = nullptr;
  MeteredDevice* meter = nullptr;   // Over the modeled device.
  std::unique_ptr<Engine> engine;
};

// Returns logits after a prompt, and after each of some further tokens.
inline absl::StatusOr<std::vector<std::vector<float>>> TryLogitsOf(Engine& engine, const std::vector<TokenId>& prompt) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, engine.NewSession());
  std::vector<std::vector<float>> logits;
  RETURN_IF_ERROR(session->Append(prompt));
  logits.emplace_back(session->logits().begin(), session->logits().end());
  for (const TokenId token : {3, 200, 77}) {
    RETURN_IF_ERROR(session->Append({token}));
    logits.emplace_back(session->logits().begin(), session->logits().end());
  }
  return logits;
}
inline std::vector<std::vector<float>> LogitsOf(Engine& engine, const std::vector<TokenId>& prompt) {
  return Must(TryLogitsOf(engine, prompt));
}

// Returns the bytes that the memory plan has: one graph of each block of layers, and the rest of the model.
inline int64_t PlannedGraphBytes(const EngineCore& core) {
  const CompiledModel& model = core.runner().model();
  int64_t bytes = 0;
  for (int block = 0; block < static_cast<int>(model.variants().size()); ++block) {
    const bool of_layer = block > CompiledModel::kLastEmbeddingPanel && block < model.output_norm();
    int64_t sum = 0, most = 0;
    for (const std::shared_ptr<const CompiledGraph>& graph : model.variants()[block]) {
      const int64_t each = core.device().CostOf(*graph).bytes;
      sum += each;
      most = std::max(most, each);
    }
    bytes += of_layer ? most : sum;
  }
  return bytes;
}

}  // namespace tessera
