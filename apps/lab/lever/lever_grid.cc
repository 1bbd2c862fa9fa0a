#include "tessera/apps/lab/lever/lever_grid.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/lab/lever/lever_report.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/table.h"

namespace tessera {

std::optional<double> AutoOfBest(const LeverFindings& findings) {
  double best = 0, chosen = 0;
  for (size_t system = 0; system < findings.systems.size(); ++system) {
    const double rate = FiguresOverSets(findings, system).tokens_per_second;
    double& highest = findings.systems[system].chooses ? chosen : best;
    highest = std::max(highest, rate);
  }
  return best > 0 && chosen > 0 ? std::optional<double>(chosen / best) : std::nullopt;
}

std::string LeverGridText(const std::vector<LeverGridPoint>& points) {
  if (points.empty()) return "";
  constexpr auto kRight = Table::Align::kRight;
  std::vector<Table::Column> columns = {{"of the weights", kRight}, {"budget", kRight}, {"pinned", kRight}, {"without draft", kRight}};
  for (const LeverSpec& spec : points.front().findings.systems) columns.push_back({spec.variant, kRight});
  columns.push_back({"auto is"});
  columns.push_back({"of the best", kRight});
  Table table(columns);
  std::optional<double> least;
  for (const LeverGridPoint& point : points) {
    const LeverMemory& memory = point.findings.memory;
    std::vector<std::string> cells = {absl::StrFormat("%.2f", point.share), FormatByteSize(memory.budget), FormatByteSize(memory.pins),
                                      FormatByteSize(memory.pins_instead)};
    for (size_t system = 0; system < point.findings.systems.size(); ++system) {
      cells.push_back(absl::StrFormat("%.2f", FiguresOverSets(point.findings, system).tokens_per_second));
    }
    const std::optional<double> share = AutoOfBest(point.findings);
    cells.push_back(point.findings.auto_is);
    cells.push_back(share.has_value() ? absl::StrFormat("%.3f", *share) : "-");
    table.AddRow(cells);
    if (share.has_value()) least = std::min(least.value_or(*share), *share);
  }
  const std::string asked = absl::StrFormat(" (asked: %.2f or more)\n", kAutoOfBest);
  return absl::StrCat(table.ToString(), "tokens/s of each system; auto is at least ",
                      least.has_value() ? absl::StrFormat("%.3f", *least) : "-", " of the best", asked);
}

void WriteLeverGrid(JsonWriter& json, const std::vector<LeverGridPoint>& points) {
  json.BeginArray();
  for (const LeverGridPoint& point : points) {
    json.BeginObject().Key("share").Double(point.share, 6).Key("memory_budget").Int(point.findings.memory.budget).Key("auto_of_best");
    const std::optional<double> share = AutoOfBest(point.findings);
    if (share.has_value()) json.Double(*share, 6); else json.Null();
    WriteLever(json.Key("lever"), point.findings, {});
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace tessera
