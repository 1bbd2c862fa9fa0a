#include "tessera/storage/loading_source.h"

#include <algorithm>
#include <exception>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/clock.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<LoadingSource>> LoadingSource::Start(const TsrReader& reader, const Options& options) {
  CHECK(!reader.direct()) << reader.path() << ": units lie at multiples of pages, but do not end there";
  std::vector<int64_t> unit_bytes;
  for (int unit = 0; unit < reader.units(); ++unit) unit_bytes.push_back(reader.UnitBytes(unit));
  absl::StatusOr<std::unique_ptr<ResidentSource>> memory = ResidentSource::Create(unit_bytes);
  if (!memory.ok()) return absl::Status(memory.status().code(), absl::StrCat(reader.path(), ": weights: ", memory.status().message()));
  auto source = std::unique_ptr<LoadingSource>(new LoadingSource(reader, *std::move(memory), options.cancel));
  try {  // The standard library's only way to say that the system has no thread to give.
    for (int i = 0; i < options.threads; ++i) source->threads_.emplace_back([loading = source.get()] { loading->ReadInOrder(); });
  } catch (const std::exception& error) {
    LOG(WARNING) << reader.path() << ": read by only " << source->threads_.size() << " of " << options.threads
                 << " threads, and those that compute: " << error.what();
  }
  return source;
}

LoadingSource::LoadingSource(const TsrReader& reader, std::unique_ptr<ResidentSource> memory, const std::atomic<bool>* cancel)
    : reader_(reader), memory_(std::move(memory)), cancel_(cancel != nullptr ? *cancel : never_) {
  for (int unit = 0; unit < reader.units(); ++unit) {
    first_of_unit_.push_back(stretches_.size());
    const int64_t begin = reader.FirstBlock(unit), end = begin + CeilDiv(reader.UnitBytes(unit), kTsrBlockBytes);
    for (int64_t block = begin; block < end; block += kBlocksOfStretch) {
      stretches_.emplace_back(unit, block, std::min(kBlocksOfStretch, end - block));
    }
  }
  unread_ = stretches_.size();
}

LoadingSource::~LoadingSource() {
  unwanted_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void LoadingSource::ReadInOrder() {
  const int64_t count = stretches_.size();
  for (int64_t i = next_++; i < count && !unwanted_; i = next_++) {
    ReadIfUnread(stretches_[i], unwanted_).IgnoreError();  // Who needs it will read it again, and have the error.
  }
}

absl::Status LoadingSource::ReadIfUnread(Stretch& stretch, const std::atomic<bool>& cancel) {
  State expected = kUnread;
  if (!stretch.state.compare_exchange_strong(expected, kReading)) return absl::OkStatus();
  const absl::Status status = ReadBlocks(stretch, cancel);
  if (status.ok()) --unread_;
  stretch.state = status.ok() ? kRead : kUnread;
  stretch.state.notify_all();
  return status;
}

absl::Status LoadingSource::ReadBlocks(const Stretch& stretch, const std::atomic<bool>& cancel) {
  const absl::Span<std::byte> unit = memory_->Unit(stretch.unit);
  for (int64_t block = stretch.first_block; block < stretch.first_block + stretch.blocks; ++block) {
    if (cancel) return absl::CancelledError("loading: cancelled");
    RETURN_IF_ERROR(reader_.ReadBlock(block, unit.subspan((block - reader_.FirstBlock(stretch.unit)) * kTsrBlockBytes, kTsrBlockBytes)));
  }
  return absl::OkStatus();
}

absl::Status LoadingSource::Need(int64_t begin, int64_t end) {
  if (unread_ == 0) return absl::OkStatus();
  const int64_t before = RealClock().NowNanos();
  const absl::Status status = WaitFor(begin, end);
  waited_ns_ += RealClock().NowNanos() - before;
  return status;
}

absl::Status LoadingSource::WaitFor(int64_t begin, int64_t end) {
  // First what nobody reads: to wait for others before would leave a CPU idle.
  for (int64_t i = begin; i < end; ++i) RETURN_IF_ERROR(ReadIfUnread(stretches_[i], cancel_));
  for (int64_t i = begin; i < end; ++i) {
    while (stretches_[i].state != kRead) {
      stretches_[i].state.wait(kReading);
      RETURN_IF_ERROR(ReadIfUnread(stretches_[i], cancel_));  // Another's attempt may have failed.
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<WeightLease> LoadingSource::Acquire(int unit) {
  CHECK(unit >= 0 && unit < units()) << "unit " << unit << " of " << units();
  RETURN_IF_ERROR(Need(first_of_unit_[unit], StretchAt(unit, reader_.UnitBytes(unit) - 1) + 1));
  return memory_->Acquire(unit);
}

absl::StatusOr<std::vector<WeightLease>> LoadingSource::AcquireParts(absl::Span<const UnitPart> parts) {
  for (const auto& [unit, offset, bytes] : parts) {
    CHECK(unit >= 0 && unit < units() && offset >= 0 && bytes > 0 && bytes <= reader_.UnitBytes(unit) - offset)
        << "unit " << unit << " of " << units() << ": " << bytes << " bytes at " << offset;
    RETURN_IF_ERROR(Need(StretchAt(unit, offset), StretchAt(unit, offset + bytes - 1) + 1));
  }
  return memory_->AcquireParts(parts);
}

}  // namespace tessera
