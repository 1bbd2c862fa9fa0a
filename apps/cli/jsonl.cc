#include "tessera/apps/cli/jsonl.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/output.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::Status ForEachRequest(LineReader& lines, const std::function<absl::Status(const Request& request)>& answer) {
  std::string line;
  for (int64_t number = 1;; ++number) {
    ASSIGN_OR_RETURN(const bool more, lines.Next(&line));
    if (!more) return absl::OkStatus();
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    ASSIGN_OR_RETURN(const Request request, Request::Parse(line, absl::StrCat("standard input, line ", number)));
    const absl::Status status = answer(request);
    if (!status.ok()) return absl::IsCancelled(status) ? status : request.At(status);
  }
}

absl::Status WriteAnswer(JsonWriter answer) {
  answer.EndObject();
  return WriteAnswer(std::move(answer).Take());
}

absl::Status WriteAnswer(const std::string& line) { return WriteOutput(line + "\n"); }

}  // namespace tessera
