#include "tessera/storage/loading_source.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/out_of_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/internal/loading_source_impl.h"
#include "tessera/storage/internal/reading_priority.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<LoadingSource>> LoadingSource::Start(const TsrReader& reader, const Options& options) {
  CHECK(!reader.direct()) << reader.path() << ": units lie at multiples of pages, but do not end there";
  std::vector<int64_t> unit_bytes;
  for (int unit = 0; unit < reader.units(); ++unit) unit_bytes.push_back(reader.UnitBytes(unit));
  absl::StatusOr<std::unique_ptr<ResidentSource>> memory = ResidentSource::Create(unit_bytes);
  if (!memory.ok()) return absl::Status(memory.status().code(), absl::StrCat(reader.path(), ": weights: ", memory.status().message()));
  auto source = std::make_unique<Impl>(reader, *std::move(memory), options);
  source->StartThreads(options);
  return source;
}

void LoadingSource::Impl::StartThreads(const Options& options) {
  try {  // The standard library's only way to say that the system has no thread to give.
    for (int i = 0; i < options.threads; ++i) {
      const bool late = i > 0 && i >= options.threads - options.late_threads;
      threads_.emplace_back([this, late] { Work(late); });
    }
  } catch (const std::exception& error) {
    AddShortage(absl::StrCat(reader_.path(), ": read by only ", threads_.size(), " of ", options.threads,
                             " threads, and those that compute: ", error.what()));
  }
  if (threads_.empty()) ReturnPages();
}

LoadingSource::Impl::Impl(const TsrReader& reader, std::unique_ptr<ResidentSource> memory, const Options& options)
    : reader_(reader), memory_(std::move(memory)), cancel_(options.cancel != nullptr ? *options.cancel : never_),
      cache_(BorrowedPages::Map(reader.file()->descriptor(), reader.file_bytes())), moved_(cache_ == nullptr),
      borrowed_until_(Now() + options.longest_borrowed) {
  for (int unit = 0; unit < reader.units(); ++unit) {
    first_of_unit_.push_back(chunks_.size());
    const int64_t begin = reader.FirstBlock(unit), end = begin + CeilDiv(reader.UnitBytes(unit), kTsrBlockBytes);
    for (int64_t block = begin; block < end; block += kBlocksPerChunk) {
      chunks_.emplace_back(unit, block, std::min(kBlocksPerChunk, end - block));
    }
  }
  unread_ = chunks_.size();
}

LoadingSource::Impl::~Impl() {
  unwanted_ = true;  // (9)
  Settle();
  for (std::thread& thread : threads_) thread.join();
  SettleAttachments();
}

void LoadingSource::Impl::Work(bool late) {
  if (late) all_work_.wait(false);
  const int64_t count = chunks_.size();
  for (int64_t i = next_++; i < count && !unwanted_; i = next_++) {  // (6)
    ReadIfUnread(chunks_[i], unwanted_).IgnoreError();  // A caller that needs the chunk will read the chunk again, and have the error.
    if (Now() > borrowed_until_) Settle();
    if (settling_ && !moved_) MoveAll();
  }
  RunAfterOthers();
  AwaitSettling();
  MoveAll();
}

void LoadingSource::Impl::CallLateThreads() {
  if (all_work_.exchange(true)) return;
  all_work_.notify_all();
}

void LoadingSource::Impl::AwaitSettling() {
  {
    std::unique_lock<std::mutex> lock(settle_mutex_);
    const std::chrono::nanoseconds left(std::max<int64_t>(0, borrowed_until_ - Now()));
    settled_.wait_for(lock, left, [this] { return settling_ || moved_; });
  }
  Settle();
}

void LoadingSource::Impl::Settle() {
  if (settling_) return;
  {
    const std::lock_guard<std::mutex> lock(settle_mutex_);  // (8)
    settling_ = true;
  }
  settled_.notify_all();
  CallLateThreads();
}

absl::Status LoadingSource::Impl::ReadIfUnread(Chunk& chunk, const std::atomic<bool>& cancel) {
  State state = kUnread;
  if (!chunk.state.compare_exchange_strong(state, kReading)) return absl::OkStatus();  // From here on this thread alone writes (1).
  absl::Status status;
  state = kCached;
  if (!FindInCache(chunk, cancel)) {
    CallLateThreads();
    status = OrOutOfMemory([&] { return ReadBlocks(chunk, cancel); });
    state = status.ok() ? kRead : kUnread;
  }
  chunk.state = state;  // (1)
  chunk.state.notify_all();
  if (status.ok()) --unread_;  // After the state was stored (2).
  return status;
}

bool LoadingSource::Impl::FindInCache(const Chunk& chunk, const std::atomic<bool>& cancel) {
  // Looked at after the state was changed: a mover passes over unread chunks (3).
  if (settling_ || !EnterCache()) return false;
  const absl::Span<const std::byte> bytes = CachedBytes(chunk);
  const auto holds = [&]() -> absl::Status {
    for (int64_t i = 0; i < chunk.blocks; ++i) {  // One by one: while pages are mapped, no other thread gets memory.
      const absl::Span<const std::byte> block = bytes.subspan(i * kTsrBlockBytes, kTsrBlockBytes);
      if (cancel || !cache_->Hold(block)) return absl::NotFoundError("");
      RETURN_IF_ERROR(reader_.CheckBlock(chunk.first_block + i, block));
    }
    return absl::OkStatus();
  };
  const bool found = OrOutOfMemory(holds).ok();
  if (!found) cache_->Drop(bytes);
  LeaveCache();
  return found;
}

