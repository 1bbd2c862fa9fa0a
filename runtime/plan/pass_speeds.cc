#include "tessera/runtime/plan/pass_speeds.h"

#include <algorithm>
#include <utility>

#include "tessera/base/cpu_features.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/plan/flash_speed.h"
#include "tessera/runtime/plan/machine_probe.h"
#include "tessera/runtime/plan/pass_work.h"
#include "tessera/runtime/plan/product_speed.h"

namespace tessera {
namespace {

constexpr int64_t kProbedMemory = int64_t{64} << 20;     // Larger than most caches, smaller than most budgets.
constexpr int kReadings = 3;

// Whole steps of the probe, one for each thread at least.
int64_t ProbedBytes(const Engine& engine, int64_t room) {
  const int64_t steps = std::min(room, kProbedMemory) / PeakLoops::kReadStep;
  return std::max<int64_t>(steps, engine.threads()) * PeakLoops::kReadStep;
}

// If the weights take less memory than that, the probe does, too.
absl::StatusOr<double> MemorySpeed(const Engine& engine, int64_t room) {
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(engine.options().compute.kernels));
  ASSIGN_OR_RETURN(const MachineProbe probe, MachineProbe::Create(CoreOf(engine).pool(), kernels, ProbedBytes(engine, room)));
  double best = 0;
  for (int i = 0; i < kReadings; ++i) best = std::max(best, probe.Read());
  return best;
}

// The seconds that the products of a row take with weights in cache.
absl::StatusOr<double> ProductSeconds(const Engine& engine, const PassWork& work) {
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(engine.options().compute.kernels));
  double seconds = 0;
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const double operations = work.products[static_cast<int>(info.format)];
    if (operations == 0) continue;
    ASSIGN_OR_RETURN(const double of_thread, MeasureRowProduct(info.format, kernels));
    seconds += operations / (of_thread * engine.threads());
  }
  return seconds;
}

}  // namespace

absl::StatusOr<PassSpeeds> PassSpeeds::Measure(const Engine& engine, const BudgetPlan& plan) {
  PassSpeeds speeds;
  const PassWork work = WeightWorkOf(engine, {.rows = 1});
  speeds.weight_bytes = work.weight_bytes;
  ASSIGN_OR_RETURN(speeds.product_seconds, ProductSeconds(engine, work));
  const int64_t room = plan.budget - plan.process - plan.reserve;  // For weights, keys and values, scratch: none exists yet.
  ASSIGN_OR_RETURN(speeds.memory_bytes_per_second, MemorySpeed(engine, room));
  ASSIGN_OR_RETURN(FlashRate flash, FlashSpeed(engine, room));
  speeds.flash_bytes_per_second = flash.bytes_per_second;
  speeds.warning = std::move(flash.warning);
  return speeds;
}

double PassSpeeds::TokensPerSecond(int64_t pass_bytes) const {
  const auto streamed = static_cast<double>(pass_bytes);
  if (streamed > 0 && flash_bytes_per_second == 0) return 0;
  const double memory_seconds = (weight_bytes + streamed) / memory_bytes_per_second;
  const double flash_seconds = streamed > 0 ? streamed / flash_bytes_per_second : 0;
  return 1 / std::max({product_seconds, memory_seconds, flash_seconds});
}

}  // namespace tessera
