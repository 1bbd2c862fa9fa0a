// Reads with pread on a few threads, past the page cache or through the page cache.
//
//   auto device = std::make_unique<PreadDevice>(std::move(file), /*direct=*/true, /*depth=*/8);
//
// Past the page cache: kind "pread". Through the page cache: kind "buffered"; bytes that were read are dropped from the cache at once. If
// the system has no thread to give, the waiting thread reads.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tessera/storage/internal/file_device.h"

namespace tessera {

class PreadDevice : public FileDevice {
 public:
  // direct: past the page cache. REQUIRES: if direct, file.direct() >= 0; depth > 0.
  PreadDevice(DeviceFile file, bool direct, int depth);
  ~PreadDevice() override;

  absl::string_view kind() const override { return direct_ ? "pread" : "buffered"; }
  absl::Status Submit(const Read& read) override;
  absl::Status Wait(std::vector<Completion>& done) override;

 private:
  void Work();
  void ReadFirst(std::unique_lock<std::mutex>& lock);  // The first waiting read. REQUIRES: there is one.

  const bool direct_;
  std::mutex mutex_;                    // Guards all members below.
  std::condition_variable asked_, came_;
  std::deque<Read> waiting_;
  std::vector<Completion> done_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tessera
