// tessera_reproduce onemodel: one model for many tasks, the one-for-all paper's tables beside what modeled phones say.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/lab/papers/commands/reproduce_commands.h"
#include "tessera/apps/lab/papers/onemodel/onemodel_report.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

absl::StatusOr<std::vector<Ds2dRun>> RunsOfFlag() {
  if (FLAGS_recordings.empty()) return std::vector<Ds2dRun>();
  absl::StatusOr<std::vector<Ds2dRun>> runs = ReadDs2dRuns(FLAGS_recordings);
  RETURN_IF_ERROR(ForFile("recordings", runs.status()));
  return runs;
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckNotBoth("table", !FLAGS_table.empty(), "json", FLAGS_json));
  ASSIGN_OR_RETURN(std::vector<Ds2dRun> runs, RunsOfFlag());
  ASSIGN_OR_RETURN(const ProfileSet profiles, BuiltInProfiles());
  ASSIGN_OR_RETURN(const OnemodelReport report, MakeOnemodelReport(profiles, std::move(runs)));
  ASSIGN_OR_RETURN(const std::string text, OnemodelReportText(report, FLAGS_table));
  return WriteOutput(FLAGS_json ? absl::StrCat(OnemodelReportJson(report), "\n") : text);
}

}  // namespace

Command ReproduceOnemodel() {
  return {{.subcommand = "onemodel",
           .summary = "One model with adapters for many tasks (one-for-all) on modeled phones. Tables 1, 2, 3, 5, 6, 7, 9 and 10 beside "
                      "what the model of phones says, with errors; peak memory, loading and first token with eight adapters on each phone, "
                      "by each way to have them. Tokens per pass of DS2D are those of --recordings, if it is given: a file of lines that "
                      "tessera_bench spec --tree=ds2d:CONFIGURATION --json wrote.",
           .examples = {"tessera_reproduce onemodel", "tessera_reproduce onemodel --recordings=ds2d.jsonl --json"},
           .groups = {{"Output", {"recordings", "table", "json"}}}},
          Run};
}

}  // namespace tessera
