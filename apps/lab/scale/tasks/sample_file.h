// Samples that a run adds to a file as they end, and goes on with after it was killed: a JSON object per line.
//
//   ASSIGN_OR_RETURN(SampleFile file, SampleFile::Open("samples.jsonl", "gsm8k, model.gguf, temperature 0.8, seed 0, ..."));
//   if (!file.Has(problem.id, 3)) ...                        // it has to be written
//   RETURN_IF_ERROR(file.Add({.id = problem.id, .sample = 3, .text = text, .finish = "end of text"}));
//
// A line is added in one piece by one call, so a run that ends in between leaves whole lines; a part of a last line, which a full disk can
// leave, is cut off when the file is opened again. Each line holds the settings of its run: a file with others is refused, since samples of
// two runs would be judged as if they were of one. Two runs cannot add to one file at a time. Candidates.h reads such files.
// Thread-compatible.
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
  std::string id = {};          // The problem's.
  int sample = 0;               // From 0 on.
  std::string text = {};
  std::string finish = {};      // FinishReasonName.
  int64_t tokens = 0;
  double mean_log_probability = 0, self_certainty = 0;
};

// InvalidArgument (line, found, expected) unless the record's settings are these.
absl::Status CheckSampleSettings(const JsonValue& record, const std::string& settings);

class SampleFile {
 public:
  // Makes the file if it is not there. Errors name file, line and field; FailedPrecondition if another process has it open so.
  static absl::StatusOr<SampleFile> Open(const std::string& path, const std::string& settings);
  SampleFile(SampleFile&& other) noexcept;
  ~SampleFile();

  bool Has(absl::string_view id, int sample) const;
  // InvalidArgument (file, id, sample) where the file had the sample when it was opened, and with another text.
  absl::Status CheckText(absl::string_view id, int sample, absl::string_view text) const;
  int64_t size() const;   // Samples in it.
  // The system's error, after which the file has what it had before, or a part of a line that the next Open cuts off.
  absl::Status Add(const Sample& sample);
  // The same for a line with other members: `write` adds them between the number and the settings. REQUIRES: it adds none of these.
  absl::Status Add(absl::string_view id, int sample, absl::FunctionRef<void(JsonWriter& json)> write);
  // Waits until all is on the disk.
  absl::Status Sync();

 private:
  struct State;
  explicit SampleFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tessera
