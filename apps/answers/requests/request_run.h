// A run over requests (--jsonl): which of them are to be answered, where their answers go, and how far the run is.
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
// A request that fails has its line on standard output. With a file, its error is said on standard error, and the next run asks it again.
// Progress is shown unless standard output, where answers go there, or standard input is a terminal. Threads: one at a time.
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
  // Takes a line with its break, for standard output.
  using Write = std::function<absl::Status(std::string line)>;

  // into: null: there is no file. Counts what standard input will give, where that is a regular file. REQUIRES: nothing was read so far.
  explicit RequestRun(AnswerFile* into, RequestProgress::Options options, Write write = nullptr);   // write null: WriteOutput.

  // As AnswerFile::Wants has it; always true without a file.
  absl::StatusOr<bool> Wants(const Request& request, absl::Span<const TokenId> prompt);

  // As AnswerSink has them. Cancelled counts as no error: the request has not ended.
  void Begin() override;
  void Ended() override;
  absl::Status Answer(std::string line) override;
  absl::Status Fail(std::string line, const absl::Status& error) override;

  RequestProgress& progress() { return progress_; }

  // Writes the summary and the seed to standard error, and waits until the file is on the disk. `status`, or the error of that. Once.
  absl::Status End(const absl::Status& status);

 private:
  AnswerFile* const into_;
  const Write write_;
  RequestProgress progress_;
  bool in_turn_ = false;   // The request that was read last is under way, and no other one.
};

}  // namespace tessera
