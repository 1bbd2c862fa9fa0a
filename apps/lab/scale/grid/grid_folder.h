// The folder of a grid: what its samples depend on, and the names of its files.
//
//   RETURN_IF_ERROR(BeginGrid(folder, about));                   // makes it, or finds that it is of these settings
//   SampleFile::Open(GridSamplesPath(folder, "gsm8k"), ...);
//   ASSIGN_OR_RETURN(const GridAbout about, ReadGridAbout(folder));
//
//   grid.json        this: command, model, settings, tasks; written once, when the folder is made
//   TASK.jsonl       samples (sample_file.h)
//   times.jsonl      what this machine took (host_times.h)
//   results.jsonl    a line for each configuration (grid_results.h), written whole
//   report.html      the page
//
// Samples of other settings would be judged as if they were of these, so a folder of other ones is refused, by the first that differs.
// Files may have been written by anyone: they are checked. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tessera/apps/lab/scale/tasks/tasks.h"
#include "tessera/base/cpp20.h"
#include "tessera/base/json_writer.h"

namespace tessera {

// The questions that a grid asks of a task.
struct GridTask {
  std::string task = {};
  int64_t questions = 0;          // The first so many
  int64_t problems = 0;           // of the set.
  std::string sha256 = {};        // HashOfQuestions: these, with answers and tests.
};

struct GridAbout {
  std::string command = {};       // That made the folder. Another may go on with it.
  std::string model = {};         // The file's name.
  std::string model_sha256 = {};
  int64_t parameters = 0;         // Numbers in the model's matrices and vectors.
  std::vector<std::pair<std::string, std::string>> settings = {};   // By name, such as {"temperature", "0.8"}.
  std::vector<GridTask> tasks = {};
};

// {"command", "model": {"name", "sha256", "parameters"}, "settings", "tasks"}: the fields, in an object that is open.
void WriteGridAbout(const GridAbout& about, JsonWriter& json);

std::string HashOfQuestions(const Task& task, int64_t questions);

std::string GridSamplesPath(const std::string& folder, const std::string& task);
std::string GridTimesPath(const std::string& folder);
std::string GridResultsPath(const std::string& folder);
std::string GridPagePath(const std::string& folder);

// Makes the folder, in one that is there, and writes `about` into it. If that is there already: InvalidArgument (file, name of the setting,
// found, expected) where model, settings or tasks are others. The system's errors.
absl::Status BeginGrid(const std::string& folder, const GridAbout& about);

// Errors name file and field.
absl::StatusOr<GridAbout> ReadGridAbout(const std::string& folder);

}  // namespace tessera
