// Files of evaluation sets: whole files in a folder that the user gives, or a few records of each set, built into the program.
//
//   ASSIGN_OR_RETURN(const EvaluationFile file, ReadEvaluationFile(FLAGS_data, "gsm8k_test.jsonl"));
//   for (const absl::string_view line : absl::StrSplit(file.text, '\n')) ...      // errors name file.source and the line
//
// The built-in records are the records of tests/data/speculation. A program finds the built-in records in any working directory.
// Thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct EvaluationFile {
  std::string source = {};   // The path; "the built-in gsm8k_test.jsonl" for built-in records.
  std::string text = {};     // An object of JSON per line.
};

// Reads the file `name` of `folder`. An empty folder: the built-in records. Errors of ReadFileToString; WrongUsage (data) for a file
// without built-in records.
absl::StatusOr<EvaluationFile> ReadEvaluationFile(const std::string& folder, absl::string_view name);

}  // namespace tessera
