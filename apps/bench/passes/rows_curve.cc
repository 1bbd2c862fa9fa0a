#include "tessera/apps/bench/passes/rows_curve.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/bench/passes/benchmark.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/show/svg_plot.h"
#include "tessera/base/progress.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/plan/machine_probe.h"
#include "tessera/runtime/plan/pass_work.h"

namespace tessera {
namespace {

constexpr char kDefaultRows[] = "1,2,3,4,5,6,8,12,16,24,32,48,64";
constexpr int kMostRows = 512;
constexpr int kPasses = 3;                 // Passes with each number of rows, per repetition.
constexpr double kSlack = 1.15, kSlackWhereBothLimit = 1.3, kBothLimit = 1.5, kShareOfARow = 0.01;

double BoundSeconds(const PassWork& work, int rows, double one_row_seconds, const RowsCurve& curve) {
  const double memory = work.Bytes() / curve.read.median;
  const double products = work.ProductSeconds(curve.int8.median, curve.fp32.median, /*reachable=*/true);
  const double longer = std::max(memory, products);
  const bool both = longer <= kBothLimit * std::min(memory, products);
  return (both ? kSlackWhereBothLimit : kSlack) * longer + kShareOfARow * rows * one_row_seconds;
}

std::string Rate(const Spread& spread) { return absl::StrFormat("%.1f", spread.median * 1e-9); }

}  // namespace

absl::StatusOr<std::vector<int>> ParseRows(const std::string& list) {
  ASSIGN_OR_RETURN(const std::vector<int> rows, AscendingOfFlag("rows", list == "default" ? kDefaultRows : list, kMostRows));
  if (rows.front() == 1) return rows;
  return WrongUsage("rows", absl::StrCat(rows.front(), " first"), "1: all others are held against it");
}

absl::StatusOr<RowsCurve> MeasureRowsCurve(Engine& engine, KernelPath path, const std::vector<int>& rows, int depth,
                                           int repetitions) {
  const int most = CoreOf(engine).runner().row_capacity();
  if (rows.back() > most) {
    return WrongUsage("rows", rows.back(), absl::StrCat("at most ", most, ", the rows of a pass of this model"));
  }
  ASSIGN_OR_RETURN(const MachineProbe probe, MachineProbe::Create(CoreOf(engine).pool(), path));
  ASSIGN_OR_RETURN(Benchmark benchmark, Benchmark::Create(engine, {.prompt_tokens = rows.back(), .depth = depth}));
  std::vector<double> read, int8, fp32;
  std::map<int, std::vector<double>> seconds;
  Progress progress("repetitions", repetitions);
  for (int i = -1; i < repetitions; ++i) {  // The first run warms caches and is not counted.
    for (int n : rows) {
      for (int pass = 0; pass < kPasses; ++pass) {
        ASSIGN_OR_RETURN(const double time, benchmark.TimeDraft(n));
        if (i >= 0) seconds[n].push_back(time);
      }
      read.push_back(probe.Read());
    }
    int8.push_back(probe.Int8());
    fp32.push_back(probe.Fp32());
    if (i >= 0) progress.Update(i + 1);
  }
  RowsCurve curve = {.read = SpreadOf(read), .int8 = SpreadOf(int8), .fp32 = SpreadOf(fp32)};
  for (int n : rows) curve.points.push_back({.rows = n, .seconds = MedianOf(seconds[n])});
  for (RowsPoint& point : curve.points) {
    const PassWork work = PassWorkOf(engine, {.rows = point.rows, .wanted = point.rows, .depth = depth});
    point.bound_seconds = BoundSeconds(work, point.rows, curve.points[0].seconds, curve);
  }
  return curve;
}

std::string RowsCurveText(const RowsCurve& curve) {
  constexpr auto kRight = Table::Align::kRight;
  Table table({{"rows", kRight}, {"ms", kRight}, {"of one row", kRight}, {"bound, ms", kRight}, {"holds"}});
  for (const RowsPoint& point : curve.points) {
    table.AddRow({absl::StrCat(point.rows), absl::StrFormat("%.3f", point.seconds * 1e3),
                  absl::StrFormat("%.2f", point.seconds / curve.points[0].seconds),
                  absl::StrFormat("%.3f", point.bound_seconds * 1e3), point.Holds() ? "yes" : "no"});
  }
  return absl::StrCat("probes: read ", Rate(curve.read), " GB/s, INT8 ", Rate(curve.int8), " GOP/s, FP32 ", Rate(curve.fp32),
                      " GFLOP/s\n\n", table.ToString());
}

void WriteRowsCurve(JsonWriter& json, const RowsCurve& curve) {
  WriteSpread(json.Key("read_bytes_per_second"), curve.read);
  WriteSpread(json.Key("int8_operations_per_second"), curve.int8);
  WriteSpread(json.Key("fp32_operations_per_second"), curve.fp32);
  json.Key("name").String("tessera").Key("rows").BeginArray();
  for (const RowsPoint& point : curve.points) {
    json.BeginObject().Key("rows").Int(point.rows).Key("seconds").Double(point.seconds, 6);
    json.Key("ratio").Double(point.seconds / curve.points[0].seconds, 6).Key("bound_seconds").Double(point.bound_seconds, 6);
    json.Key("holds").Bool(point.Holds()).EndObject();
  }
  json.EndArray();
}

std::string RowsCurveSvg(const RowsCurve& curve, const std::string& title, const NamedCurve* peer) {
  Plot plot = {title, "rows of a pass", "ms", {{"Tessera", {}}, {"bound", {}, /*dashed=*/true}}};
  for (const RowsPoint& point : curve.points) {
    plot.curves[0].points.emplace_back(point.rows, point.seconds * 1e3);
    plot.curves[1].points.emplace_back(point.rows, point.bound_seconds * 1e3);
  }
  if (peer != nullptr) {
    plot.curves.push_back({peer->name, peer->points});
    for (auto& [rows, time] : plot.curves.back().points) time *= 1e3;
  }
  return PlotSvg(plot);
}

}  // namespace tessera
