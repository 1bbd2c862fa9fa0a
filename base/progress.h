// Says how far a long job has come: on a terminal one line that is redrawn, otherwise a line every five seconds.
//
//   Progress progress("packing", tensors);
//   for (int64_t done = 0; done < tensors; progress.Update(++done)) Pack(done);
//   progress.Finish();                            // packing: 100 % (272 of 272), 34.0/s, 8 s
//
// Writes to stderr, since stdout belongs to results. A job without a terminal that ends within five seconds writes nothing. A line for
// which stderr has no room, since nobody reads it, is left out: no job waits for that.
// Thread-compatible. Update costs a clock read: call it per item of work, not per byte.
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
    const Clock* clock = nullptr;                          // Null: the real one.
    std::function<void(absl::string_view)> write = {};     // Null: to stderr.
    enum { kDetect, kYes, kNo } terminal = kDetect;        // kDetect: whether stderr is one.
  };

  Progress(std::string label, int64_t total);              // total 0: unknown; neither percent nor time left are shown.
  Progress(std::string label, int64_t total, const Options& options);
  ~Progress() { Finish(); }                                // So that an error message begins on a line of its own.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Update(int64_t done, absl::string_view detail = "");  // The detail, if there is one, ends the line.
  // So many of those done count for nothing: rate and time left are of the others, without the time that these took.
  void Skip(int64_t items, int64_t nanos = 0);
  void Postpone();                                         // The next line comes no earlier than if one had been drawn now.
  void Say(absl::string_view lines);                       // Writes whole lines; on a terminal in place of this one, until an Update.
  void Finish();                                           // Writes the last state; later calls do nothing.
  void Erase();                                            // The same, but writes nothing: a terminal's line is as it was before.

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
