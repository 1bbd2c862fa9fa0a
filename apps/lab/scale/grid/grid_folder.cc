#include "tessera/apps/lab/scale/grid/grid_folder.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "tessera/base/sha256.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int kFormat = 1;
constexpr int64_t kLargestAbout = int64_t{1} << 20;

using Settings = std::vector<std::pair<std::string, std::string>>;

std::string AboutPath(const std::string& folder) { return absl::StrCat(folder, "/grid.json"); }

absl::StatusOr<std::string> HashOf(const JsonValue& object) {
  ASSIGN_OR_RETURN(const std::string hash, object.String("sha256"));
  if (Sha256Sum::Parse(hash).has_value()) return hash;
  ASSIGN_OR_RETURN(const JsonValue value, object.Value("sha256"));
  return value.Error(Quoted(hash), "64 hexadecimal digits");
}

absl::StatusOr<GridTask> TaskOf(const JsonValue& json) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  GridTask task;
  ASSIGN_OR_RETURN(task.task, json.String("task"));
  const std::vector<std::string>& names = TaskNames();
  if (std::find(names.begin(), names.end(), task.task) == names.end()) {
    ASSIGN_OR_RETURN(const JsonValue value, json.Value("task"));
    return value.Error(Quoted(task.task), "a task's name");   // The name becomes a part of a path.
  }
  ASSIGN_OR_RETURN(task.questions, json.Int("questions", 1, kMost));
  ASSIGN_OR_RETURN(task.problems, json.Int("problems", task.questions, kMost));
  ASSIGN_OR_RETURN(task.sha256, HashOf(json));
  return task;
}

// Returns all settings that may not differ, by name.
Settings Compared(const GridAbout& about) {
  Settings all = {{"model's sha256", about.model_sha256}};
  all.insert(all.end(), about.settings.begin(), about.settings.end());
  std::string tasks;
  for (const GridTask& task : about.tasks) absl::StrAppend(&tasks, tasks.empty() ? "" : ",", task.task);
  all.emplace_back("task", tasks);
  for (const GridTask& task : about.tasks) {
    all.emplace_back(absl::StrCat("questions of ", task.task), absl::StrCat(task.questions, " of sha256 ", task.sha256));
  }
  return all;
}

std::string ValueIn(const Settings& settings, const std::string& name) {
  const auto found = std::find_if(settings.begin(), settings.end(), [&](const auto& setting) { return setting.first == name; });
  return found == settings.end() ? "none" : found->second;
}

absl::Status CheckSame(const std::string& path, const Settings& found, const Settings& expected) {
  for (const Settings* settings : {&expected, &found}) {
    for (const auto& [name, value] : *settings) {
      const std::string there = ValueIn(found, name), here = ValueIn(expected, name);
      if (there == here) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": ", Printable(name), ": found ", Printable(there), ", expected ", Printable(here), ", that of this run"));
    }
  }
  return absl::OkStatus();
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directory(folder, error);   // No error for an existing folder.
  if (!error && std::filesystem::is_directory(folder, error)) return absl::OkStatus();
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(folder, ": cannot make this folder"));
  return absl::InvalidArgumentError(absl::StrCat(folder, ": found a file, expected a folder"));
}

}  // namespace

void WriteGridAbout(const GridAbout& about, JsonWriter& json) {
  json.Key("command").String(about.command).Key("model").BeginObject();
  json.Key("name").String(about.model).Key("sha256").String(about.model_sha256).Key("parameters").Int(about.parameters).EndObject();
  json.Key("settings").BeginObject();
  for (const auto& [name, value] : about.settings) json.Key(name).String(value);
  json.EndObject().Key("tasks").BeginArray();
  for (const GridTask& task : about.tasks) {
    json.BeginObject().Key("task").String(task.task).Key("questions").Int(task.questions).Key("problems").Int(task.problems);
    json.Key("sha256").String(task.sha256).EndObject();
  }
  json.EndArray();
}

std::string HashOfQuestions(const Task& task, int64_t questions) {
  std::string all;
  for (const Problem& problem : task.problems) {
    if (questions-- <= 0) break;
    for (const std::string* text : {&problem.id, &problem.prompt, &problem.answer, &problem.tests}) {
      absl::StrAppend(&all, text->size(), ":", *text);
    }
  }
  return Sha256Of(all).Hex();
}

std::string GridSamplesPath(const std::string& folder, const std::string& task) { return absl::StrCat(folder, "/", task, ".jsonl"); }
std::string GridTimesPath(const std::string& folder) { return absl::StrCat(folder, "/times.jsonl"); }
std::string GridResultsPath(const std::string& folder) { return absl::StrCat(folder, "/results.jsonl"); }
std::string GridPagePath(const std::string& folder) { return absl::StrCat(folder, "/report.html"); }

absl::Status BeginGrid(const std::string& folder, const GridAbout& about) {
  RETURN_IF_ERROR(MakeFolder(folder));
  const absl::StatusOr<GridAbout> there = ReadGridAbout(folder);
  std::error_code error;
  if (absl::IsNotFound(there.status()) && !std::filesystem::exists(AboutPath(folder), error)) {
    JsonWriter json(/*indent=*/2);
    WriteGridAbout(about, json.BeginObject().Key("format").Int(kFormat));
    json.EndObject();
    return WriteFileAtomically(AboutPath(folder), std::move(json).Take() + "\n");
  }
  RETURN_IF_ERROR(there.status());
  return CheckSame(AboutPath(folder), Compared(*there), Compared(about));
}

absl::StatusOr<GridAbout> ReadGridAbout(const std::string& folder) {
  const std::string path = AboutPath(folder);
  ASSIGN_OR_RETURN(const std::string text, ReadFileToString(path, kLargestAbout));
  ASSIGN_OR_RETURN(const JsonValue json, JsonValue::Parse(text, path));
  RETURN_IF_ERROR(json.Int("format", kFormat, kFormat).status());
  GridAbout about;
  ASSIGN_OR_RETURN(about.command, json.String("command"));
  ASSIGN_OR_RETURN(const JsonValue model, json.Object("model"));
  ASSIGN_OR_RETURN(about.model, model.String("name"));
  ASSIGN_OR_RETURN(about.model_sha256, HashOf(model));
  ASSIGN_OR_RETURN(about.parameters, model.Int("parameters", 0));
  ASSIGN_OR_RETURN(const JsonValue settings, json.Object("settings"));
  for (const std::string& name : settings.Keys()) {
    ASSIGN_OR_RETURN(std::string value, settings.String(name));
    about.settings.emplace_back(name, std::move(value));
  }
  ASSIGN_OR_RETURN(const JsonValue tasks, json.Array("tasks"));
  for (int64_t i = 0; i < tasks.size(); ++i) {
    ASSIGN_OR_RETURN(GridTask task, TaskOf(tasks[i]));
    const auto same = [&](const GridTask& other) { return other.task == task.task; };
    if (std::any_of(about.tasks.begin(), about.tasks.end(), same)) return tasks[i].Error(absl::StrCat(task.task, " again"), "each once");
    about.tasks.push_back(std::move(task));
  }
  return about;
}

}  // namespace tessera
