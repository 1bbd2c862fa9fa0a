// How far a run over requests is (--jsonl): a line of progress on standard error, and a summary.
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
// The line is that of base/progress.h, drawn by a thread of its own; of a streamed model it goes on as that of pass_progress.h does.
// Nothing is drawn while no request is under way, and such time counts in neither the tokens per second nor the seconds of the summary: a
// program that waits for requests says nothing. Requests that were answered before count as done, and cost no time. Thread-safe.
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
    bool shows = true;                           // False: there is a summary alone.
    Progress::Options line = {};                 // Its clock is that of the summary, too.
    const Engine* engine = nullptr;              // Must outlive this. Null: nothing is said about reading.
    double flash_bytes_per_second = 0;           // 0: unknown.
  };
  explicit RequestProgress(int64_t total, const Options& options);   // total 0: unknown.
  ~RequestProgress();

  void SetUnderWay(int64_t requests);            // That were read, and have not ended.
  void Wrote(int64_t tokens);
  enum class End { kAnswered, kFailed, kThere, kUnended };   // kThere: an earlier run answered it. kUnended: a signal ended it.
  void Count(End end);
  void DropUnderWay();                           // The one that is under way turns out to be kThere: neither it nor its time counts.
  void Say(absl::string_view lines);             // Writes whole lines to where the progress goes.

  void Draw();                                   // What the thread does: the line, if there is one and its time has come.

  // The last line of a run; requests that are under way have not ended. Nothing is drawn from here on. Once.
  std::string Summary();

 private:
  std::string Speed(int64_t now_nanos) const;    // "38.1 tokens/s"; empty: no time has passed.
  double Seconds(int64_t now_nanos) const;

  std::mutex mutex_;
  const Clock& clock_;
  const Engine* const engine_;
  std::optional<Progress> line_;                 // Nullopt: none is shown.
  std::optional<ReadingNote> note_;              // Nullopt: nothing is streamed.
  int64_t answered_ = 0, failed_ = 0, there_ = 0, unended_ = 0, tokens_ = 0;
  int64_t under_way_ = 0, begin_nanos_ = 0;      // Since when there are some,
  int64_t idle_nanos_;                           // or none.
  int64_t past_nanos_ = 0;                       // How long there were some before.
  std::optional<DrawingThread> drawing_;
};

}  // namespace tessera
