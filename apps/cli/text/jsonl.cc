#include "tessera/apps/cli/text/jsonl.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flag_error.h"
#include "tessera/apps/cli/text/output.h"
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

// Answers the requests of lines, one after another.
class RequestLines {
 public:
  RequestLines(const RequestLimits& limits, const RequestAnswerer& answer, AnswerSink& sink)
      : limits_(limits), answer_(answer), sink_(sink) {}

  absl::Status Run(LineReader& lines) {
    lines.LimitBytes(limits_.line);
    std::string line;
    for (int64_t number = 1;; ++number) {
      const absl::StatusOr<bool> more = lines.Next(&line);
      const bool is_too_long = absl::IsResourceExhausted(more.status());
      if (absl::IsCancelled(more.status())) return more.status();
      if (!more.ok() && !is_too_long) return Joined(more.status(), failed_.status());
      if (more.ok() && !*more) return failed_.status();
      if (more.ok() && absl::StripAsciiWhitespace(line).empty()) continue;
      failed_.CountRequest();
      sink_.Begin();
      RETURN_IF_ERROR(is_too_long ? Fail(number, more.status()) : AnswerLine(line, number));
      sink_.Ended();
    }
  }

 private:
  absl::Status Fail(int64_t number, const absl::Status& error) { return sink_.Fail(failed_.AnswerOf(number, error), error); }

  // Answers the request of a line. Cancelled where `answer_` is. The line is not needed after parsing, and may be long.
  absl::Status AnswerLine(std::string& line, int64_t number) {
    const absl::StatusOr<Request> request = Request::Parse(line, SourceOfLine(number), limits_);
    line = std::string();
    if (!request.ok()) return Fail(number, request.status());
    absl::StatusOr<std::string> answered = answer_(*request);
    if (absl::IsCancelled(answered.status())) return answered.status();
    if (!answered.ok()) {
      const absl::Status error = WithFlagNames(answered.status());
      return sink_.Fail(failed_.AnswerOf(*request, error), request->At(error));
    }
    return answered->empty() ? absl::OkStatus() : sink_.Answer(*std::move(answered));
  }

  const RequestLimits& limits_;
  const RequestAnswerer& answer_;
  AnswerSink& sink_;
  FailedRequests failed_;
};

}  // namespace

absl::Status ForEachRequest(LineReader& lines, const RequestLimits& limits, const RequestAnswerer& answer, AnswerSink& sink) {
  return RequestLines(limits, answer, sink).Run(lines);
}

absl::Status ForEachRequest(LineReader& lines, const RequestLimits& limits, const RequestAnswerer& answer) {
  AnswerSink output;
  return ForEachRequest(lines, limits, answer, output);
}

}  // namespace tessera
