#include "tessera/apps/lab/scale/tasks/records.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::Status ForEachRecord(const std::string& path, absl::FunctionRef<absl::Status(const JsonValue& record, int line)> read) {
  constexpr int64_t kLargestFile = int64_t{256} << 20;
  EvaluationFile file = {.source = path};
  ASSIGN_OR_RETURN(file.text, ReadFileToString(path, kLargestFile));
  return ForEachRecord(file, read);
}

absl::Status ForEachRecord(const EvaluationFile& file, absl::FunctionRef<absl::Status(const JsonValue& record, int line)> read) {
  int number = 0, records = 0;
  for (const absl::string_view line : absl::StrSplit(file.text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    ASSIGN_OR_RETURN(const JsonValue record, JsonValue::Parse(line, absl::StrCat(file.source, ", line ", number)));
    if (!record.is_object()) return record.Error(JsonKindName(record.kind()), "an object");
    RETURN_IF_ERROR(read(record, number));
    ++records;
  }
  if (records > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file.source, ": found no records, expected one JSON object per line"));
}

}  // namespace tessera
