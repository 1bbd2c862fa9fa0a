// Standard output for a program that must not wait for the reader at each line. A thread writes the texts; the bytes that wait for the
// thread are bounded.
//
//   OutputQueue output;
//   output.Push(answer + "\n");                       // waits while too much is not written yet: a slow reader slows the program
//   RETURN_IF_ERROR(output.status());                 // now and then
//   RETURN_IF_ERROR(output.Flush());
//
// Errors: as WriteOutput (output.h), which nobody else may call meanwhile. Where the system has no thread to give, Push writes. Threads:
// one at a time.
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
  static constexpr size_t kMostBytes = size_t{1} << 20;   // The most bytes that wait; a longer text waits alone.

  OutputQueue();
  // Finishes the text that is being written; drops all texts that wait.
  ~OutputQueue();
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  void Push(std::string text);   // After an error nothing is written.
  absl::Status Flush();          // Waits until all is written. Returns the first error.
  absl::Status status();         // Returns the first error so far.

 private:
  void WriteAll();

  std::mutex mutex_;
  std::condition_variable pushed_, written_;
  std::deque<std::string> texts_;   // The first one is being written.
  size_t bytes_ = 0;                // The bytes of all texts.
  bool closed_ = false;
  absl::Status status_;
  std::thread thread_;              // Not joinable: the system had no thread to give.
};

}  // namespace tessera
