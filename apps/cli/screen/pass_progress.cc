#include "tessera/apps/cli/screen/pass_progress.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/clock.h"

namespace tessera {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

ReadingNote::Counters ReadingNote::Of(const Engine& engine) {
  const LayerStreamer* const streamer = engine.model().streamer();
  return {.nanos = RealClock().NowNanos(), .passes = engine.stats().passes,
          .bytes = streamer == nullptr ? 0 : streamer->stats().bytes_read};
}

int64_t ReadingNote::PassBytes(const Engine& engine) {
  const LayerStreamer* const streamer = engine.model().streamer();
  return streamer == nullptr ? 0 : streamer->stats().pass_bytes;
}

std::string ReadingNote::Text(const Counters& now) {
  if (now.passes > std::max(pass_.passes, begin_.passes + 1)) pass_ = now;  // The first pass began with this object.
  if (const int64_t nanos = now.nanos - second_.nanos; nanos >= kSecond || second_.nanos == begin_.nanos) {
    speed_ = nanos > 0 ? static_cast<double>(now.bytes - second_.bytes) / static_cast<double>(nanos) * kSecond : 0;
    if (nanos >= kSecond) second_ = now;
  }
  const int64_t of_pass = std::min(now.bytes - pass_.bytes, pass_bytes_);  // More bytes belong to the next pass.
  std::string text = absl::StrFormat("pass %d: %s of %s, %s in all, %.3g GB/s", now.passes - begin_.passes, FormatByteSize(of_pass),
                                     FormatByteSize(pass_bytes_), FormatByteSize(now.bytes - begin_.bytes), speed_ * 1e-9);
  if (flash_ > 0) absl::StrAppendFormat(&text, ", %.0f %% of the flash", 100 * speed_ / flash_);
  return text;
}

PassProgress::PassProgress(Engine& engine, std::string label, int64_t total, double flash, const Progress::Options& options)
    : engine_(engine), rows_before_(engine.stats().rows), shown_(std::move(label), total, options),
      note_(ReadingNote::Of(engine), ReadingNote::PassBytes(engine), flash), drawing_([this] { Draw(); }) {}

void PassProgress::Draw() {
  const int64_t told = told_;
  const std::string note = ReadingNote::PassBytes(engine_) > 0 ? note_.Text(ReadingNote::Of(engine_)) : "";
  shown_.Update(told >= 0 ? told : engine_.stats().rows - rows_before_, note);
}

}  // namespace tessera
