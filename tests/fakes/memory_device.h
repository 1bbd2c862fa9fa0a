// A block device over bytes in memory: each read is done at submission, and completes in the order of submission.
//
//   MemoryDevice device(RandomBytes(1 << 20, /*seed=*/1), /*depth=*/4);
//   device.contents().resize(4096);                      // what a file that is cut short does
//   EXPECT_EQ(device.most_in_flight(), 4);
//
// Thread-compatible.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "glog/logging.h"
#include "tessera/storage/block_device.h"

namespace tessera {

class MemoryDevice : public BlockDevice {
 public:
  explicit MemoryDevice(std::string contents, int depth = 4)
      : contents_(std::move(contents)), size_(static_cast<int64_t>(contents_.size())), depth_(depth) {}

  std::string& contents() { return contents_; }
  int most_in_flight() const { return most_in_flight_; }
  // After this number of reads, Submit or Wait fails permanently.
  void BreakSubmitAfter(int64_t reads) { submit_breaks_after_ = reads; }
  void BreakWaitAfter(int64_t reads) { wait_breaks_after_ = reads; }

  const std::string& path() const override { return path_; }
  absl::string_view kind() const override { return "memory"; }
  int64_t size() const override { return size_; }
  int depth() const override { return depth_; }

  absl::Status Submit(const Read& read) override {
    CHECK_LT(in_flight(), depth_);
    CHECK_EQ((read.offset | static_cast<int64_t>(read.out.size())) % kAlignment, 0);
    if (submitted_ == submit_breaks_after_) return absl::UnavailableError("memory: no more reads");
    ++submitted_;
    done_.push_back({read.tag, ReadPlain(read.offset, read.out)});
    most_in_flight_ = std::max(most_in_flight_, in_flight());
    return absl::OkStatus();
  }

  absl::Status Wait(std::vector<Completion>& done) override {
    CHECK_GT(in_flight(), 0);
    if (submitted_ >= wait_breaks_after_) return absl::UnavailableError("memory: no more completions");
    done.insert(done.end(), done_.begin(), done_.end());
    done_.clear();
    return absl::OkStatus();
  }

  int64_t ReadPlain(int64_t offset, absl::Span<std::byte> out) override {
    const int64_t left = static_cast<int64_t>(contents_.size()) - offset;
    const int64_t bytes = std::clamp<int64_t>(left, 0, static_cast<int64_t>(out.size()));
    if (bytes > 0) std::memcpy(out.data(), &contents_[offset], bytes);
    return bytes;
  }

  absl::Status CheckUnchanged() override { return absl::OkStatus(); }

 private:
  int in_flight() const { return static_cast<int>(done_.size()); }

  const std::string path_ = "memory";
  std::string contents_;
  const int64_t size_;
  const int depth_;
  std::vector<Completion> done_;
  int most_in_flight_ = 0;
  int64_t submitted_ = 0, submit_breaks_after_ = -1, wait_breaks_after_ = INT64_MAX;
};

}  // namespace tessera
