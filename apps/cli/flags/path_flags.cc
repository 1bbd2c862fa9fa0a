#include "tessera/apps/cli/flags/path_flags.h"

#include <algorithm>

#include <gflags/gflags.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/cli/draft/draft_flags.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/model_names.h"
#include "tessera/apps/cli/flags/scorer_flags.h"
#include "tessera/base/same_file.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

using Use = PathFlag::Use;

bool Takes(const AppInfo& info, const std::string& flag) {
  const auto has = [&](const FlagGroup& group) { return std::find(group.flags.begin(), group.flags.end(), flag) != group.flags.end(); };
  return std::any_of(info.groups.begin(), info.groups.end(), has);
}

std::string ValueOf(const std::string& flag) { return gflags::GetCommandLineFlagInfoOrDie(flag.c_str()).current_value; }

bool IsOutput(Use use) { return use == Use::kWritesText || use == Use::kWritesModel || use == Use::kReadsOrWrites; }

struct UsedFile {
  std::string flag, path;
  Use use;
};

// Returns the other parts of "model-00001-of-00003.gguf"; none for a name of another form.
std::vector<std::string> OtherParts(const std::string& path) {
  constexpr absl::string_view kForm = "-00001-of-00003.gguf";
  constexpr size_t kNumber = 1, kCount = 10, kDigits = 5;
  if (path.size() <= kForm.size()) return {};
  const absl::string_view end = absl::string_view(path).substr(path.size() - kForm.size());
  int number, count;
  if (!absl::SimpleAtoi(end.substr(kNumber, kDigits), &number) || !absl::SimpleAtoi(end.substr(kCount, kDigits), &count)) return {};
  if (end != absl::StrFormat("-%05d-of-%05d.gguf", number, count)) return {};
  std::vector<std::string> parts;
  for (int part = 1; part <= count; ++part) {
    if (part != number) parts.push_back(absl::StrFormat("%s-%05d-of-%05d.gguf", path.substr(0, path.size() - kForm.size()), part, count));
  }
  return parts;
}

// Returns the files that the run's flags name. A missing model is not reported here.
std::vector<UsedFile> UsedFiles(const AppInfo& info) {
  std::vector<UsedFile> files;
  for (const PathFlag& flag : PathFlags()) {
    if (!Takes(info, flag.name)) continue;
    std::string path = ValueOf(flag.name);
    if (flag.name == "model") path = ModelPath().value_or(path);
    if (flag.name == "around" && !path.empty()) path = PathOfModel(flag.name, path).value_or(path);
    if (flag.name == "draft_model") {
      const DraftSource source = ParseDraftModel(path).value_or(DraftSource());
      path = source.layers > 0 ? source.map : source.file;   // The file that is copied.
    }
    if (flag.name == "scorer") path = ParseScorer(path).value_or(ScorerSpec()).file;
    if (flag.name == "device") path = path.substr(0, path.find(':'));   // Style and power mode follow.
    if (path.empty()) continue;
    if (flag.name == "prune") {   // A list in tessera_lever.
      const std::vector<std::string> parts = absl::StrSplit(path, ';', absl::SkipEmpty());
      for (const std::string& part : parts) files.push_back({flag.name, part, flag.use});
      continue;
    }
    if (flag.use == Use::kKeepsFiles) path = SpeculationOfFlags().history_folder;
    files.push_back({flag.name, path, flag.use});
    if (flag.use != Use::kReadsModel) continue;
    for (const std::string& part : OtherParts(path)) files.push_back({flag.name, part, flag.use});
  }
  return files;
}

bool IsSame(const UsedFile& output, const UsedFile& other) {
  if (other.use == Use::kReadsFolder) return LiesIn(other.path, output.path);
  if (other.use == Use::kKeepsFiles) return LeadsInto(other.path, output.path);
  if (other.path == "-" && !IsOutput(other.use)) return IsOpenAs(STDIN_FILENO, output.path);
  return IsSameFile(output.path, other.path);
}

std::string NameOf(const UsedFile& file) {
  if (file.use == Use::kReadsModel) return absl::StrCat("the model itself (--", file.flag, ")");
  if (file.use == Use::kReadsFolder) return absl::StrCat("a file in the folder of --", file.flag);
  if (file.use == Use::kKeepsFiles) return absl::StrCat("a file in the folder of --", file.flag, " (", file.path, ")");
  return file.flag.empty() ? "what standard input reads" : absl::StrCat("the file of --", file.flag);
}

