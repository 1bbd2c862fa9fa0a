// tessera_reproduce scaling: several samples of a small model next to one of a larger, the test-time scaling paper's figures on modeled
// phones.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/lab/papers/commands/reproduce_commands.h"
#include "tessera/apps/lab/papers/scaling/scaling_report.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

absl::StatusOr<std::vector<AccuracyCurve>> CurvesOfFlag() {
  if (FLAGS_curves.empty()) return std::vector<AccuracyCurve>();
  absl::StatusOr<std::vector<AccuracyCurve>> curves = ReadAccuracyCurves(FLAGS_curves);
  RETURN_IF_ERROR(ForFile("curves", curves.status()));
  return curves;
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckNotBoth("table", !FLAGS_table.empty(), "json", FLAGS_json));
  if (!FLAGS_plot.empty()) RETURN_IF_ERROR(ForFile("plot", CheckTextFileWritable(FLAGS_plot)));
  ASSIGN_OR_RETURN(std::vector<AccuracyCurve> curves, CurvesOfFlag());
  ASSIGN_OR_RETURN(const ProfileSet profiles, BuiltInProfiles());
  ASSIGN_OR_RETURN(const ScalingReport report, MakeScalingReport(profiles, std::move(curves)));
  ASSIGN_OR_RETURN(const std::string text, ScalingReportText(report, FLAGS_table));
  const absl::Status shown = WriteOutput(FLAGS_json ? absl::StrCat(ScalingReportJson(report), "\n") : text);
  return EndOf(shown, FLAGS_plot.empty() ? absl::OkStatus() : WriteTextFile(FLAGS_plot, ScalingReportSvg(report)));
}

}  // namespace

Command ReproduceScaling() {
  return {{.subcommand = "scaling",
           .summary = "Test-time scaling on modeled phones: several samples of a small model at once. Compares the steps over "
                      "the batch, the head's share, attention, power, memory and decoding behind prompts with the text of the paper on "
                      "its figures 8, 11, 12, 16 and 17: with errors, and the orders that the paper states. For figure 10, shows the time "
                      "and energy of samples beside one of a larger model, and the gain in accuracy at which samples break even; the "
                      "figure's own curves are pictures only. --curves shows accuracies judged here: lines of tessera_scale judge --json.",
           .examples = {"tessera_reproduce scaling", "tessera_reproduce scaling --plot scaling.svg --json",
                        "tessera_reproduce scaling --curves=judged.jsonl"},
           .groups = {{"Output", {"curves", "plot", "table", "json"}}}},
          Run};
}

}  // namespace tessera
