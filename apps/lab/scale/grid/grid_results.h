// The results of a grid for each configuration: a task, a method of choosing, a number of samples. One line of JSON per configuration.
//
//   RETURN_IF_ERROR(WriteGridResults(GridResultsPath(folder), results));                // whole or not at all
//   ASSIGN_OR_RETURN(const std::vector<GridResult> again, ReadGridResults(GridResultsPath(folder)));
//
//   {"model":"a.gguf","task":"gsm8k","method":"majority","samples":8,"questions":40,"right":{"mean":0.3,"low":0.2,"high":0.4},
//    "gain":{...},"prompt_tokens":90,"tokens":1040,"passes":170,"phone":{"device":"8gen3, operators","shape":"...",
//    "prompt_seconds":0.1,"decode_seconds":3.1,"joules":9.5}}
//
// No field depends on this machine's speed, so a grid that was stopped and continued has the same lines. Files may have been written by
// anyone, so files are checked, and errors name file, line and field. Pure functions except for the files.
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
  std::string device = {}, shape = {};   // See PhoneTime.
  PhoneCost cost = {};                   // Per question.
};

struct GridResult {
  std::string model = {};                // The name of the model's file.
  std::string task = {};
  std::string method = {};               // A name of --methods.
  std::string scorer = {};               // From FigureOfScorer; empty if the method asks no scorer.
  int samples = 1;                       // 1 to kMostGridSamples; the rows of a beam search.
  int64_t questions = 0;
  Estimate right = {};                   // Shares of the questions.
  Estimate gain = {};                    // Over one sample.
  double prompt_tokens = 0;              // Means over questions: of the prompt,
  double tokens = 0;                     // of all samples together, dropped steps included,
  double passes = 0;                     // and passes after the prompt. For samples: the tokens of the longest sample.
  std::optional<GridPhone> phone = {};   // None: no phone was asked for.
};

inline constexpr int kMostGridSamples = 64;   // The maximum number of sequences of a pass (kMostTexts).

// Writes the fields of a result into an open object.
void WriteGridResult(const GridResult& result, JsonWriter& json);

absl::Status WriteGridResults(const std::string& path, const std::vector<GridResult>& results);
absl::StatusOr<std::vector<GridResult>> ReadGridResults(const std::string& path);

}  // namespace tessera
