#include "tessera/apps/plan/flash_speed.h"

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/flash_probe.h"
#include "tessera/storage/flash_profile.h"

namespace tessera {
namespace {

constexpr int64_t kProbedFlash = int64_t{64} << 20;  // For each of twelve shapes.

absl::StatusOr<double> ProfileSpeed(const std::string& flash) {
  ASSIGN_OR_RETURN(const FlashProfile profile, LoadFlashProfile(flash));
  return profile.BytesPerSecond(LayerStreamer::kReadBytes, LayerStreamer::Options().depth);
}

absl::StatusOr<double> ProbedSpeed(const Engine& engine, int64_t room) {
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
  LOG_IF(WARNING, !flash.cache.ok()) << "the speed of the flash: " << flash.cache.message();
  return flash.profile.Best().bytes_per_second;
}

}  // namespace

absl::StatusOr<double> FlashSpeed(const Engine& engine, int64_t room) {
  const EngineOptions& options = engine.options();
  if (options.streaming.memory_budget == 0 || engine.model().file().packed() == nullptr) return 0;
  const absl::StatusOr<double> speed = options.streaming.flash.empty() ? ProbedSpeed(engine, room) : ProfileSpeed(options.streaming.flash);
  if (speed.ok() || absl::IsCancelled(speed.status())) return speed;
  LOG(WARNING) << "the speed of the flash stays unknown: " << speed.status().message();
  return 0;
}

}  // namespace tessera
