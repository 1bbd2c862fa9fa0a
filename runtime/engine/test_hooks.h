// What tests and comparisons change in an engine besides its options: a device that fails, weights from elsewhere, slots in random order.
//
//   EngineOptions options = {.model_path = "model.tsr"};
//   options.hooks = Hooks({.scatter_seed = 5});
//
// No program that answers sets any of these. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "tessera/storage/block_device.h"
#include "tessera/storage/stream_plan.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

struct TestHooks {
  // Wraps the device that a streamed model is read with, or graphs that hold weights, to make it fail. Null: the device as it is.
  std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> wrap_device = nullptr;
  // Where a packed model's weights come from under a budget, to compare with other ways of streaming. Null: a LayerStreamer.
  std::function<absl::StatusOr<std::unique_ptr<WeightSource>>(const TsrReader& file, const StreamPlan& plan)> open_source = nullptr;
  uint64_t scatter_seed = 0;   // See KvCache::Options.
  std::optional<int64_t> own_memory = std::nullopt;  // What memory plans take for the process itself. nullopt: what it has.
  bool compact_drafts = true;  // Accepted branches of drafts move to where the text's other slots are. No bit depends on it.
};

// For EngineOptions::hooks.
inline std::shared_ptr<const TestHooks> Hooks(TestHooks hooks) { return std::make_shared<const TestHooks>(std::move(hooks)); }

}  // namespace tessera
