// Carries text from the thread that drives a scheduler to the thread that reads. The queue is bounded: a slow reader slows one request
// only.
//
//   TextQueue output(/*most_bytes=*/4096);
//   stepper->Submit({.prompt = tokens, .output = &output});
//   std::thread reader([&] {
//     while (const std::optional<std::string> text = output.Read()) Send(*text);   // until the text has ended
//   });
//   RETURN_IF_ERROR(stepper->Run());
//   reader.join();
//
// While the queue is full, the request has no rows in passes. The text of one pass enters the queue whole, so the queue may hold some
// tokens more than its limit.
//
// Threads: thread-safe; one thread writes, one thread reads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// A bounded queue of one request's text.
class TextQueue {
 public:
  // Creates an empty queue, which is full from `most_bytes` bytes on. REQUIRES: most_bytes >= 1.
  explicit TextQueue(size_t most_bytes);

  // Waits for text, then returns all text in the queue. Returns nullopt once the request has ended and all text was read.
  std::optional<std::string> Read();
  // Tells that nobody reads any more. Present and later text is dropped and never fills the queue. The request itself continues.
  void Drop();

  // The writing side. No call waits.
  bool full() const;
  void Write(absl::string_view text);
  void End();
  // Sets a callback for a full queue that has room again. Read and Drop call `on_room` on the calling thread. To be set before the queue
  // can be full; null: no callback.
  void OnRoom(std::function<void()> on_room);

 private:
  const size_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool ended_ = false, dropped_ = false;
  std::function<void()> on_room_;
};

}  // namespace tessera
