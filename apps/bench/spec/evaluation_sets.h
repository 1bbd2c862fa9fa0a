// Files of evaluation sets: whole ones in a folder that the user gives, or a few records of each set, which the program has in it.
//
//   ASSIGN_OR_RETURN(const EvaluationFile file, ReadEvaluationFile(FLAGS_data, "gsm8k_test.jsonl"));
//   for (const absl::string_view line : absl::StrSplit(file.text, '\n')) ...      // errors name file.source and the line
//
// The records in the program are those of tests/data/speculation, so a program finds them wherever it is run. Thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct EvaluationFile {
  std::string source = {};   // The path; of records in the program "the built-in gsm8k_test.jsonl".
  std::string text = {};     // An object of JSON per line.
};

// An empty folder: the records in the program. Errors: those of ReadFileToString; WrongUsage (data) for a file that is not in the program.
absl::StatusOr<EvaluationFile> ReadEvaluationFile(const std::string& folder, absl::string_view name);

}  // namespace tessera
