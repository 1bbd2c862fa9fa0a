#include "tessera/apps/cli/jsonl.h"

#include <cstdint>
#include <utility>

#include <gflags/gflags.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flag_error.h"
#include "tessera/apps/cli/input.h"
#include "tessera/apps/cli/output.h"
#include "tessera/base/status_macros.h"

DEFINE_bool(jsonl, false, "|Answer requests from standard input: one JSON object per line, one line per answer.");

namespace tessera {
namespace {

// What was answered so far.
struct Tally {
  int64_t requests = 0, failed = 0;
  std::string first_error;

  absl::Status Result() const {
    if (failed == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(failed, " of ", requests, " requests failed; the first: ", first_error));
  }
};

absl::Status WriteFailed(const Request& request, const absl::Status& error, Tally& tally) {
  const absl::Status shown(error.code(), ShownMessage(error));
  if (++tally.failed == 1) tally.first_error = ErrorText(request, shown);
  return WriteOutput(ErrorAnswer(request, shown) + "\n");
}

absl::Status AnswerOne(const Request& request, absl::FunctionRef<absl::StatusOr<std::string>(const Request&)> answer, Tally& tally) {
  ++tally.requests;
  if (!request.status().ok()) return WriteFailed(request, request.status(), tally);
  absl::StatusOr<std::string> line = answer(request);
  if (line.ok()) return WriteOutput(*std::move(line) + "\n");
  return absl::IsCancelled(line.status()) ? line.status() : WriteFailed(request, line.status(), tally);
}

}  // namespace

absl::Status AnswerRequests(absl::FunctionRef<absl::StatusOr<std::string>(const Request& request)> answer) {
  Tally tally;
  LineReader reader;
  std::string line;
  for (int64_t number = 1;; ++number) {
    const std::string source = absl::StrCat("standard input, line ", number);
    const absl::StatusOr<bool> more = reader.Next(&line);
    if (absl::IsResourceExhausted(more.status())) {  // A line too long; the next one is not.
      RETURN_IF_ERROR(AnswerOne(Request(more.status(), source), answer, tally));
      continue;
    }
    RETURN_IF_ERROR(more.status());
    if (!*more) return tally.Result();
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    RETURN_IF_ERROR(AnswerOne(Request(line, source), answer, tally));
  }
}

}  // namespace tessera
