#include "tessera/storage/block_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/elapsed.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int kMostInterruptions = 100;                              // With the pauses below: about a second.
constexpr int64_t kFirstPause = 10'000, kLongestPause = 10'000'000;  // Nanoseconds.
constexpr int kMostErrors = 3;
// Older kernels answer EAGAIN to larger direct reads at every attempt.
constexpr int64_t kMostAfterEagain = int64_t{1} << 20;
constexpr int kFirstBlocks = 2;  // In flight, where the device may turn out to be slow.

int64_t Pause(int interruptions) {  // The n-th is twice as long as the one before.
  return std::min(kLongestPause, kFirstPause << std::min(interruptions - 1, 20));
}

}  // namespace

BlockReader::BlockReader(BlockDevice& device, Options options)
    : device_(device), options_(std::move(options)), clock_(&GivenOrRealClock(options_.clock)),
      in_flight_(device.depth()) {
  CHECK(options_.block_bytes > 0 && options_.block_bytes % BlockDevice::kAlignment == 0) << options_.block_bytes;
  CHECK(options_.check_bytes >= 0 && options_.check_bytes % BlockDevice::kAlignment == 0) << options_.check_bytes;
  if (options_.check_bytes == 0) options_.check_bytes = options_.block_bytes;
  most_bytes_in_flight_ = options_.most_drain_nanos > 0 ? kFirstBlocks * options_.block_bytes : INT64_MAX;
  for (int tag = device.depth() - 1; tag >= 0; --tag) free_tags_.push_back(tag);
  done_.reserve(device.depth());  // So completions of the device are never lost for lack of memory.
}

BlockReader::~BlockReader() { Drain(); }

// Waits for all reads in flight. A device that fails reports no further completions; then every extent that is still read gets the device's
// error.
void BlockReader::Drain() {
  while (free_tags_.size() < in_flight_.size()) {
    done_.clear();
    if (!device_.Wait(done_).ok()) break;
    for (const BlockDevice::Completion& completion : done_) free_tags_.push_back(completion.tag);
  }
}

void BlockReader::Start(const Extent& extent) {
  const int64_t bytes = static_cast<int64_t>(extent.out.size());
  CHECK(extent.offset >= 0 && extent.offset <= device_.size() && bytes <= device_.size() - extent.offset)
      << device_.path() << ": " << bytes << " bytes at " << extent.offset << " of " << device_.size();
  const auto reading = extents_.insert(extents_.end(), {extent, 0, device_status_});
  for (int64_t done = 0; done < bytes && device_status_.ok(); done += options_.block_bytes) {
    waiting_.push_back({reading, extent.offset + done, extent.out.subspan(done, options_.block_bytes)});
    ++reading->blocks_left;
  }
  if (reading->blocks_left == 0) {
    finished_.push_back({extent.id, reading->status});
    extents_.erase(reading);
  }
}

BlockReader::Finished BlockReader::Next() {
  while (true) {
    if (std::optional<Finished> finished = Step()) return *std::move(finished);
  }
}

std::optional<BlockReader::Finished> BlockReader::Step() {
  CHECK_GT(unfinished(), 0) << device_.path();
  if (finished_.empty()) Submit();
  if (finished_.empty()) {  // Else the device has failed.
    if (free_tags_.size() < in_flight_.size()) {
      Collect();
    } else {
      AwaitDelayed();
    }
  }
  if (finished_.empty()) return std::nullopt;
  Finished finished = std::move(finished_.front());
  finished_.pop_front();
  return finished;
}

// Waits while nothing is in flight: all remaining blocks were interrupted.
void BlockReader::AwaitDelayed() {
  int64_t soonest = INT64_MAX;
  for (const Block& block : delayed_) soonest = std::min(soonest, block.not_before);
  const int64_t begin = clock_->NowNanos();
  if (soonest > begin) options_.sleep(std::min(ElapsedNanos(begin, soonest), kLongestPause));
  counters_.wait_nanos += ElapsedNanos(begin, clock_->NowNanos());
  for (Block& block : delayed_) {   // These blocks have waited, even if the clock stands still or goes back.
    if (block.not_before <= soonest) block.not_before = INT64_MIN;
  }
}

bool BlockReader::MayTake(const Block& block) const {
  if (free_tags_.empty()) return false;
  return bytes_in_flight_ == 0 || bytes_in_flight_ + static_cast<int64_t>(block.out.size()) <= most_bytes_in_flight_;
}

