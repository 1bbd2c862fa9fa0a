#include "tessera/storage/throttled_device.h"

#include <algorithm>
#include <cmath>

#include "glog/logging.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kCatchUp = 200'000;  // Nanoseconds; a sleeping thread wakes some 50 microseconds late.

}  // namespace

int64_t ThrottledDevice::Serve(int64_t bytes, int depth) {
  const int64_t now = clock_->NowNanos();
  const double seconds = static_cast<double>(bytes) / profile_.BytesPerSecond(bytes, depth);
  free_ = std::max(free_, now - kCatchUp) + std::llround(seconds * 1e9);
  return std::max(free_, now + profile_.latency_nanos);
}

absl::Status ThrottledDevice::Submit(const Read& read) {
  RETURN_IF_ERROR(device_->Submit(read));
  const int64_t ready = Serve(static_cast<int64_t>(read.out.size()), static_cast<int>(in_flight_.size()) + 1);
  in_flight_.push_back({read.tag, ready, std::nullopt});
  return absl::OkStatus();
}

absl::Status ThrottledDevice::Wait(std::vector<Completion>& done) {
  CHECK(!in_flight_.empty()) << path();
  std::vector<Completion> came;
  while (!in_flight_.front().result.has_value()) {
    came.clear();
    RETURN_IF_ERROR(device_->Wait(came));
    for (const Completion& completion : came) {
      const auto of_tag = [&](const InFlight& read) { return read.tag == completion.tag && !read.result.has_value(); };
      std::find_if(in_flight_.begin(), in_flight_.end(), of_tag)->result = completion.result;
    }
  }
  int64_t now = clock_->NowNanos();
  late_ = std::max(late_, now - in_flight_.front().ready);
  if (now < in_flight_.front().ready) {
    options_.sleep(in_flight_.front().ready - now);
    now = std::max(clock_->NowNanos(), in_flight_.front().ready);
  }
  while (!in_flight_.empty() && in_flight_.front().result.has_value() && in_flight_.front().ready <= now) {
    done.push_back({in_flight_.front().tag, *in_flight_.front().result});
    in_flight_.pop_front();
  }
  return absl::OkStatus();
}

int64_t ThrottledDevice::ReadPlain(int64_t offset, absl::Span<std::byte> out) {
  const int64_t ready = Serve(static_cast<int64_t>(out.size()), /*depth=*/1);
  const int64_t result = device_->ReadPlain(offset, out);
  options_.sleep(std::max<int64_t>(0, ready - clock_->NowNanos()));
  return result;
}

}  // namespace tessera
