// Standard output for a program that must not wait for its reader at each line: a thread writes, and what waits for it is bounded.
//
//   OutputQueue output;
//   output.Push(answer + "\n");                       // waits while too much is not written yet: a slow reader slows the program
//   RETURN_IF_ERROR(output.status());                 // now and then
//   RETURN_IF_ERROR(output.Flush());
//
// Errors are those of WriteOutput (output.h), which nobody else may call meanwhile. Where the system has no thread to give, Push writes.
// Threads: one at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/status.h"

namespace tessera {

class OutputQueue {
 public:
  static constexpr size_t kMostBytes = size_t{1} << 20;   // That wait; a longer text waits alone.

  OutputQueue();
  // What waits is not written any more, but for the text that is being written.
  ~OutputQueue();
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  void Push(std::string text);   // After an error nothing is written.
  absl::Status Flush();          // Waits until all is written. The first error.
  absl::Status status();         // The first error so far.

 private:
  void WriteAll();

  std::mutex mutex_;
  std::condition_variable pushed_, written_;
  std::deque<std::string> texts_;   // The first one is being written.
  size_t bytes_ = 0;                // All of them.
  bool closed_ = false;
  absl::Status status_;
  std::thread thread_;              // Not joinable: there was none to be had.
};

}  // namespace tessera