void BlockReader::Submit() {
  if (!delayed_.empty()) {
    const int64_t now = clock_->NowNanos();
    const auto ready =
        std::stable_partition(delayed_.begin(), delayed_.end(), [&](const Block& b) { return b.not_before > now; });
    waiting_.insert(waiting_.begin(), ready, delayed_.end());
    delayed_.erase(ready, delayed_.end());
  }
  while (!waiting_.empty() && MayTake(waiting_.front())) {
    const uint64_t tag = free_tags_.back();
    Block& block = in_flight_[tag] = waiting_.front();
    block.submitted = clock_->NowNanos();
    block.in_flight = bytes_in_flight_ + static_cast<int64_t>(block.out.size());
    const absl::Status status = device_.Submit({block.offset + block.done, block.out.subspan(block.done, block.most), tag});
    if (!status.ok()) return FailAll(status);
    bytes_in_flight_ = block.in_flight;
    waiting_.pop_front();
    free_tags_.pop_back();
    ++counters_.reads;
  }
}

// A device serves blocks about in the order of submission. So a block took as long as all blocks that were in flight together.
void BlockReader::Learn(const Block& block) {
  if (options_.most_drain_nanos == 0) return;
  const auto taken = static_cast<double>(ElapsedNanos(block.submitted, clock_->NowNanos()));
  const double of_most = taken / static_cast<double>(options_.most_drain_nanos);
  if (of_most > 1) {
    most_bytes_in_flight_ = std::min(most_bytes_in_flight_, static_cast<int64_t>(static_cast<double>(block.in_flight) / of_most));
  } else if (of_most <= 0.5 && block.in_flight + options_.block_bytes > most_bytes_in_flight_) {
    most_bytes_in_flight_ = std::min(most_bytes_in_flight_ + options_.block_bytes, device_.depth() * options_.block_bytes);
  }
}

// Completed blocks make room at the device. The room is used before any block is checked, since checking takes time.
void BlockReader::Collect() {
  done_.clear();
  const int64_t begin = clock_->NowNanos();
  const absl::Status status = device_.Wait(done_);
  counters_.wait_nanos += ElapsedNanos(begin, clock_->NowNanos());
  for (const BlockDevice::Completion& completion : done_) {
    free_tags_.push_back(completion.tag);
    bytes_in_flight_ -= static_cast<int64_t>(in_flight_[completion.tag].out.size());
  }
  std::vector<Block> whole;
  for (const BlockDevice::Completion& completion : done_) {
    Block block = in_flight_[completion.tag];
    Learn(block);
    const Outcome outcome = block.reading->status.ok() ? Judge(block, completion.result) : Outcome::kFailed;
    if (outcome == Outcome::kWhole) whole.push_back(block);
    if (outcome == Outcome::kAgain) delayed_.push_back(block);
    if (outcome == Outcome::kFailed) Finish(block);
  }
  if (!status.ok()) return FailAll(status);
  Submit();
  for (const Block& block : whole) {
    if (device_status_.ok()) Check(block);
  }
}

BlockReader::Outcome BlockReader::Judge(Block& block, int64_t result) {
  const int64_t left = static_cast<int64_t>(block.out.size()) - block.done, asked = std::min(left, block.most);
  CHECK_LE(result, asked) << device_.path() << ": more bytes than asked for";
  if (result == left) return Outcome::kWhole;
  counters_.short_reads += result >= 0 && result < asked;
  return result >= 0 ? JudgeShort(block, result) : JudgeError(block, static_cast<int>(-result));
}

BlockReader::Outcome BlockReader::JudgeShort(Block& block, int64_t result) {
  const int64_t aligned = result / BlockDevice::kAlignment * BlockDevice::kAlignment;
  if (aligned > 0) {
    block.done += aligned;
    block.interruptions = block.errors = 0;
    return Outcome::kAgain;
  }
  if (result == 0) return Fail(block, TooShort(block, block.offset + block.done));
  // Too little to continue from. If the file was cut short, this repeats each time, and ReadPlain finds out.
  if (++block.errors < kMostErrors) return Outcome::kAgain;
  const absl::Status status = ReadPlainly(block);
  return status.ok() ? Outcome::kWhole : Fail(block, status);
}

