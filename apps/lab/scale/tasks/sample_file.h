// A file of samples, a JSON object per line. A run adds each sample at the sample's end, and a run that was killed can be continued.
//
//   ASSIGN_OR_RETURN(SampleFile file, SampleFile::Open("samples.jsonl", "gsm8k, model.gguf, temperature 0.8, seed 0, ..."));
//   if (!file.Has(problem.id, 3)) ...                        // it has to be written
//   RETURN_IF_ERROR(file.Add({.id = problem.id, .sample = 3, .text = text, .finish = "end of text"}));
//
// One call appends a whole line, so a run that is killed leaves whole lines. A full disk can leave a part of a last line; Open cuts that
// part off. Each line holds the settings of the run. A file with other settings is refused, since samples of two runs would be judged like
// samples of one. Two runs cannot add to one file at a time. ReadCandidates (candidates.h) reads such files. Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/json.h"
#include "tessera/base/json_writer.h"

namespace tessera {

struct Sample {
  std::string id = {};          // The problem's id.
  int sample = 0;               // From 0 on.
  std::string text = {};
  std::string finish = {};      // FinishReasonName.
  int64_t tokens = 0;
  double mean_log_probability = 0, self_certainty = 0;
};

// Checks that the record's settings are `settings`. InvalidArgument (line, found, expected) for others.
absl::Status CheckSampleSettings(const JsonValue& record, const std::string& settings);

class SampleFile {
 public:
  // Opens the file, and makes a missing file. Errors name file, line and field. FailedPrecondition if another process has the file open for
  // adding.
  static absl::StatusOr<SampleFile> Open(const std::string& path, const std::string& settings);
  SampleFile(SampleFile&& other) noexcept;
  ~SampleFile();

  bool Has(absl::string_view id, int sample) const;
  // Compares a sample's text with the file. InvalidArgument (file, id, sample) if the file had the sample at Open with another text.
  absl::Status CheckText(absl::string_view id, int sample, absl::string_view text) const;
  int64_t size() const;   // Samples in the file.
  // Adds a sample. After a system's error, the file is unchanged, or has a part of a line that the next Open cuts off.
  absl::Status Add(const Sample& sample);
  // Adds a line with other members: `write` adds the members between the number and the settings. REQUIRES: `write` adds none of "id",
  // "sample" and "settings".
  absl::Status Add(absl::string_view id, int sample, absl::FunctionRef<void(JsonWriter& json)> write);
  // Waits until all samples are on the disk.
  absl::Status Sync();

 private:
  struct State;
  explicit SampleFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tessera
