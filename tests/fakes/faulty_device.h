// A block device that fails as real devices do, by a schedule that a seed replays.
//
//   MemoryDevice disk(RandomBytes(1 << 20, /*seed=*/1));
//   FaultyDevice device(disk, {.seed = 7, .short_read = 0.3, .interruption = 0.3, .reordering = 0.5});
//   SCOPED_TRACE(device.schedule().seed);
//
// A read's faults are a function of seed, offset and the number of earlier reads of the offset. Timing and the order of completions have no
// effect. Faults are in the reading: the device below stays unchanged, and ReadPlain reads it (except for sticky faults and a cut file).
// Bytes that a failed or short read did not deliver hold kUnread. Thread-compatible.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/clock.h"
#include "tessera/base/random.h"
#include "tessera/storage/block_device.h"

namespace tessera {

struct FaultSchedule {
  uint64_t seed = 0;
  // The chance of each fault, at each read.
  double short_read = 0;     // Any number of bytes from 1 on.
  double interruption = 0;   // EINTR or EAGAIN.
  double io_error = 0;       // EIO.
  double invalid = 0;        // EINVAL.
  double bit_flip = 0;       // One bit of the bytes read.
  double zeroed_sector = 0;  // 512 bytes of the bytes read.
  double misdirection = 0;   // The bytes of another place in the file.
  double stale = 0;          // The bytes that `older` holds there.
  double reordering = 0;     // Completes after up to eight later waits.
  double latency_spike = 0;  // Takes spike_nanos on `clock`.
  // Faults at a place.
  int storm = 0;                  // Each offset is interrupted this number of times at first.
  int64_t io_error_at_read = -1;  // The read of this number (from 0, as submitted) gets EIO.
  int64_t sticky_io_error = -1;   // Every read of this byte gets EIO, ReadPlain too.
  int64_t cut_short_at = -1;      // The file ends here.

  BlockDevice* older = nullptr;
  VirtualClock* clock = nullptr;
  int64_t spike_nanos = 0;
};

class FaultyDevice : public BlockDevice {
 public:
  static constexpr std::byte kUnread{0xEE};

  FaultyDevice(BlockDevice& below, const FaultSchedule& schedule) : below_(below), schedule_(schedule) {}

  const FaultSchedule& schedule() const { return schedule_; }
  int64_t faults() const { return faults_; }  // The number of reads with a fault.

  const std::string& path() const override { return below_.path(); }
  absl::string_view kind() const override { return below_.kind(); }
  int64_t size() const override { return below_.size(); }
  int depth() const override { return below_.depth(); }
  absl::Status CheckUnchanged() override { return below_.CheckUnchanged(); }

  absl::Status Submit(const Read& read) override {
    reads_[read.tag] = {read, submitted_++, attempts_[read.offset]++};
    return below_.Submit(read);
  }

  absl::Status Wait(std::vector<Completion>& done) override {
    if (below_in_flight() > 0) {
      std::vector<Completion> came;
      const absl::Status status = below_.Wait(came);
      if (!status.ok()) return status;
      for (const Completion& completion : came) Arrive(completion);
    }
    const size_t before = done.size();
    for (int round = 0; done.size() == before && !held_.empty(); ++round) Release(done);
    return absl::OkStatus();
  }

  int64_t ReadPlain(int64_t offset, absl::Span<std::byte> out) override {
    if (Covers(offset, out, schedule_.sticky_io_error)) return -EIO;
    const int64_t result = below_.ReadPlain(offset, out);
    return schedule_.cut_short_at < 0 ? result : std::clamp<int64_t>(schedule_.cut_short_at - offset, 0, result);
  }

 private:
  struct Asked {
    Read read;
    int64_t number, attempt;
  };
  struct Held {
    Completion completion;
    int64_t waits;
  };
  enum Kind {
    kShort, kInterruption, kIoError, kInvalid, kFlip, kZero, kMisdirection, kStale, kReordering, kSpike,
    kWhere, kKinds
  };

