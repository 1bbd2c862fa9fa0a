// An engine of a tiny packed model on this machine. Its graphs hold their weights, and are switched by a rule.
//
//   ReadingHost host(SwitchRule::kPlanned);                       // three blocks of two layers; times of blocks are made up
//   ReadingHost both(std::nullopt);                               // all graphs at once
//   host.breaker.BreakReadFromNow(3);                             // of the reads of layers
//   EXPECT_LE(host.device().most_held_bytes(), host.device().memory_bytes());
//
// All tests share one model, made once.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/breakable_device.h"
#include "tessera/tests/fakes/packed_model.h"
#include "tessera/tests/fakes/switching_phone.h"

namespace tessera {

inline const PackedTiny& ReadingModel() {   // Not before main.
  static const PackedTiny model({.layers = kLayers});
  return model;
}

// The same model with all weights in memory.
inline std::unique_ptr<Engine> ResidentEngine() {
  return Must(Engine::Load({.model_path = ReadingModel().packed(), .compute = {.threads = 1}, .cache = {.context = 128}}));
}

struct ReadingHost {
  static EngineOptions OptionsOf(std::optional<SwitchRule> rule, int blocks = 3) {
    EngineOptions options = {.model_path = ReadingModel().packed(),
                             .compute = {.threads = 1, .graph_rows = {kDecodeRows}, .graphs_hold_weights = true},
                             .cache = {.context = 128}};
    options.compute.row_capacity = kPrefillRows;
    if (rule.has_value()) {
      options.compute.switching =
          SwitchingOptions{.rule = *rule, .blocks = blocks, .prefill_rows = kPrefillRows, .decode_rows = kDecodeRows};
    }
    return options;
  }
  explicit ReadingHost(std::optional<SwitchRule> rule) : ReadingHost(OptionsOf(rule)) {}
  explicit ReadingHost(EngineOptions options) {
    options.hooks = Hooks({.wrap_device = [this](std::unique_ptr<BlockDevice> below) -> std::unique_ptr<BlockDevice> {
      return std::make_unique<BreakableDevice>(std::move(below), breaker);
    }});
    const bool has_times = !options.compute.switching.has_value() || options.compute.warm_up.has_value();
    engine = Must(Engine::Load(options));
    if (has_times) return;
    const SwitchTimes times = {.prefill_seconds = 2, .decode_seconds = 1, .load_seconds = 3, .return_seconds = 3};
    Must(motion().SetTimes(std::vector<SwitchTimes>(static_cast<size_t>(motion().blocks()), times)));
  }
  GraphMotion& motion() { return *CoreOf(*engine).motion(); }
  const ReadingDevice& device() const { return *CoreOf(*engine).reading(); }

  Breaker breaker;   // Outlives the engine.
  std::unique_ptr<Engine> engine;
};

}  // namespace tessera