absl::Status LoadingSource::Impl::ReadBlocks(const Chunk& chunk, const std::atomic<bool>& cancel) {
  const absl::Span<std::byte> memory = OwnBytes(chunk);
  for (int64_t i = 0; i < chunk.blocks; ++i) {
    if (cancel) return absl::CancelledError("loading: cancelled");
    RETURN_IF_ERROR(reader_.ReadBlock(chunk.first_block + i, memory.subspan(i * kTsrBlockBytes, kTsrBlockBytes)));
  }
  return absl::OkStatus();
}

absl::Status LoadingSource::Impl::Need(Range range) {
  if (unread_ == 0) return absl::OkStatus();  // (2)
  CallLateThreads();
  const int64_t before = Now();
  const absl::Status status = WaitFor(range);
  waited_ns_ += Now() - before;
  return status;
}

absl::Status LoadingSource::Impl::WaitFor(Range range) {
  // Reads chunks first that no thread reads: waiting for others first would leave a CPU idle.
  for (int64_t i = range.begin; i < range.end; ++i) RETURN_IF_ERROR(ReadIfUnread(chunks_[i], cancel_));
  for (int64_t i = range.begin; i < range.end; ++i) {
    while (chunks_[i].state <= kReading) {
      chunks_[i].state.wait(kReading);
      RETURN_IF_ERROR(ReadIfUnread(chunks_[i], cancel_));  // Another's attempt may have failed.
    }
  }
  return absl::OkStatus();
}

absl::Status LoadingSource::Impl::AwaitChecked() {
  const absl::Status status = Need({0, static_cast<int64_t>(chunks_.size())});
  asked_ = true;
  return status;
}

absl::Status LoadingSource::Impl::AwaitResident() {
  Settle();
  RETURN_IF_ERROR(Need({0, static_cast<int64_t>(chunks_.size())}));
  MoveAll();
  return absl::OkStatus();
}

void LoadingSource::Impl::MoveAll() {
  const int64_t count = chunks_.size();
  for (int64_t i = next_moved_++; i < count && !unwanted_; i = next_moved_++) MoveIfCached(chunks_[i]);  // (6)
  if (unwanted_) return;
  Move({0, count});
  if (unread_ == 0) resident_ = true;  // (4): all was passed over.
  ReturnPages();
}

void LoadingSource::Impl::ReturnPages() {
  ++cache_users_;  // No other thread returns the pages before all of this has settled.
  settling_ = moved_ = true;  // (4)
  SettleAttachments();        // After moved_ was stored (7).
  LeaveCache();
}

void LoadingSource::Impl::Move(Range range) {
  for (int64_t i = range.begin; i < range.end; ++i) MoveIfCached(chunks_[i]);
  for (int64_t i = range.begin; i < range.end; ++i) chunks_[i].state.wait(kMoving);
}

void LoadingSource::Impl::MoveIfCached(Chunk& chunk) {
  chunk.state.wait(kReading);  // The chunk's reader may not have seen settling_ (3).
  State state = kCached;
  if (!chunk.state.compare_exchange_strong(state, kMoving)) return;
  const absl::Span<const std::byte> cached = CachedBytes(chunk);
  std::memcpy(OwnBytes(chunk).data(), cached.data(), cached.size());
  cache_->Drop(cached);
  chunk.state = kMoved;  // (1)
  chunk.state.notify_all();
}

// Drops pages of chunks that were moved meanwhile: reading the lease brought the pages back.
void LoadingSource::Impl::Release(int unit, absl::Span<const std::byte> bytes) {
  const int64_t offset = bytes.data() - cache_->bytes().data() - reader_.UnitOffset(unit);
  const Range range = ChunksOf({unit, offset, static_cast<int64_t>(bytes.size())});
  for (int64_t i = range.begin; i < range.end; ++i) {
    if (chunks_[i].state == kMoved) cache_->Drop(CachedBytes(chunks_[i]));
  }
  LeaveCache();
}

bool LoadingSource::Impl::EnterCache() {
  ++cache_users_;  // Before the look at moved_ (5).
  if (!moved_) return true;
  LeaveCache();
  return false;
}

void LoadingSource::Impl::LeaveCache() {
  // (5): a user may have come between the two looks. That user leaves at once, and then returns the pages.
  if (--cache_users_ == 0 && moved_ && cache_users_ == 0 && cache_ != nullptr) cache_->Return();
}