  static bool Covers(int64_t offset, absl::Span<std::byte> out, int64_t byte) {
    return byte >= offset && byte < offset + static_cast<int64_t>(out.size());
  }
  int64_t below_in_flight() const { return static_cast<int64_t>(reads_.size()); }
  uint64_t Draw(const Asked& asked, Kind kind) const {
    return CounterRandom(schedule_.seed, asked.read.offset / kAlignment, asked.attempt * kKinds + kind);
  }
  bool Meets(const Asked& asked, Kind kind, double chance) const {
    return static_cast<double>(Draw(asked, kind) >> 11) * 0x1p-53 < chance;
  }
  int64_t Below(const Asked& asked, int64_t n) const {
    return static_cast<int64_t>(Draw(asked, kWhere) % static_cast<uint64_t>(n));
  }

  void Arrive(const Completion& completion) {
    const Asked asked = reads_.at(completion.tag);
    reads_.erase(completion.tag);
    const int64_t result = Spoil(asked, completion.result);
    if (result != completion.result) ++faults_;
    if (result < completion.result) {
      std::fill(asked.read.out.begin() + std::max<int64_t>(result, 0), asked.read.out.end(), kUnread);
    }
    if (Meets(asked, kSpike, schedule_.latency_spike)) {
      ++faults_;
      schedule_.clock->Advance(schedule_.spike_nanos);
    }
    const int64_t waits = Meets(asked, kReordering, schedule_.reordering) ? 1 + Below(asked, 8) : 0;
    held_.push_back({{completion.tag, result}, waits});
  }

  // Returns the read's result in place of `result`, and spoils its bytes here.
  int64_t Spoil(const Asked& asked, int64_t result) {
    const int64_t offset = asked.read.offset;
    if (asked.number == schedule_.io_error_at_read || Covers(offset, asked.read.out, schedule_.sticky_io_error)) return -EIO;
    if (schedule_.cut_short_at >= 0) result = std::clamp<int64_t>(schedule_.cut_short_at - offset, 0, result);
    if (asked.attempt < schedule_.storm || Meets(asked, kInterruption, schedule_.interruption)) {
      return Below(asked, 2) == 0 ? -EINTR : -EAGAIN;
    }
    if (Meets(asked, kIoError, schedule_.io_error)) return -EIO;
    if (Meets(asked, kInvalid, schedule_.invalid)) return -EINVAL;
    if (result <= 0) return result;
    SpoilBytes(asked, asked.read.out.first(result));
    return Meets(asked, kShort, schedule_.short_read) ? 1 + Below(asked, result) : result;
  }

  void SpoilBytes(const Asked& asked, absl::Span<std::byte> bytes) {
    const int64_t where = Below(asked, static_cast<int64_t>(bytes.size())), offset = asked.read.offset;
    const auto count = [&](bool met) {
      faults_ += met;
      return met;
    };
    if (count(Meets(asked, kFlip, schedule_.bit_flip))) bytes[where] ^= std::byte{16};
    if (count(Meets(asked, kZero, schedule_.zeroed_sector))) {
      const absl::Span<std::byte> sector = bytes.subspan(where / 512 * 512, 512);
      std::fill(sector.begin(), sector.end(), std::byte{0});
    }
    if (count(Meets(asked, kMisdirection, schedule_.misdirection))) {
      below_.ReadPlain(offset == 0 ? kAlignment : offset - kAlignment, bytes);
    }
    if (count(Meets(asked, kStale, schedule_.stale))) schedule_.older->ReadPlain(offset, bytes);
  }

  // Hands out reads whose wait is over.
  void Release(std::vector<Completion>& done) {
    std::vector<Held> still;
    for (Held& held : held_) {
      if (held.waits-- > 0) {
        still.push_back(held);
      } else {
        done.push_back(held.completion);
      }
    }
    held_ = std::move(still);
  }

  BlockDevice& below_;
  const FaultSchedule schedule_;
  std::map<uint64_t, Asked> reads_;      // In flight in the device below, by tag.
  std::map<int64_t, int64_t> attempts_;  // By offset.
  std::vector<Held> held_;               // Completed by the device below, not handed out yet.
  int64_t submitted_ = 0, faults_ = 0;
};

// For LayerStreamer::Options::wrap_device: makes the given device fail.
inline auto WithFaults(const FaultSchedule& schedule) {
  class Owner : public FaultyDevice {
   public:
    Owner(std::unique_ptr<BlockDevice> below, const FaultSchedule& schedule) : FaultyDevice(*below, schedule), below_(std::move(below)) {}

   private:
    std::unique_ptr<BlockDevice> below_;
  };
  return [schedule](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
    return std::make_unique<Owner>(std::move(device), schedule);
  };
}

}  // namespace tessera
