#include "tessera/apps/common/flash_speed.h"

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/flash_probe.h"
#include "tessera/storage/flash_profile.h"

namespace tessera {
namespace {

constexpr int64_t kProbedFlash = int64_t{64} << 20;  // For each of twelve shapes.

absl::StatusOr<double> ProfileSpeed(const std::string& flash) {
  ASSIGN_OR_RETURN(const FlashProfile profile, LoadFlashProfile(flash));
  return profile.BytesPerSecond(kTsrBlockBytes, LayerStreamer::Options().depth);
}

absl::StatusOr<double> ProbedSpeed(const std::string& path, IoKind io, int64_t room) {
  const FlashProbeOptions options = {.io = io, .bytes_per_shape = kProbedFlash};
  if (room < options.buffer_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("room: found ", room, ", expected ", options.buffer_bytes, " bytes to probe with"));
  }
  ASSIGN_OR_RETURN(const FlashMeasurement flash, CachedFlash(path, options));
  return flash.profile.Best().bytes_per_second;
}

}  // namespace

double FlashSpeed(const Engine& engine, int64_t room) {
  const EngineOptions& options = engine.options();
  if (options.memory_budget == 0 || engine.model_file().packed() == nullptr) return 0;
  return (options.flash.empty() ? ProbedSpeed(engine.file().path(), options.io, room) : ProfileSpeed(options.flash)).value_or(0);
}

}  // namespace tessera
