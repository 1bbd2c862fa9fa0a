#include "tessera/storage/flash_probe.h"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/start_thread.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/block_reader.h"
#include "tessera/storage/internal/device_file.h"
#include "tessera/storage/internal/reading_priority.h"

namespace tessera {
namespace {

constexpr int64_t kSizes[] = {512 << 10, 1 << 20, 4 << 20};
constexpr int kDepths[] = {1, 2, 4, 8};
constexpr int64_t kSequentialBlock = 4 << 20;
constexpr int64_t kMostInFlight = int64_t{8} * (4 << 20);
constexpr int64_t kRound = int64_t{256} << 20;  // Read at once, of the bytes for a shape.
constexpr double kMostDrainSeconds = 0.05;      // The most time to wait for all reads in flight.

double Seconds(const FlashProbeOptions& options) { return static_cast<double>(GivenOrRealClock(options.clock).NowNanos()) * 1e-9; }

double CpuSeconds() {
  rusage used;
  CHECK_EQ(getrusage(RUSAGE_SELF, &used), 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct Cost {
  double bytes = 0, seconds = 0, cpu_seconds = 0;
  double BytesPerSecond() const { return bytes / seconds; }
};

// Goes through `bytes` bytes block by block, and starts again at the end.
class Places {
 public:
  explicit Places(int64_t bytes) : bytes_(bytes) {}
  int64_t Next(int64_t block_bytes) {
    if (at_ + block_bytes > bytes_) at_ = 0;
    return std::exchange(at_, at_ + block_bytes);
  }

 private:
  const int64_t bytes_;
  int64_t at_ = 0;
};

// Walks through the file, and through the memory of the reads. The data are not looked at, so a later read may take the memory of a slow
// read without harm.
struct Walk {
  Places file;
  absl::Span<std::byte> buffer;
  Places memory{static_cast<int64_t>(buffer.size())};

  BlockReader::Extent Next(int64_t block_bytes) {
    return {.offset = file.Next(block_bytes), .out = buffer.subspan(memory.Next(block_bytes), block_bytes), .id = 0};
  }
};

absl::Status CheckCancelled(const FlashProbeOptions& options) {
  return options.cancel != nullptr && *options.cancel ? absl::CancelledError("probing the flash was cancelled") : absl::OkStatus();
}

// Reads at least `bytes` with `depth` blocks in flight. No read is in flight afterwards, also after an error.
absl::Status AddShape(BlockDevice& device, const FlashProbeOptions& options, Walk& walk, const FlashProfile::Speed& shape, int64_t bytes,
                      Cost& cost) {
  BlockReader reader(device, {.block_bytes = shape.block_bytes});
  const double begin = Seconds(options);
  const double cpu_begin = CpuSeconds();
  for (int i = 0; i < shape.depth; ++i) reader.Start(walk.Next(shape.block_bytes));
  for (int64_t left = bytes / shape.block_bytes - shape.depth; reader.unfinished() > 0;) {
    RETURN_IF_ERROR(CheckCancelled(options));
    const std::optional<BlockReader::Finished> finished = reader.Step();
    if (!finished.has_value()) continue;
    RETURN_IF_ERROR(finished->status);
    if (left-- > 0) reader.Start(walk.Next(shape.block_bytes));
  }
  cost.seconds += Seconds(options) - begin;
  cost.cpu_seconds += CpuSeconds() - cpu_begin;
  cost.bytes += static_cast<double>(reader.counters().bytes);
  return absl::OkStatus();
}

// Reads with one pread after the other: past the page cache, or through the cache if there is no other way.
absl::Status AddSequential(const DeviceFile& file, const FlashProbeOptions& options, Walk& walk, int64_t bytes, Cost& cost) {
  const int64_t block_bytes = std::min(kSequentialBlock, file.size() / BlockDevice::kAlignment * BlockDevice::kAlignment);
  const double begin = Seconds(options);
  for (int64_t done = 0; done < bytes; done += block_bytes) {
    RETURN_IF_ERROR(CheckCancelled(options));
    const auto [offset, out, id] = walk.Next(block_bytes);
    const int64_t got = file.direct() >= 0 ? PreadOnce(file.direct(), offset, out) : file.ReadPlain(offset, out);
    if (got != block_bytes) {
      return absl::UnavailableError(
          absl::StrCat(file.path(), ": byte ", offset, ": found ", got, ", expected ", block_bytes, " bytes read"));
    }
    cost.bytes += static_cast<double>(got);
  }
  cost.seconds += Seconds(options) - begin;
  return absl::OkStatus();
}

struct Shape {
  FlashProfile::Speed speed;
  Cost cost;
};

// Returns the shapes for which the file has at least one block.
std::vector<Shape> ShapesFor(int64_t file_bytes) {
  std::vector<Shape> shapes;
  for (const int depth : kDepths) {
    for (const int64_t block_bytes : kSizes) {
      if (block_bytes <= file_bytes) shapes.push_back({{block_bytes, depth, 0}, {}});
    }
  }
  return shapes;
}

// Returns whether draining takes long at the best speed so far. Nothing is known before the first shape, which has least in flight.
bool TakesLongToDrain(const FlashProfile::Speed& shape, const std::vector<Shape>& shapes) {
  double best = 0;
  for (const Shape& other : shapes) {
    if (other.cost.bytes > 0) best = std::max(best, other.cost.BytesPerSecond());
  }
  return best > 0 && shape.depth > 1 && static_cast<double>(shape.block_bytes * shape.depth) / best > kMostDrainSeconds;
}

// Makes the result of the speeds, with the CPU time of the best shape.
FlashMeasurement MeasurementOf(std::vector<Shape> shapes, const Cost& sequential) {
  FlashMeasurement measured;
  measured.profile.name = "measured";
  double best = 0;
  for (auto& [speed, cost] : shapes) {
    if (cost.bytes == 0) continue;
    speed.bytes_per_second = cost.BytesPerSecond();
    measured.profile.speeds.push_back(speed);
    if (speed.bytes_per_second <= best) continue;
    best = speed.bytes_per_second;
    measured.cpu_seconds_per_gib = cost.cpu_seconds / cost.bytes * static_cast<double>(1 << 30);
  }
  measured.sequential_bytes_per_second = sequential.BytesPerSecond();
  return measured;
}

absl::StatusOr<FlashMeasurement> Measure(const std::string& path, const FlashProbeOptions& options) {
  const int64_t buffer_bytes = std::max(options.buffer_bytes, kMostInFlight);
  ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(buffer_bytes, AlignedBuffer::Pages::kLarge, path));
  RETURN_IF_ERROR(buffer.PrepareForDevices());
  const OpenOptions open = {.io = options.io, .probe_in_child = options.probe_in_child, .depth = kDepths[std::size(kDepths) - 1],
                            .buffers = buffer.bytes()};
  ASSIGN_OR_RETURN(const std::shared_ptr<const RandomAccessFile> plain, RandomAccessFile::Open(path));
  ASSIGN_OR_RETURN(OpenedDevice opened, OpenBlockDevice(plain, open));
  const int64_t file_bytes = opened.device->size();
  if (file_bytes < kSizes[0]) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": size: found ", file_bytes, " bytes, expected at least ", kSizes[0]));
  }
  if (options.wrap_device) opened.device = options.wrap_device(std::move(opened.device));
  const DeviceFile file(plain);
  std::vector<Shape> shapes = ShapesFor(file_bytes);
  Cost sequential;
  Walk walk{.file = Places(file_bytes), .buffer = buffer.bytes()};
  const int64_t rounds = std::max<int64_t>(1, options.bytes_per_shape / kRound),
                bytes = std::max(options.bytes_per_shape / rounds, kMostInFlight);
  for (int64_t round = 0; round < rounds; ++round) {
    for (auto& [speed, cost] : shapes) {
      if (TakesLongToDrain(speed, shapes)) continue;
      RETURN_IF_ERROR(AddShape(*opened.device, options, walk, speed, bytes, cost));
    }
    RETURN_IF_ERROR(AddSequential(file, options, walk, bytes, sequential));
  }
  FlashMeasurement measured = MeasurementOf(std::move(shapes), sequential);
  measured.kind = std::string(opened.device->kind());
  return measured;
}

}  // namespace

absl::StatusOr<FlashMeasurement> MeasureFlash(const std::string& path, const FlashProbeOptions& options) {
  absl::StatusOr<FlashMeasurement> measured;
  ASSIGN_OR_RETURN(std::thread thread, StartThread([&] {
                     if (options.raise_priority) RunBeforeOthers();
                     measured = Measure(path, options);
                   }));
  thread.join();
  return measured;
}

}  // namespace tessera
