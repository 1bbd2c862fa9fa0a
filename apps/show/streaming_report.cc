#include "tessera/apps/show/streaming_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/peak_memory.h"

namespace tessera {

std::string StreamingText(const StreamingFigures& figures) {
  if (figures.stats.streamed_bytes == 0) return "streaming: all weights pinned\n";
  const std::string pinned = absl::StrFormat("streaming: %.0f %% of the weights pinned, the rest read ", 100 * figures.PinnedShare());
  if (figures.stats.pass_bytes == 0) return absl::StrCat(pinned, "once: the ring has room for all of it\n");
  std::string flash = absl::StrFormat("%.3g GB/s", figures.BytesPerSecond() * 1e-9);
  if (figures.flash_bytes_per_second > 0) {
    absl::StrAppendFormat(&flash, ", %.0f %% of the flash", 100 * figures.BytesPerSecond() / figures.flash_bytes_per_second);
  }
  const StreamingFigures::Times pass = figures.PerPass();
  return absl::StrFormat("%sin each of %d passes: %s\nstreaming, pass: computes %.1f ms, reads %.1f ms, waits %.1f ms\n", pinned,
                         figures.passes, flash, pass.compute * 1e3, pass.read * 1e3, pass.stall * 1e3);
}

std::string PeakText(const Engine& engine) {
  const std::string peak = FormatKnownByteSize(PeakMemoryBytes());
  if (engine.options().streaming.memory_budget == 0) return peak;
  const std::optional<int64_t> mapped = MappedFileBytes();
  return mapped.has_value() ? absl::StrCat(peak, ", mapped code ", FormatByteSize(*mapped), " of it") : peak;
}

StreamedRun::StreamedRun(Engine& engine, double flash_bytes_per_second) : engine_(engine), flash_(flash_bytes_per_second) {
  WarnOfShortages(engine);
  if (engine.model().streamer() != nullptr) before_ = StreamingFigures::Of(engine, flash_);
}

void StreamedRun::WriteMembers(JsonWriter& json) const {
  if (engine_.model().streamer() != nullptr) WriteStreaming(json.Key("streaming"), Figures());
  WriteMemory(json);
}

void StreamedRun::WriteError() const {
  WarnOfShortages(engine_);
  const std::string streaming = engine_.model().streamer() == nullptr ? "" : StreamingText(Figures());
  tessera::WriteMessage(absl::StrCat(streaming, "peak memory ", PeakText(engine_), "\n"));
}

}  // namespace tessera
