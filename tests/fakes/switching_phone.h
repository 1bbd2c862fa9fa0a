// An engine of a tiny model on a modeled phone whose graphs have weights of their own.
//
//   SwitchingPhone phone(SwitchRule::kPlanned, /*load=*/1000);      // loads a thousand times as fast as the 8 Gen 2
//   phone.clock.Advance(1'000'000);
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "tessera/npu/modeled/modeled_device.h"
#include "tessera/runtime/core.h"
#include "tessera/runtime/measure_switching.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {

inline constexpr int kPrefillRows = 16, kDecodeRows = 4, kLayers = 6;

struct SwitchingPhone {
  explicit SwitchingPhone(std::optional<SwitchRule> rule, double load = 1000, int blocks = 3) {
    ModeledDevice::Options modeled = {.profile = Must(LoadDeviceProfile("8gen2")), .style = Must(ExecutionStyleByName("unshared")),
                                      .context = 128};
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
      return wrapped;
    };
    if (rule.has_value()) {
      options.compute.switching =
          SwitchingOptions{.rule = *rule, .blocks = blocks, .prefill_rows = kPrefillRows, .decode_rows = kDecodeRows};
    }
    engine = TinyEngine({.layers = kLayers}, options);
    if (rule.has_value()) Must(motion().SetTimes(Must(MeasureSwitchTimes(*engine))));
  }
  GraphMotion& motion() { return *CoreOf(*engine).motion(); }
  double Seconds() const { return static_cast<double>(clock.NowNanos()) * 1e-9; }

  VirtualClock clock;
  std::unique_ptr<Device> numbers;
  ModeledDevice* device = nullptr;
  std::unique_ptr<Engine> engine;
};

}  // namespace tessera
