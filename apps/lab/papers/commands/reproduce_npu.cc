// tessera_reproduce npu: figures of papers about NPUs next to predictions by the model of phones.
#include <string>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/lab/papers/commands/reproduce_commands.h"
#include "tessera/apps/lab/papers/npu/npu_comparison.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

absl::Status Run() {
  RETURN_IF_ERROR(CheckNotBoth("table", !FLAGS_table.empty(), "json", FLAGS_json));
  if (!FLAGS_plot.empty()) RETURN_IF_ERROR(ForFile("plot", CheckTextFileWritable(FLAGS_plot)));
  ASSIGN_OR_RETURN(const ProfileSet profiles, BuiltInProfiles());
  ASSIGN_OR_RETURN(const NpuComparison comparison, CompareNpuFigures(profiles));
  ASSIGN_OR_RETURN(const std::string text, NpuComparisonText(comparison, FLAGS_table));
  const absl::Status shown = WriteOutput(FLAGS_json ? absl::StrCat(NpuComparisonJson(comparison), "\n") : text);
  return EndOf(shown, FLAGS_plot.empty() ? absl::OkStatus() : WriteTextFile(FLAGS_plot, NpuComparisonSvg(comparison)));
}

}  // namespace

Command ReproduceNpu() {
  return {{.subcommand = "npu",
           .summary = "Times, memory and shares of NPUs in papers beside predictions. The papers are sd.npu (000 and 003), test-time "
                      "scaling (001) and one-for-all (004); the one set of parameters was fitted to other figures. Shows errors, the "
                      "band of assumed numbers, what each parameter moves, and what the calibration misses of figures that are left out.",
           .examples = {"tessera_reproduce npu", "tessera_reproduce npu --plot npu.svg --json"},
           .groups = {{"Output", {"plot", "table", "json"}}}},
          Run};
}

}  // namespace tessera
