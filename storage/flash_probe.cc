#include "tessera/storage/flash_probe.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/clock.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/internal/device_file.h"

namespace tessera {
namespace {

constexpr int64_t kSizes[] = {512 << 10, 1 << 20, 4 << 20};
constexpr int kDepths[] = {1, 2, 4, 8};
constexpr int64_t kSequentialBlock = 4 << 20;
constexpr int64_t kMostBlock = 4 << 20;
constexpr int kMostDepth = 8;

double CpuSeconds() {
  rusage used;
  CHECK_EQ(getrusage(RUSAGE_SELF, &used), 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Cost {
  double seconds, cpu_seconds;
};

// Goes through a file block by block, and round again at its end.
class Places {
 public:
  explicit Places(int64_t file_bytes) : file_bytes_(file_bytes) {}
  int64_t Next(int64_t block_bytes) {
    if (at_ + block_bytes > file_bytes_) at_ = 0;
    return std::exchange(at_, at_ + block_bytes);
  }

 private:
  const int64_t file_bytes_;
  int64_t at_ = 0;
};

// Reads `bytes` with `depth` blocks in flight, each into its own part of `buffer`.
absl::StatusOr<Cost> TimeShape(BlockDevice& device, Places& places, absl::Span<std::byte> buffer, int64_t block_bytes, int depth,
                               int64_t bytes) {
  BlockReader reader(device, {.block_bytes = block_bytes});
  const auto start = [&](uint64_t slot) {
    reader.Start({places.Next(block_bytes), buffer.subspan(slot * block_bytes, block_bytes), slot});
  };
  const int64_t begin = RealClock().NowNanos();
  const double cpu_begin = CpuSeconds();
  for (int slot = 0; slot < depth; ++slot) start(slot);
  for (int64_t left = bytes / block_bytes - depth; reader.unfinished() > 0; --left) {
    const BlockReader::Finished finished = reader.Next();
    RETURN_IF_ERROR(finished.status);
    if (left > 0) start(finished.id);
  }
  const double seconds = static_cast<double>(RealClock().NowNanos() - begin) * 1e-9;
  return Cost{seconds * static_cast<double>(bytes) / static_cast<double>(reader.counters().bytes), CpuSeconds() - cpu_begin};
}

// One pread after the other: past the page cache, or through it where that cannot be helped.
absl::StatusOr<double> TimeSequential(const std::string& path, absl::Span<std::byte> buffer, int64_t bytes) {
  ASSIGN_OR_RETURN(const DeviceFile file, DeviceFile::Open(path));
  const int64_t block_bytes = std::min(kSequentialBlock, file.size() / BlockDevice::kAlignment * BlockDevice::kAlignment);
  Places places(file.size());
  const int64_t begin = RealClock().NowNanos();
  for (int64_t done = 0; done < bytes; done += block_bytes) {
    const int64_t offset = places.Next(block_bytes);
    const absl::Span<std::byte> out = buffer.first(block_bytes);
    const int64_t got = file.direct() >= 0 ? PreadOnce(file.direct(), offset, out) : file.ReadPlain(offset, out);
    if (got != block_bytes) {
      return absl::UnavailableError(
          absl::StrCat(path, ": byte ", offset, ": found ", got, ", expected ", block_bytes, " bytes read"));
    }
  }
  return static_cast<double>(RealClock().NowNanos() - begin) * 1e-9;
}

}  // namespace

absl::StatusOr<FlashMeasurement> MeasureFlash(const std::string& path, const FlashProbeOptions& options) {
  ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(kMostBlock * kMostDepth));
  RETURN_IF_ERROR(buffer.PrepareForDevices());
  ASSIGN_OR_RETURN(OpenedDevice opened,
                   OpenBlockDevice(path, {.io = options.io, .depth = kMostDepth, .buffers = buffer.bytes()}));
  const int64_t file_bytes = opened.device->size(), bytes = std::max(options.bytes_per_shape, kMostBlock * kMostDepth);
  if (file_bytes < kSizes[0]) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": size: found ", file_bytes, " bytes, expected at least ", kSizes[0]));
  }
  FlashMeasurement measured;
  measured.kind = std::string(opened.device->kind());
  measured.profile.name = "measured";
  Places places(file_bytes);
  double least_seconds = 0;
  for (const int depth : kDepths) {
    for (const int64_t block_bytes : kSizes) {
      if (block_bytes > file_bytes) continue;
      ASSIGN_OR_RETURN(const Cost cost, TimeShape(*opened.device, places, buffer.bytes(), block_bytes, depth, bytes));
      measured.profile.speeds.push_back({block_bytes, depth, static_cast<double>(bytes) / cost.seconds});
      if (least_seconds > 0 && cost.seconds >= least_seconds) continue;
      least_seconds = cost.seconds;
      measured.cpu_seconds_per_gib = cost.cpu_seconds / static_cast<double>(bytes) * static_cast<double>(1 << 30);
    }
  }
  ASSIGN_OR_RETURN(const double seconds, TimeSequential(path, buffer.bytes(), bytes));
  measured.sequential_bytes_per_second = static_cast<double>(bytes) / seconds;
  return measured;
}

}  // namespace tessera
