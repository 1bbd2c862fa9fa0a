// Text on its way from the thread that drives a stepper to one that reads it, bounded: a slow reader slows its own text and no other.
//
//   TextQueue output(/*most_bytes=*/4096);
//   stepper->Submit({.prompt = tokens, .output = &output});
//   std::thread reader([&] {
//     while (const std::optional<std::string> text = output.Read()) Send(*text);   // until the text has ended
//   });
//   RETURN_IF_ERROR(stepper->Run());
//   reader.join();
//
// While it is full, its text has no rows in passes; what a pass gives is put in whole, so it may hold some tokens more than its limit.
// Thread-safe: one thread writes, one reads.
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

class TextQueue {
 public:
  // REQUIRES: most_bytes >= 1.
  explicit TextQueue(size_t most_bytes);

  // All the text that is there, after waiting for some. nullopt: it has ended, and all was read.
  std::optional<std::string> Read();
  // Nobody reads any more: what is there and what is still to come is dropped, and never makes it full. The text itself goes on.
  void Drop();

  // For the writing side. Nothing waits.
  bool full() const;
  void Write(absl::string_view text);
  void End();
  // Called by Read and Drop, on their thread, when a full queue has room again. Set before it can be full; null: nothing.
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
