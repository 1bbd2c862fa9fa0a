// A run over requests (--jsonl): decides which requests are answered, writes answers to their place, and shows progress.
//
//   RequestRun run(into.get(), {.engine = &engine});             // into: the file of --into; null: standard output
//   const RequestLimits limits = RequestLimits::Of(*engine);
//   const absl::Status status = ForEachRequest(lines, limits, [&](const Request& request) -> absl::StatusOr<std::string> {
//     ASSIGN_OR_RETURN(const bool wanted, run.Wants(request, prompt));
//     if (!wanted) return "";
//     run.progress().Wrote(tokens);
//     ...
//   }, run);
//   return run.End(status);                                      // the summary, and a file that is on the disk
//
// A failed request gets a line on standard output. With a file (--into), the error goes to standard error instead, and the next run asks
// the request again. Progress is shown unless standard input is a terminal, or standard output is one and answers go there. Threads: one at
// a time.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/answers/requests/answer_file.h"
#include "tessera/apps/cli/screen/request_progress.h"
#include "tessera/apps/cli/text/jsonl.h"
#include "tessera/base/token.h"

namespace tessera {

class RequestRun : public AnswerSink {
 public:
  // Takes a line with a break, for standard output.
  using Write = std::function<absl::Status(std::string line)>;

  // into: the file of answers; null: none. write: writes a line; null: WriteOutput. If standard input is a regular file, counts the file's
  // requests. REQUIRES: nothing was read so far.
  explicit RequestRun(AnswerFile* into, RequestProgress::Options options, Write write = nullptr);

  // Returns AnswerFile::Wants with a file, true without a file.
  absl::StatusOr<bool> Wants(const Request& request, absl::Span<const TokenId> prompt);

  // The functions of AnswerSink. Cancelled counts as no error: the request has not ended.
  void Begin() override;
  void Ended() override;
  absl::Status Answer(std::string line) override;
  absl::Status Fail(std::string line, const absl::Status& error) override;

  RequestProgress& progress() { return progress_; }

  // Ends the run: writes the summary and the seed to standard error, and waits until the file is on the disk. Returns EndOf(`status`, the
  // file's error) (engine_flags.h). Call once.
  absl::Status End(const absl::Status& status);

 private:
  AnswerFile* const into_;
  const Write write_;
  RequestProgress progress_;
  bool in_turn_ = false;   // True while the last read request, and no other, is being answered.
};

}  // namespace tessera
