// The folder of a grid: the settings that the samples depend on, and the names of the files.
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
// Samples of other settings would be judged like samples of this grid's settings. So a folder with other settings is refused, and the error
// names the first difference. Files may have been written by anyone, so all files are checked. Threads: one at a time.
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
  int64_t questions = 0;          // Number of asked questions, the first ones of the set,
  int64_t problems = 0;           // and number of problems in the set.
  std::string sha256 = {};        // HashOfQuestions of the asked questions, with answers and tests.
};

struct GridAbout {
  std::string command = {};       // The command that made the folder. Another command may continue the grid.
  std::string model = {};         // The name of the model's file.
  std::string model_sha256 = {};
  int64_t parameters = 0;         // Numbers in the model's matrices and vectors.
  std::vector<std::pair<std::string, std::string>> settings = {};   // By name, such as {"temperature", "0.8"}.
  std::vector<GridTask> tasks = {};
};

// Writes the fields {"command", "model": {"name", "sha256", "parameters"}, "settings", "tasks"} into an open object.
void WriteGridAbout(const GridAbout& about, JsonWriter& json);

std::string HashOfQuestions(const Task& task, int64_t questions);

std::string GridSamplesPath(const std::string& folder, const std::string& task);
std::string GridTimesPath(const std::string& folder);
std::string GridResultsPath(const std::string& folder);
std::string GridPagePath(const std::string& folder);

// Makes a missing folder, whose parent must exist, and writes `about` to grid.json. An existing grid.json is compared instead:
// InvalidArgument (file, name of the setting, found, expected) for another model, setting or task. Also the system's errors.
absl::Status BeginGrid(const std::string& folder, const GridAbout& about);

// Reads grid.json. Errors name file and field.
absl::StatusOr<GridAbout> ReadGridAbout(const std::string& folder);

}  // namespace tessera