absl::Status CheckOutput(const UsedFile& output, const std::vector<UsedFile>& files) {
  if (output.path == "-" && output.use != Use::kWritesText) {
    return WrongUsage(output.flag, "-", "the path of a file; ./- is a file of that name");
  }
  for (const UsedFile& other : files) {
    if (other.flag == output.flag || !IsSame(output, other)) continue;
    return ForField(output.flag, absl::InvalidArgumentError(
                                     absl::StrCat(output.path, ": found ", NameOf(other), ", expected another file")));
  }
  return absl::OkStatus();
}

// Returns true for files that are read again, or at many places. A file that is read as a whole and only then written is the shell's
// affair: tessera_generate --prompt_file=story >> story
bool IsReadAgain(Use use) {
  return use == Use::kReadsModel || use == Use::kReadsRegular || use == Use::kReadsOrWrites || use == Use::kKeepsFiles;
}

// Refuses tessera_generate >> model.gguf.
absl::Status CheckStandardOutputs(const UsedFile& file) {
  const bool folder = file.use == Use::kKeepsFiles;
  for (const auto& [descriptor, name] : {std::pair(STDOUT_FILENO, "standard output"), std::pair(STDERR_FILENO, "standard error")}) {
    if (!(folder ? IsOpenIn(descriptor, file.path) : IsOpenAs(descriptor, file.path))) continue;
    if (file.use == Use::kReadsModel) return WrongUsage(name, absl::StrCat(file.path, ", ", NameOf(file)), "another file");
    return WrongUsage(file.flag, absl::StrCat(file.path, ", to ", folder ? "a file of " : "", "which ", name, " goes"), "another file");
  }
  return absl::OkStatus();
}

// Refuses tessera_generate --chat < log >> log, where the program would answer the program's answers.
absl::Status CheckAnswersAreNotRead() {
  if ((!FLAGS_jsonl && !FLAGS_chat) || !IsOpenAs(STDOUT_FILENO, "/dev/stdin")) return absl::OkStatus();
  return WrongUsage("standard output", "what standard input reads", "another file");
}

}  // namespace

const std::vector<PathFlag>& PathFlags() {
  static const std::vector<PathFlag> flags = {
      {"model", Use::kReadsModel},     {"draft_model", Use::kReadsModel},
      {"prompt_file", Use::kReadsText}, {"prompts", Use::kReadsText},
      {"flagfile", Use::kReadsText},   {"peer_curve", Use::kReadsText},       {"flash", Use::kReadsRegular},
      {"recordings", Use::kReadsText}, {"curves", Use::kReadsText},
      {"data", Use::kReadsFolder},     {"adapter_folder", Use::kReadsFolder},
      {"cost_profile", Use::kReadsOrWrites}, {"trace", Use::kWritesText},
      {"plot", Use::kWritesText},      {"out", Use::kWritesModel},             {"history", Use::kKeepsFiles},
      {"session", Use::kReadsOrWrites}, {"statistics", Use::kReadsRegular}, {"device", Use::kReadsRegular},
      {"tokens_of", Use::kReadsRegular}, {"around", Use::kReadsModel},  {"prune", Use::kReadsRegular},
      {"candidates", Use::kReadsRegular}, {"scorer", Use::kReadsRegular}, {"into", Use::kReadsOrWrites}, {"report", Use::kWritesText},
  };
  return flags;
}

absl::Status CheckFilesDiffer(const AppInfo& info, const std::vector<std::string>& flag_files) {
  std::vector<UsedFile> files = UsedFiles(info);
  files.push_back({"", "-", Use::kReadsText});
  for (const std::string& path : flag_files) files.push_back({"flagfile", path, Use::kReadsText});
  for (const UsedFile& file : files) {
    if (IsOutput(file.use)) RETURN_IF_ERROR(CheckOutput(file, files));
    if (IsReadAgain(file.use)) RETURN_IF_ERROR(CheckStandardOutputs(file));
  }
  return CheckAnswersAreNotRead();
}

ReaderGone WhenReaderGoes(const AppInfo& info) {
  const auto given = [&](const char* flag) { return Takes(info, flag) && !ValueOf(flag).empty(); };
  if (FLAGS_jsonl && given("into")) return ReaderGone::kEndsNothing;
  const bool writes = given("out") || given("plot") || given("cost_profile") || given("trace") || given("history") ||
                      given("session") || given("into") || given("report");
  return writes ? ReaderGone::kEndsInOrder : ReaderGone::kEndsAtOnce;
}

}  // namespace tessera
