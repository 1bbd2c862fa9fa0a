#include "tessera/runtime/plan/flash_speed.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/flash_probe.h"
#include "tessera/storage/flash_profile.h"

namespace tessera {
namespace {

constexpr int64_t kProbedFlash = int64_t{64} << 20;  // For each of twelve shapes.

absl::StatusOr<FlashRate> ProfileSpeed(const std::string& flash) {
  ASSIGN_OR_RETURN(const FlashProfile profile, LoadFlashProfile(flash));
  return FlashRate{profile.BytesPerSecond(LayerStreamer::kReadBytes, LayerStreamer::Options().depth)};
}

absl::StatusOr<FlashRate> ProbedSpeed(const Engine& engine, int64_t room) {
  const StreamingOptions& streaming = engine.options().streaming;
  const FlashProbeOptions options = {.io = streaming.io,
                                     .probe_in_child = streaming.probe_in_child,
                                     .raise_priority = streaming.raise_priority,
                                     .bytes_per_shape = kProbedFlash,
                                     .cancel = engine.options().cancel};
  if (room < options.buffer_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("room to probe it in: found ", FormatByteSize(room), ", expected ",
                                                     FormatByteSize(options.buffer_bytes)));
  }
  ASSIGN_OR_RETURN(const FlashMeasurement flash, CachedFlash(engine.model().gguf().path(), options));
  const std::string warning = flash.cache.ok() ? "" : absl::StrCat("the speed of the flash: ", flash.cache.message());
  return FlashRate{flash.profile.Best().bytes_per_second, warning};
}

}  // namespace

absl::StatusOr<FlashRate> FlashSpeed(const Engine& engine, int64_t room) {
  const EngineOptions& options = engine.options();
  if (options.streaming.memory_budget == 0 || engine.model().file().packed() == nullptr) return FlashRate();
  const std::string& flash = options.streaming.flash;
  const absl::StatusOr<FlashRate> rate = flash.empty() ? ProbedSpeed(engine, room) : ProfileSpeed(flash);
  if (rate.ok() || absl::IsCancelled(rate.status())) return rate;
  return FlashRate{0, absl::StrCat("the speed of the flash stays unknown: ", rate.status().message())};
}

}  // namespace tessera
