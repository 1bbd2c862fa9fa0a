// tessera_reproduce lever: the models, phones and systems of Lever, by modeled phones with flash and recorded drafts.
#include <string>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/lab/papers/commands/reproduce_commands.h"
#include "tessera/apps/lab/papers/lever/lever_shapes.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

absl::Status Run() {
  RETURN_IF_ERROR(CheckNotBoth("table", !FLAGS_table.empty(), "json", FLAGS_json));
  if (!FLAGS_plot.empty()) RETURN_IF_ERROR(ForFile("plot", CheckTextFileWritable(FLAGS_plot)));
  ASSIGN_OR_RETURN(const LeverDrafts drafts, BuiltInLeverDrafts());
  ASSIGN_OR_RETURN(const ProfileSet profiles, BuiltInProfiles());
  ASSIGN_OR_RETURN(const LeverReport report, MakeLeverReport(profiles, drafts));
  ASSIGN_OR_RETURN(const std::string text, LeverReportText(report, FLAGS_table));
  const absl::Status shown = WriteOutput(FLAGS_json ? absl::StrCat(LeverReportJson(report), "\n") : text);
  return EndOf(shown, FLAGS_plot.empty() ? absl::OkStatus() : WriteTextFile(FLAGS_plot, LeverReportSvg(report)));
}

}  // namespace

Command ReproduceLever() {
  return {{.subcommand = "lever",
           .summary = "Models streamed from a phone's flash, with drafts, by Lever and by what it is compared with. Trees are "
                      "those of the rules themselves, grown from recorded drafts; time is the model's of phones and flash. Shows the 48 "
                      "configurations of its section 5.2, its tables 1, 2, 5, 6 and 7, its figures 11 to 14 as far as its text has "
                      "numbers, errors, what the model cannot say, and in which places the paper's orders came out.",
           .examples = {"tessera_reproduce lever", "tessera_reproduce lever --plot lever.svg --json"},
           .groups = {{"Output", {"plot", "table", "json"}}}},
          Run};
}

}  // namespace tessera
