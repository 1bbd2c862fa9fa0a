#include "tessera/apps/cli/jsonl.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/output.h"
#include "tessera/base/joined_status.h"
#include "tessera/base/status_macros.h"

namespace tessera {

std::string SourceOfLine(int64_t line) { return absl::StrCat("standard input, line ", line); }

std::string WholeAnswer(JsonWriter answer) {
  answer.EndObject();
  return std::move(answer).Take();
}

const absl::Status& FailedRequests::Keep(const absl::Status& error) {
  ++failed_;
  first_.Update(error);
  return error;
}

std::string FailedRequests::AnswerOf(const Request& request, const absl::Status& error) {
  return ErrorAnswer(request, Keep(request.At(error)));
}

std::string FailedRequests::AnswerOf(int64_t line, const absl::Status& error) { return ErrorAnswer(line, Keep(error)); }

absl::Status FailedRequests::status() const {
  if (failed_ == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("found ", failed_, " of ", requests_, requests_ == 1 ? " request" : " requests",
                                                 " that could not be answered, expected none; the first: ", first_.message()));
}

absl::Status AnswerSink::Answer(std::string line) { return WriteOutput(line + "\n"); }
absl::Status AnswerSink::Fail(std::string line, const absl::Status&) { return WriteOutput(line + "\n"); }

namespace {

// Cancelled where `answer` is.
absl::Status AnswerLine(const std::string& line, int64_t number, const RequestAnswerer& answer, FailedRequests& failed, AnswerSink& sink) {
  const absl::StatusOr<Request> request = Request::Parse(line, SourceOfLine(number));
  if (!request.ok()) return sink.Fail(failed.AnswerOf(number, request.status()), request.status());
  absl::StatusOr<std::string> answered = answer(*request);
  if (absl::IsCancelled(answered.status())) return answered.status();
  if (!answered.ok()) return sink.Fail(failed.AnswerOf(*request, answered.status()), request->At(answered.status()));
  return answered->empty() ? absl::OkStatus() : sink.Answer(*std::move(answered));
}

}  // namespace

absl::Status ForEachRequest(LineReader& lines, const RequestAnswerer& answer, AnswerSink& sink) {
  FailedRequests failed;
  std::string line;
  for (int64_t number = 1;; ++number) {
    const absl::StatusOr<bool> more = lines.Next(&line);
    if (absl::IsCancelled(more.status())) return more.status();
    if (!more.ok()) return Joined(more.status(), failed.status());
    if (!*more) return failed.status();
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    failed.CountRequest();
    sink.Begin();
    RETURN_IF_ERROR(AnswerLine(line, number, answer, failed, sink));
    sink.Ended();
  }
}

absl::Status ForEachRequest(LineReader& lines, const RequestAnswerer& answer) {
  AnswerSink output;
  return ForEachRequest(lines, answer, output);
}

}  // namespace tessera
