#include "tessera/apps/bench/compare/mode.h"

#include <algorithm>

#include <gflags/gflags.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/draft/draft_options.h"

namespace tessera {
namespace {

constexpr char kRows[] = "rows", kHistory[] = "history";

absl::Status UnknownName(const std::string& name) {
  const std::string meant = NearestName(name, Mode::Names());
  return absl::InvalidArgumentError(absl::StrCat("found the setting \"", name, "\", expected one of ", absl::StrJoin(Mode::Names(), ", "),
                                                 meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?")));
}

absl::Status BadValue(const std::string& name, const std::string& value, const char* expected) {
  return absl::InvalidArgumentError(absl::StrCat("the setting ", name, ": found \"", value, "\", expected ", expected));
}

}  // namespace

std::vector<std::string> Mode::Names() {
  std::vector<std::string> names = {kRows};
  for (const FlagGroup& group : {SpeculationFlags(), ModelFlags(), StreamingFlags()}) {
    names.insert(names.end(), group.flags.begin(), group.flags.end());
  }
  std::erase_if(names, [](const std::string& name) { return name == "trace" || name == "dry_run"; });
  return names;
}

absl::StatusOr<Mode> Mode::Parse(absl::string_view text) {
  const std::vector<std::string> names = Names();
  Mode mode;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> setting = absl::StrSplit(word, absl::MaxSplits('=', 1));
    const auto& [name, value] = setting;
    if (std::find(names.begin(), names.end(), name) == names.end()) return UnknownName(name);
    if (value.empty()) return BadValue(name, value, "NAME=VALUE");
    for (const auto& [earlier, ignored] : mode.settings_) {
      if (earlier == name) return absl::InvalidArgumentError(absl::StrCat("found the setting \"", name, "\" twice, expected it once"));
    }
    mode.settings_.push_back(setting);
  }
  return mode;
}

bool Mode::Sets(absl::string_view name) const {
  return std::any_of(settings_.begin(), settings_.end(), [&](const auto& setting) { return setting.first == name; });
}

std::string Mode::ValueOf(const std::string& name) const {
  for (const auto& [set, value] : settings_) {
    if (set == name) return value;
  }
  return gflags::GetCommandLineFlagInfoOrDie(name.c_str()).current_value;
}

bool Mode::LeavesNothingTo(const std::string& flag) const {
  if (flag == "cost_profile") return ValueOf("speculate") == "none";
  if (flag == "history") return !ReadsHistory(ValueOf("speculate"));
  if (flag == "draft_model") return !AsksForDraftModel(ValueOf("speculate"));
  if (flag == "tree") return LeavesNothingTo("draft_model") || ValueOf("draft_model").empty();
  const std::string path = ValueOf("path");
  if (flag == "recipe" || flag == "kv_block") return path != "npu";
  if (flag == "kv_format") return path == "reference" || path == "npu";
  return flag == "kernels" && path == "reference";
}

bool Mode::PassesOver(const std::string& flag) const { return Sets(flag) || LeavesNothingTo(flag); }

absl::StatusOr<EngineOptions> Mode::Apply() const {
  if (Sets(kHistory) && LeavesNothingTo(kHistory)) {  // Other programs would keep answers in the file.
    return ForField("the setting history", BadValue(kHistory, ValueOf(kHistory), "drafters that read it, such as suffix"));
  }
  for (const char* const flag : {"cost_profile", kHistory, "tree", "draft_model", "recipe", "kv_block", "kernels", "kv_format"}) {
    if (!LeavesNothingTo(flag)) continue;
    gflags::SetCommandLineOption(flag, gflags::GetCommandLineFlagInfoOrDie(flag).default_value.c_str());
  }
  int rows = 0;
  for (const auto& [name, value] : settings_) {
    if (name == kRows) {
      if (!absl::SimpleAtoi(value, &rows) || rows < 1) {
        return ForField("the setting " + name, BadValue(name, value, "a number of rows, 1 or more"));
      }
    } else if (gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty()) {
      return ForField("the setting " + name, BadValue(name, value, "a whole number"));  // The reader of the flag checks everything else.
    }
  }
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(/*timeline=*/nullptr));
  options.compute.row_capacity = rows;
  return options;
}

}  // namespace tessera
