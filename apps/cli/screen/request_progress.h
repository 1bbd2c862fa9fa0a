// Shows the progress of a run over requests (--jsonl): a line on standard error, and a summary.
//
//   RequestProgress progress(/*total=*/40, {.engine = &engine});
//   progress.SetUnderWay(1);                                     // a request was read
//   progress.Wrote(/*tokens=*/12);
//   progress.Count(RequestProgress::End::kAnswered);
//   WriteError(progress.Summary());
//
//   requests: 30 % (12 of 40), 0.4/s, 1:10 min left; 38.1 tokens/s
//   requests: 12 answered; 456 tokens, 38.1 tokens/s, 12.0 s
//
// The line is drawn by base/progress.h on a separate thread. For a streamed model the line continues with the reading, as in
// pass_progress.h. Nothing is drawn while no request is under way: a program that waits for requests says nothing. Such time counts neither
// in the tokens per second nor in the seconds of the summary. Requests that were answered before count as done, and cost no time.
// Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "tessera/apps/cli/screen/drawing_thread.h"
#include "tessera/apps/cli/screen/pass_progress.h"
#include "tessera/base/clock.h"
#include "tessera/base/progress.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

class RequestProgress {
 public:
  struct Options {
    bool shows = true;                           // False: a summary alone.
    Progress::Options line = {};                 // The line's clock is also the summary's.
    const Engine* engine = nullptr;              // Must outlive the object. Null: nothing about reading.
    double flash_bytes_per_second = 0;           // 0: unknown.
  };
  explicit RequestProgress(int64_t total, const Options& options);   // total 0: unknown.
  ~RequestProgress();

  void SetUnderWay(int64_t requests);            // The requests that were read, and have not ended.
  void Wrote(int64_t tokens);
  enum class End { kAnswered, kFailed, kThere, kUnended };   // kThere: an earlier run gave the answer. kUnended: a signal came.
  void Count(End end);
  void DropUnderWay();                           // Changes the request under way to kThere: neither the request nor the time counts.
  void Say(absl::string_view lines);             // Writes whole lines to the place of the progress.

  void Draw();                                   // Draws the line, if there is one and the time has come.

  // Returns the last line of a run. Requests under way count as not ended. Nothing is drawn afterwards. Call once.
  std::string Summary();

 private:
  std::string Speed(int64_t now_nanos) const;    // "38.1 tokens/s"; empty: no time has passed.
  double Seconds(int64_t now_nanos) const;

  std::mutex mutex_;
  const Clock& clock_;
  const Engine* const engine_;
  std::optional<Progress> line_;                 // Nullopt: no line is shown.
  std::optional<ReadingNote> note_;              // Nullopt: nothing is streamed.
  int64_t answered_ = 0, failed_ = 0, there_ = 0, unended_ = 0, tokens_ = 0;
  int64_t under_way_ = 0, begin_nanos_ = 0;      // The start of the time with requests,
  int64_t idle_nanos_;                           // or of the time without.
  int64_t past_nanos_ = 0;                       // Earlier time with requests.
  std::optional<DrawingThread> drawing_;
};

}  // namespace tessera