absl::StatusOr<SharedBytes> LoadingSource::Impl::ReadAttachment(absl::string_view name) {
  ASSIGN_OR_RETURN(const TsrReader::Place place, reader_.PlaceOfAttachment(name));
  if (place.bytes > 0 && EnterCache()) {
    const std::shared_ptr<SettlingBytes> borrowed = BorrowAttachment(name, place);
    LeaveCache();
    if (borrowed != nullptr) return SharedBytes(borrowed->bytes().first(place.bytes), borrowed);
  }
  ASSIGN_OR_RETURN(std::vector<std::byte> bytes, reader_.ReadAttachment(name));
  return SharedBytes(std::move(bytes));
}

std::shared_ptr<SettlingBytes> LoadingSource::Impl::BorrowAttachment(absl::string_view name, const TsrReader::Place& place) {
  if (!cache_->Hold(cache_->bytes().subspan(place.offset, place.stored_bytes))) return nullptr;
  std::shared_ptr<SettlingBytes> borrowed = SettlingBytes::Map(reader_.file()->descriptor(), place.offset, place.stored_bytes);
  if (borrowed == nullptr || !reader_.CheckAttachment(name, borrowed->bytes()).ok()) return nullptr;
  {
    const std::lock_guard<std::mutex> lock(attachments_mutex_);
    attachments_.push_back(borrowed);
  }
  if (moved_) SettleAttachments();  // (7)
  return borrowed;
}

void LoadingSource::Impl::SettleAttachments() {
  const std::lock_guard<std::mutex> lock(attachments_mutex_);
  for (const std::shared_ptr<SettlingBytes>& each : attachments_) {
    if (each->Settle()) continue;
    AddShortage(absl::StrCat(reader_.path(), ": found no memory for a copy of an attachment, expected ", each->bytes().size(),
                             " bytes; the file must not be changed while the attachment is used"));
  }
  attachments_.clear();
}

void LoadingSource::Impl::AddShortage(std::string shortage) {
  const std::lock_guard<std::mutex> lock(shortages_mutex_);
  shortages_.push_back(std::move(shortage));
}

std::vector<std::string> LoadingSource::Impl::Shortages() const {
  const std::lock_guard<std::mutex> lock(shortages_mutex_);
  return shortages_;
}

LoadingSource::Impl::Range LoadingSource::Impl::ChunksOf(const UnitPart& part) const {
  const int64_t first = first_of_unit_[part.unit];
  return {first + part.offset / kChunkBytes, first + CeilDiv(part.offset + part.bytes, kChunkBytes)};
}

int64_t LoadingSource::Impl::OffsetInUnit(const Chunk& chunk) const {
  return (chunk.first_block - reader_.FirstBlock(chunk.unit)) * kTsrBlockBytes;
}

absl::Span<std::byte> LoadingSource::Impl::OwnBytes(const Chunk& chunk) const {
  return memory_->Unit(chunk.unit).subspan(OffsetInUnit(chunk), chunk.blocks * kTsrBlockBytes);
}

absl::Span<const std::byte> LoadingSource::Impl::CachedBytes(const Chunk& chunk) const {
  return cache_->bytes().subspan(reader_.UnitOffset(chunk.unit) + OffsetInUnit(chunk), OwnBytes(chunk).size());
}

absl::StatusOr<WeightLease> LoadingSource::Impl::Lease(const UnitPart& part) {
  const auto& [unit, offset, bytes] = part;
  CHECK(unit >= 0 && unit < units() && offset >= 0 && bytes >= 0 && bytes <= reader_.UnitBytes(unit) - offset)
      << "unit " << unit << " of " << units() << ": " << bytes << " bytes at " << offset;
  if (!resident_) {  // (4)
    const Range range = ChunksOf(part);
    RETURN_IF_ERROR(Need(range));
    if (!All(range, [](State state) { return state >= kMoved; }) && EnterCache()) {
      if (All(range, [](State state) { return state >= kCached && state <= kMoved; })) {
        WeightLease lease(this, unit, cache_->bytes().subspan(reader_.UnitOffset(unit) + offset, bytes), /*pinned=*/true);
        if (asked_) Settle();   // After the lease: else threads on other CPUs would move the pages before the lease exists.
        return lease;
      }
      LeaveCache();
    }
    if (asked_) Settle();
    Move(range);
  }
  return WeightLease(memory_.get(), unit, memory_->Unit(unit).subspan(offset, bytes), /*pinned=*/true);
}

bool LoadingSource::Impl::All(Range range, bool (*is)(State)) const {
  return std::all_of(chunks_.begin() + range.begin, chunks_.begin() + range.end, [&](const Chunk& each) { return is(each.state); });
}

absl::StatusOr<WeightLease> LoadingSource::Impl::Acquire(int unit) {
  CHECK(unit >= 0 && unit < units()) << "unit " << unit << " of " << units();
  return Lease({unit, 0, reader_.UnitBytes(unit)});
}

absl::StatusOr<std::vector<WeightLease>> LoadingSource::Impl::AcquireParts(absl::Span<const UnitPart> parts) {
  std::vector<WeightLease> leases;
  leases.reserve(parts.size());
  for (const UnitPart& part : parts) {
    ASSIGN_OR_RETURN(leases.emplace_back(), Lease(part));
  }
  return leases;
}

}  // namespace tessera
