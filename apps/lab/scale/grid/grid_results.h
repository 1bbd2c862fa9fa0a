// What a grid found out about each configuration: a task, a way to choose, a number of samples. One line of JSON each.
//
//   RETURN_IF_ERROR(WriteGridResults(GridResultsPath(folder), results));                // whole or not at all
//   ASSIGN_OR_RETURN(const std::vector<GridResult> again, ReadGridResults(GridResultsPath(folder)));
//
//   {"model":"a.gguf","task":"gsm8k","method":"majority","samples":8,"questions":40,"right":{"mean":0.3,"low":0.2,"high":0.4},
//    "gain":{...},"prompt_tokens":90,"tokens":1040,"passes":170,"phone":{"device":"8gen3, operators","shape":"...",
//    "prompt_seconds":0.1,"decode_seconds":3.1,"joules":9.5}}
//
// Nothing in it depends on this machine's speed, so that a grid that was stopped and went on has the same lines. Files may have been
// written by anyone: they are checked, and errors name file, line and field. Pure functions but for the files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/apps/lab/scale/grid/phone_time.h"
#include "tessera/apps/lab/scale/judging/estimates.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/json_writer.h"

namespace tessera {

struct GridPhone {
  std::string device = {}, shape = {};   // PhoneTime's.
  PhoneCost cost = {};                   // For a question.
};

struct GridResult {
  std::string model = {};                // The file's name.
  std::string task = {};
  std::string method = {};               // As --methods has it.
  std::string scorer = {};               // FigureOfScorer; empty where the method asks none.
  int samples = 1;                       // 1 to kMostGridSamples; of a beam search, its rows.
  int64_t questions = 0;
  Estimate right = {};                   // Shares of the questions.
  Estimate gain = {};                    // Over one sample.
  double prompt_tokens = 0;              // Means over questions: of the prompt,
  double tokens = 0;                     // of all samples together, those of steps that were dropped too,
  double passes = 0;                     // and passes after the prompt: of samples, the tokens of the longest one.
  std::optional<GridPhone> phone = {};   // None where no phone was asked for.
};

inline constexpr int kMostGridSamples = 64;   // As many as one pass has texts (kMostTexts).

// The fields of a result, in an object that is open.
void WriteGridResult(const GridResult& result, JsonWriter& json);

absl::Status WriteGridResults(const std::string& path, const std::vector<GridResult>& results);
absl::StatusOr<std::vector<GridResult>> ReadGridResults(const std::string& path);

}  // namespace tessera
