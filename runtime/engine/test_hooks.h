// Changes to an engine for tests and comparisons, besides the options: a device that fails, weights from elsewhere, slots in random order.
//
//   EngineOptions options = {.model_path = "model.tsr"};
//   options.hooks = Hooks({.scatter_seed = 5});
//
// Programs for users set none of these hooks. Thread-compatible.
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
  // Wraps the device that reads a streamed model, or graphs that hold weights, to make the device fail. Null: the device unchanged.
  std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)> wrap_device = nullptr;
  // Opens the source of a packed model's weights under a budget, to compare ways of streaming. Null: a LayerStreamer.
  std::function<absl::StatusOr<std::unique_ptr<WeightSource>>(const TsrReader& file, const StreamPlan& plan)> open_source = nullptr;
  uint64_t scatter_seed = 0;   // KvCache::Options::scatter_seed.
  std::optional<int64_t> own_memory = std::nullopt;  // The process's own memory in plans. nullopt: measured.
  bool compact_drafts = true;  // Moves accepted draft nodes next to the text's other slots. Changes no bit.
};

// Makes hooks for EngineOptions::hooks.
inline std::shared_ptr<const TestHooks> Hooks(TestHooks hooks) { return std::make_shared<const TestHooks>(std::move(hooks)); }

}  // namespace tessera
