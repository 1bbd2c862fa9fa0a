// Shows the progress of a long job: on a terminal one line that is redrawn, otherwise one line every five seconds.
//
//   Progress progress("packing", tensors);
//   for (int64_t done = 0; done < tensors; progress.Update(++done)) Pack(done);
//   progress.Finish();                            // packing: 100 % (272 of 272), 34.0/s, 8 s
//
// Writes to stderr, since stdout is for results. A job without a terminal that ends within five seconds writes nothing. A line is dropped
// if stderr has no room because no process reads: no job waits for a reader.
//
// Threads: thread-compatible. Update costs a clock read: call Update per item of work, not per byte.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/clock.h"

namespace tessera {

class Progress {
 public:
  struct Options {
    const Clock* clock = nullptr;                          // Null: the real clock.
    std::function<void(absl::string_view)> write = {};     // Null: writes to stderr.
    enum { kDetect, kYes, kNo } terminal = kDetect;        // kDetect: kYes if stderr is a terminal.
  };

  Progress(std::string label, int64_t total);              // total 0: unknown; neither percent nor time left is shown.
  Progress(std::string label, int64_t total, const Options& options);
  ~Progress() { Finish(); }                                // Finishes, so that an error message begins on a new line.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(int64_t done, absl::string_view detail = "");  // A `detail` is shown at the end of the line.
  // Excludes `items` of the finished items, and the `nanos` that these took, from the rate and from the time left.
  void Skip(int64_t items, int64_t nanos = 0);
  void Postpone();                                         // Delays the next line as if a line had been drawn now.
  // Writes whole lines; on a terminal in place of the progress line, until the next Update.
  void Say(absl::string_view lines);
  void Finish();                                           // Writes the last state; later calls do nothing.
  void Erase();                                            // As Finish, but writes nothing: restores a terminal's line.

 private:
  void Show(int64_t now_ns);
  std::string Line(int64_t now_ns) const;

  const std::string label_;
  const int64_t total_;
  const Clock* clock_;
  std::function<void(absl::string_view)> write_;
  const bool to_stderr_;
  bool terminal_;
  bool finished_ = false;
  bool shown_ = false;
  int64_t done_ = 0, skipped_ = 0;
  std::string detail_;
  int64_t begin_ns_;
  int64_t shown_ns_;
};

}  // namespace tessera
