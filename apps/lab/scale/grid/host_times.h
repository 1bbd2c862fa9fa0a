// Measures the time of questions on this machine, and keeps the times in a file. Questions are answered one at a time. The N samples of a
// question, or the rows of a question's beam search, are decoded together.
//
//   HostTimes times = *HostTimes::Read(GridTimesPath(folder), MachineName(*engine));
//   if (times.Find("gsm8k", 8, /*scorer=*/"") == nullptr) {
//     const auto write = [&](const SampleProblem& question, bool warm_up) { return WriteAlone(*engine, question, options, warm_up); };
//     RETURN_IF_ERROR(TimeQuestions(*engine, questions, write, time));      // time: HostTime{.task = "gsm8k", .samples = 8}
//     RETURN_IF_ERROR(times.Add(time));
//   }
//
// A question's time ends with its last sample. The time includes reading the prompt. The samples have passes of their own, by a new
// scheduler without cached tokens of earlier questions. Samples equal the grid's samples to the bit, so the times belong to the judged
// lengths. Times of another machine, number of threads or scorer of searches are measured again. The load from other programs is kept with
// each time.
//
// Errors: files are checked; errors name file, line and field. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/apps/lab/scale/tasks/sample_run.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/json_writer.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

struct HostTime {
  std::string task = {};
  int samples = 1;                             // Together; rows of a beam search.
  bool beams = false;                          // True: a beam search.
  std::string scorer = {};                     // The scorer of a beam search's steps: ScorerSettings (run_settings.h). Else empty.
  int questions = 0;
  double seconds = 0;                          // Mean of a question.
  double least_seconds = 0, most_seconds = 0;  // The shortest and the longest.
  double tokens = 0;                           // Mean of a question, all samples together.
  std::optional<double> other_cpus = {};       // CPUs that other programs kept busy meanwhile; none: not known, or the run was too short.
  std::string machine = {};                    // MachineName.
};

// Returns the machine's name: "AMD EPYC 7B13, 2 threads, avx2".
std::string MachineName(const Engine& engine);

// Writes the fields of a line into an open object.
void WriteHostTime(const HostTime& time, JsonWriter& json);

// Generates one question's samples alone, and returns the tokens of all samples. warm_up: a few tokens each are enough.
absl::StatusOr<int64_t> WriteAlone(Engine& engine, const SampleProblem& question, SampleOptions options, bool warm_up);

// Times each question once, and fills `time` with the measured numbers. First, the first question is answered once as a warm-up without
// timing. write: a function like WriteAlone. Returns the errors of `write`. REQUIRES: there is a question.
absl::Status TimeQuestions(const Engine& engine, absl::Span<const SampleProblem> questions,
                           absl::FunctionRef<absl::StatusOr<int64_t>(const SampleProblem& question, bool warm_up)> write, HostTime& time);

class HostTimes {
 public:
  // Reads the file's times of `machine`; empty: of any machine. No times if the file is missing. A beam search without a scorer in the line
  // is left out, to be measured again.
  static absl::StatusOr<HostTimes> Read(const std::string& path, const std::string& machine = "");

  // Returns a time; null: not measured. scorer: empty for samples, else the scorer of a beam search.
  const HostTime* Find(absl::string_view task, int samples, absl::string_view scorer) const;
  // Returns the last measured time of a beam search, by the name of the scorer's figure.
  const HostTime* FindBeams(absl::string_view task, int samples, absl::string_view figure) const;
  const std::vector<HostTime>& all() const { return times_; }
  // Adds a time and writes the whole file.
  absl::Status Add(const HostTime& time);

 private:
  explicit HostTimes(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::vector<HostTime> times_ = {};
};

}  // namespace tessera
