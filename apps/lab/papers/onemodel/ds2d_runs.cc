#include "tessera/apps/lab/papers/onemodel/ds2d_runs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/base/json.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/spec/trees/branches.h"

namespace tessera {
namespace {

constexpr int64_t kMostFileBytes = int64_t{64} << 20, kMostCount = int64_t{1} << 40;
constexpr size_t kMostNameBytes = 256;
constexpr int kMostRows = 64;   // In a pass.
constexpr char kTree[] = "ds2d:", kAuto[] = "auto";

// Checks a text that is shown to people.
absl::StatusOr<std::string> NameOf(const JsonValue& object, absl::string_view key) {
  ASSIGN_OR_RETURN(const JsonValue value, object.Value(key));
  ASSIGN_OR_RETURN(std::string name, value.AsString());
  if (!name.empty() && name.size() <= kMostNameBytes && IsPrintableUtf8(name)) return name;
  return value.Error(Quoted(name), absl::StrCat("printable text of 1 to ", kMostNameBytes, " bytes"));
}

// Returns a path's name without folders.
absl::StatusOr<std::string> FileNameOf(const JsonValue& object, absl::string_view key) {
  ASSIGN_OR_RETURN(const std::string path, NameOf(object, key));
  return path.substr(path.rfind('/') + 1);
}

absl::StatusOr<std::string> ConfigurationOf(const JsonValue& line) {
  ASSIGN_OR_RETURN(const JsonValue value, line.Value("tree"));
  ASSIGN_OR_RETURN(const std::string tree, value.AsString());
  absl::string_view configuration = tree;
  if (!absl::ConsumePrefix(&configuration, kTree)) return value.Error(Quoted(tree), "ds2d:3,2 or another configuration of DS2D");
  if (configuration == kAuto) return kAuto;
  const absl::Status wrong = ParseBranches(configuration, kMostRows).status();
  if (!wrong.ok()) return value.Error(Quoted(tree), absl::StrCat("a configuration of DS2D; ", wrong.message()));
  return std::string(configuration);
}

absl::StatusOr<Ds2dTask> TaskOf(const JsonValue& category) {
  Ds2dTask task;
  ASSIGN_OR_RETURN(task.name, NameOf(category, "category"));
  ASSIGN_OR_RETURN(task.texts, category.Int("texts", 1, kMostCount));
  ASSIGN_OR_RETURN(const JsonValue drafted, category.Object("drafted"));
  ASSIGN_OR_RETURN(task.passes, drafted.Int("passes", 1, kMostCount));
  ASSIGN_OR_RETURN(task.tokens, drafted.Int("tokens", task.passes, kMostCount));   // Each pass gives at least one token.
  return task;
}

absl::StatusOr<Ds2dRun> RunOf(const JsonValue& line) {
  Ds2dRun run;
  ASSIGN_OR_RETURN(run.model, FileNameOf(line, "model"));
  ASSIGN_OR_RETURN(run.configuration, ConfigurationOf(line));
  if (line.Has("draft_model")) {
    ASSIGN_OR_RETURN(run.forecasts, FileNameOf(line, "draft_model"));
  }
  ASSIGN_OR_RETURN(const JsonValue categories, line.Array("categories"));
  for (int64_t i = 0; i < categories.size(); ++i) {
    ASSIGN_OR_RETURN(Ds2dTask task, TaskOf(categories[i]));
    const auto same = [&](const Ds2dTask& other) { return other.name == task.name; };
    if (std::any_of(run.tasks.begin(), run.tasks.end(), same)) return categories[i].Error(Quoted(task.name), "each category once");
    run.tasks.push_back(std::move(task));
  }
  if (run.tasks.empty()) return categories.Error("no category", "at least one");
  return run;
}

}  // namespace

std::string Ds2dRun::of() const { return forecasts.empty() ? model : absl::StrCat(model, " with ", forecasts); }

absl::StatusOr<std::vector<Ds2dRun>> ParseDs2dRuns(absl::string_view text, absl::string_view source) {
  std::vector<Ds2dRun> runs;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    ASSIGN_OR_RETURN(const JsonValue json, JsonValue::Parse(line, absl::StrCat(source, ", line ", number)));
    ASSIGN_OR_RETURN(Ds2dRun run, RunOf(json));
    const auto same = [&](const Ds2dRun& other) { return other.of() == run.of() && other.configuration == run.configuration; };
    if (std::any_of(runs.begin(), runs.end(), same)) {
      return json.Error(absl::StrCat("configuration ", run.configuration, " of ", run.of(), " again"), "each once");
    }
    runs.push_back(std::move(run));
  }
  if (runs.empty()) return absl::InvalidArgumentError(absl::StrCat(source, ": found no run, expected a line for each"));
  return runs;
}

absl::StatusOr<std::vector<Ds2dRun>> ReadDs2dRuns(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostFileBytes));
  return ParseDs2dRuns(text, path);
}

}  // namespace tessera