BlockReader::Outcome BlockReader::JudgeError(Block& block, int error) {
  if (IsInterruption(error)) {
    ++counters_.interruptions;
    if (++block.interruptions == kMostInterruptions) return Fail(block, Unreadable(block, error));
    if (error == EAGAIN) block.most = kMostAfterEagain;
    block.not_before = clock_->NowNanos() + Pause(block.interruptions);
    return Outcome::kAgain;
  }
  ++counters_.io_errors;
  if (error == EINVAL) {
    const absl::Status status = ReadPlainly(block);
    return status.ok() ? Outcome::kWhole : Fail(block, status);
  }
  if (error == EIO && ++block.errors < kMostErrors) return Outcome::kAgain;
  return Fail(block, Unreadable(block, error));
}

BlockReader::Outcome BlockReader::Fail(const Block& block, absl::Status status) {
  block.reading->status = std::move(status);
  Drop(block.reading);
  return Outcome::kFailed;
}

// Checks a block if the block's extent may still succeed.
void BlockReader::Check(const Block& block) {
  const int64_t bytes = static_cast<int64_t>(block.out.size());
  for (int64_t done = 0; done < bytes && options_.check && block.reading->status.ok(); done += options_.check_bytes) {
    absl::Status status = CheckPiece({block.reading, block.offset + done, block.out.subspan(done, options_.check_bytes)});
    if (!status.ok()) Fail(block, std::move(status));
  }
  Finish(block);
}

absl::Status BlockReader::CheckPiece(const Block& piece) {
  if (options_.check(piece.offset, piece.out).ok()) return absl::OkStatus();
  ++counters_.mismatches;
  RETURN_IF_ERROR(ReadPlainly(piece));
  const absl::Status status = options_.check(piece.offset, piece.out);
  if (status.ok()) return status;
  ++counters_.mismatches;
  return absl::Status(status.code(), absl::StrCat(Where(piece, device_.path()), ": ", status.message()));
}

absl::Status BlockReader::ReadPlainly(const Block& block) {
  ++counters_.plain_reads;
  int interruptions = 0;
  for (size_t done = 0; done < block.out.size();) {
    const int64_t result = device_.ReadPlain(block.offset + static_cast<int64_t>(done), block.out.subspan(done));
    if (result == 0) return TooShort(block, block.offset + static_cast<int64_t>(done));
    if (result > 0) {
      done += result;
    } else if (!IsInterruption(static_cast<int>(-result)) || ++interruptions == kMostInterruptions) {
      return Unreadable(block, static_cast<int>(-result));
    } else {
      options_.sleep(Pause(interruptions));
    }
  }
  return absl::OkStatus();
}

// Ends a block, read or failed. The last block of an extent finishes the extent.
void BlockReader::Finish(const Block& block) {
  Reading& reading = *block.reading;
  if (reading.status.ok()) counters_.bytes += static_cast<int64_t>(block.out.size());
  if (--reading.blocks_left > 0) return;
  finished_.push_back({reading.extent.id, std::move(reading.status)});
  extents_.erase(block.reading);
}

void BlockReader::Drop(std::list<Reading>::iterator reading) {
  const auto dropped = [&](const Block& block) { return block.reading == reading; };
  reading->blocks_left -= static_cast<int64_t>(std::erase_if(waiting_, dropped) + std::erase_if(delayed_, dropped));
}

// Ends all started extents, since the device reads no more. Extents started later end at once.
void BlockReader::FailAll(const absl::Status& status) {
  device_status_ = status;
  waiting_.clear();
  delayed_.clear();
  for (const Reading& reading : extents_) finished_.push_back({reading.extent.id, status});
  extents_.clear();
  Drain();
}

std::string BlockReader::Where(const Block& block, absl::string_view what) const {
  return absl::StrCat(what, ": bytes ", block.offset, " to ", block.offset + static_cast<int64_t>(block.out.size()));
}

std::string BlockReader::Described(const Block& block) const {
  return Where(block, options_.describe == nullptr ? device_.path() : options_.describe(block.offset));
}

absl::Status BlockReader::TooShort(const Block& block, int64_t from) const {
  return absl::DataLossError(
      absl::StrCat(Described(block), ": the file gave nothing from byte ", from, " on, expected ", device_.size(), " bytes"));
}

absl::Status BlockReader::Unreadable(const Block& block, int error) const {
  return absl::UnavailableError(absl::StrCat(Described(block), ": cannot be read: ", std::strerror(error)));
}

}  // namespace tessera
