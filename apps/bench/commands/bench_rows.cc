// tessera_bench rows: the cost of each further row of a pass, as a table and as a chart.
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "tessera/apps/bench/commands/bench_commands.h"
#include "tessera/apps/bench/commands/bench_frame.h"
#include "tessera/apps/bench/passes/rows_curve.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

// The curve of --peer_curve, if there is one.
absl::StatusOr<std::optional<NamedCurve>> PeerOfFlags() {
  if (FLAGS_peer_curve.empty()) return std::nullopt;
  absl::StatusOr<NamedCurve> peer = ReadCurve(FLAGS_peer_curve);
  RETURN_IF_ERROR(ForFile("peer_curve", peer.status()));
  return *std::move(peer);
}

absl::Status CheckFlags() {
  RETURN_IF_ERROR(CheckTokens("depth", FLAGS_depth, 0));
  RETURN_IF_ERROR(CheckRepetitions());
  if (FLAGS_plot.empty()) return FLAGS_peer_curve.empty() ? absl::OkStatus() : WrongUsage("peer_curve", "without --plot", "both");
  return ForFile("plot", CheckTextFileWritable(FLAGS_plot));
}

absl::Status Draw(const RowsCurve& curve, const BenchHeading& heading, const std::optional<NamedCurve>& peer) {
  const std::string title = absl::StrCat(heading.model.substr(heading.model.rfind('/') + 1), ", ", heading.threads, " threads");
  return WriteTextFile(FLAGS_plot, RowsCurveSvg(curve, title, peer ? &*peer : nullptr));
}

absl::Status Run() {
  RETURN_IF_ERROR(CheckFlags());
  ASSIGN_OR_RETURN(const std::optional<NamedCurve> peer, PeerOfFlags());
  ASSIGN_OR_RETURN(const std::vector<int> rows, ParseRows(FLAGS_rows));
  ASSIGN_OR_RETURN(const EngineOptions options, OptionsForContext(FLAGS_depth + rows.back()));
  ASSIGN_OR_RETURN(const BenchHeading heading, BenchHeading::Of(options, FLAGS_repetitions, FLAGS_depth));
  ASSIGN_OR_RETURN(const KernelPath path, KernelPathFromName(options.compute.kernels));
  ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, Engine::Load(options));
  WarnOfShortages(*engine);
  ASSIGN_OR_RETURN(const RowsCurve curve, MeasureRowsCurve(*engine, path, rows, FLAGS_depth, FLAGS_repetitions));
  const absl::Status drawn = FLAGS_plot.empty() ? absl::OkStatus() : Draw(curve, heading, peer);
  return EndOf(ShowResult(heading, RowsCurveText(curve), [&](JsonWriter& json) { WriteRowsCurve(json, curve); }), drawn);
}

}  // namespace

Command BenchRows() {
  return {{.subcommand = "rows",
           .summary = "The time of passes of 1 to 64 rows (--rows: up to 512), beside the bound. It shows what each row costs that "
                      "a speculative step checks.",
           .examples = {"tessera_bench rows --plot rows.svg", "tessera_bench rows --rows 1,2,4,8 --depth 370 --threads 2"},
           .groups = {{"Measurement", {"rows", "depth", "repetitions"}},
                      ModelFlagsBut({"path", "recipe", "kv_block", "trace", "dry_run"}), {"Output", {"plot", "peer_curve", "json"}}}},
          Run};
}

}  // namespace tessera
