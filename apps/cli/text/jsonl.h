// Reads requests from standard input, one JSON object per line (runtime/chat/request.h), and writes the answers.
//
//   LineReader lines;
//   RETURN_IF_ERROR(lines.EditLines());                             // Before the model is opened.
//   RETURN_IF_ERROR(ForEachRequest(lines, RequestLimits::Of(*engine), [&](const Request& request) -> absl::StatusOr<std::string> {
//     ASSIGN_OR_RETURN(std::vector<TokenId> tokens, PromptTokens(request.body(), *engine, {}));
//     JsonWriter answer = BeginAnswer(request);                     // {"id": ...
//     WriteTokens(answer.Key("tokens"), tokens);
//     return WholeAnswer(std::move(answer));                        // ... }, which is written with a line break, at once
//   }));
//
// Empty lines are skipped. A line or a request beyond the limits is an error of that line: no more than the limits allow is ever held. A
// request that cannot be answered gets an answer with the reason (ErrorAnswer), and the other requests go on; the run then ends with an
// error. Threads: one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/runtime/chat/request.h"
#include "tessera/runtime/chat/request_limits.h"

namespace tessera {

// The destination of the lines of answers: standard output, unless a derived class overrides the functions. An error of the functions ends
// the run.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual void Begin() {}   // A request was read,
  virtual void Ended() {}   // and is answered, or needs no answer.
  virtual absl::Status Answer(std::string line);   // Without a line break.
  virtual absl::Status Fail(std::string line, const absl::Status& error);   // An answer with the error; `error` names the request.
};

// Gives the text or the error of `answer` to the sink; an empty text is no answer. Ends at the end of input, with FailedRequests::status();
// at an error of reading or writing; and where `answer` is Cancelled.
using RequestAnswerer = std::function<absl::StatusOr<std::string>(const Request& request)>;
absl::Status ForEachRequest(LineReader& lines, const RequestLimits& limits, const RequestAnswerer& answer, AnswerSink& sink);
absl::Status ForEachRequest(LineReader& lines, const RequestLimits& limits, const RequestAnswerer& answer);   // To standard output.

std::string WholeAnswer(JsonWriter answer);

// Returns "standard input, line 3": the source of a request, for Request::Parse.
std::string SourceOfLine(int64_t line);

// The requests of a run that could not be answered.
class FailedRequests {
 public:
  void CountRequest() { ++requests_; }
  // Counts a failure, and returns an answer with the error, without a line break.
  std::string AnswerOf(const Request& request, const absl::Status& error);
  std::string AnswerOf(int64_t line, const absl::Status& error);   // A line that is no request.

  // Returns InvalidArgument with the number of failed requests and the first error, if there were any.
  absl::Status status() const;

 private:
  const absl::Status& Keep(const absl::Status& error);

  int64_t requests_ = 0, failed_ = 0;
  absl::Status first_;
};

}  // namespace tessera
