// Files of one JSON object per line: evaluation sets and recorded samples.
//
//   RETURN_IF_ERROR(ForEachRecord("data/gsm8k_test.jsonl", [&](const JsonValue& record, int line) -> absl::Status {
//     ASSIGN_OR_RETURN(problem.question, record.String("question"));     // "data/gsm8k_test.jsonl, line 7: question: found ..."
//     return absl::OkStatus();
//   }));
//
// Empty lines are skipped. Errors name the file, the line and, if there is one, the field. Threads: any.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/apps/bench/spec/evaluation_sets.h"
#include "tessera/base/json.h"

namespace tessera {

// Calls `read` for each record. Returns the first error of `read`, or of the file. InvalidArgument for a file without records.
absl::Status ForEachRecord(const std::string& path, absl::FunctionRef<absl::Status(const JsonValue& record, int line)> read);
absl::Status ForEachRecord(const EvaluationFile& file, absl::FunctionRef<absl::Status(const JsonValue& record, int line)> read);

}  // namespace tessera
