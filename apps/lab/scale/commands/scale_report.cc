// tessera_scale report: the report of one grid, or of several grids to compare the models.
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/lab/scale/commands/scale_commands.h"
#include "tessera/apps/lab/scale/grid/grid_page.h"
#include "tessera/apps/lab/scale/grid/grid_report.h"
#include "tessera/apps/lab/scale/grid/grid_view.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

absl::Status Run() {
  if (FLAGS_from.empty()) return WrongUsage("from", "none", "folders of tessera_scale grid, with commas between");
  const std::vector<std::string> folders = absl::StrSplit(FLAGS_from, ',');
  if (!FLAGS_report.empty()) RETURN_IF_ERROR(CheckGridPage(FLAGS_report, folders));
  const absl::StatusOr<GridView> view = GridView::Read(folders);
  RETURN_IF_ERROR(ForFile("from", view.status()));
  const absl::Status shown = WriteOutput(FLAGS_json ? GridReportJson(*view) : GridReportText(*view));
  return EndOf(shown, FLAGS_report.empty() ? absl::OkStatus() : WriteGridPage(FLAGS_report, *view));
}

}  // namespace

Command ScaleReport() {
  return {{.subcommand = "report",
           .summary = "Reports on one grid or several (tessera_scale grid): each configuration's right answers, time and energy, which of "
                      "them no other one beats, and where a smaller model with more samples beats a larger one. Grids that are compared "
                      "have to ask the same questions of a set. --report writes a page with charts, which needs no network.",
           .examples = {"tessera_scale report --from=grid_135m,grid_360m --report=both.html", "tessera_scale report --from=grid --json"},
           .groups = {{"Grids", {"from"}}, {"Output", {"report", "json"}}}},
          Run};
}

}  // namespace tessera
