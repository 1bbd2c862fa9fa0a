// Tokens per pass of models that draft for themselves by DS2D (the one-for-all paper), by branch configuration and task, as benches
// measured them.
//
//   ASSIGN_OR_RETURN(const std::vector<Ds2dRun> runs, ReadDs2dRuns("ds2d.jsonl"));
//   for (const Ds2dRun& run : runs)
//     for (const Ds2dTask& task : run.tasks) Print(run.configuration, task.name, task.tokens_per_pass());
//
// A file has a line per run, as tessera_bench spec --tree=ds2d:CONFIGURATION --json writes. A file is hostile until checked. The following
// fields of a line count; other fields may be present:
//
//   {"model": "m.gguf", "tree": "ds2d:3,2", "draft_model": "ds2d.safetensors",
//    "categories": [{"category": "rag", "texts": 4, "drafted": {"tokens": 310, "passes": 200}}]}
//
// Plain data and pure functions: thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

struct Ds2dTask {
  std::string name = {};
  int64_t texts = 0, tokens = 0, passes = 0;
  double tokens_per_pass() const { return static_cast<double>(tokens) / static_cast<double>(passes); }
};

struct Ds2dRun {
  std::string model = {};           // The file's name, without its folders,
  std::string forecasts = {};       // and the name of the forecasts' file; empty: not stated in the line.
  std::string configuration = {};   // "3,2", or "auto".
  std::vector<Ds2dTask> tasks = {}; // At least one, each with a pass and a token per pass or more.
  std::string of() const;           // "m.gguf with ds2d.safetensors".
};

// Reads runs. InvalidArgument (source, line, field, found, expected) for a file without runs, and for an invalid run. A run is invalid with
// another tree, with a configuration that does not parse (spec/trees/branches.h) or has more than 64 rows, or with fewer tokens than
// passes. A task may not appear twice, nor a configuration for one model and file of forecasts. For files: also the errors of ReadTextFile
// (base/text_file.h).
absl::StatusOr<std::vector<Ds2dRun>> ParseDs2dRuns(absl::string_view text, absl::string_view source);
absl::StatusOr<std::vector<Ds2dRun>> ReadDs2dRuns(const std::string& path);

}  // namespace tessera
