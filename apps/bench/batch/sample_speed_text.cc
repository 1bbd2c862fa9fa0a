#include "tessera/apps/bench/batch/sample_speed_text.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/spread.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

constexpr auto kRight = Table::Align::kRight;

std::string Millis(double seconds) { return absl::StrFormat("%.2f", seconds * 1e3); }
std::string Ratio(double ratio) { return absl::StrFormat("%.2f", ratio); }
std::string Rate(double tokens_per_second) { return absl::StrFormat("%.1f", tokens_per_second); }

std::string PlainText(const SampleSpeed& speed) {
  Table table({{"samples", kRight}, {"tokens/s", kRight}, {"ms per step", kRight}, {"pass, ms", kRight}, {"of the pass", kRight}});
  for (const SampleSpeed::Row& row : speed.rows) {
    table.AddRow({absl::StrCat(row.samples), Rate(row.tokens_per_second.median), Millis(row.step_seconds), Millis(row.pass_seconds),
                  Ratio(row.of_pass)});
  }
  return absl::StrCat(table.ToString(), "pass: as many rows of one text, each with logits\n");
}

void AddCells(const std::optional<SampleSpeed::Drafted>& drafted, std::vector<std::string>& cells) {
  if (!drafted.has_value()) {
    cells.insert(cells.end(), 3, "-");
    return;
  }
  cells.push_back(Rate(drafted->tokens_per_second));
  cells.push_back(Ratio(drafted->gain));
  cells.push_back(Ratio(drafted->tokens_per_pass));
}

std::string DraftedText(const SampleSpeed& speed) {
  if (speed.rows.empty() || !speed.rows.front().shared.has_value()) return "";
  Table table({{"samples", kRight}, {"drafts apart, tok/s", kRight}, {"gain", kRight}, {"tokens per pass", kRight},
               {"shared, tok/s", kRight}, {"gain", kRight}, {"tokens per pass", kRight}, {"of apart", kRight}});
  for (const SampleSpeed::Row& row : speed.rows) {
    std::vector<std::string> cells = {absl::StrCat(row.samples)};
    AddCells(row.apart, cells);
    AddCells(row.shared, cells);
    cells.push_back(row.shared_of_apart.has_value() ? Ratio(*row.shared_of_apart) : "-");
    table.AddRow(std::move(cells));
  }
  return absl::StrCat("\n", table.ToString(),
                      "apart: each from its own text; shared: also from what the other samples write; gain: beside none\n");
}

void WriteDrafted(const std::optional<SampleSpeed::Drafted>& drafted, JsonWriter& json) {
  if (!drafted.has_value()) {
    json.Null();
    return;
  }
  json.BeginObject().Key("tokens_per_second").Double(drafted->tokens_per_second, 6).Key("gain").Double(drafted->gain, 6);
  json.Key("tokens_per_pass").Double(drafted->tokens_per_pass, 6).EndObject();
}

}  // namespace

std::string SampleSpeedText(const SampleSpeed& speed) {
  Table memory({{"memory"}, {"size", kRight}});
  memory.AddRow({"weights", FormatByteSize(speed.memory.weights)});
  memory.AddRow({absl::StrCat("keys and values of ", speed.cache_tokens, " tokens"), FormatByteSize(speed.memory.cache)});
  return absl::StrCat(PlainText(speed), DraftedText(speed), "\n", memory.ToString());
}

void WriteSampleSpeed(JsonWriter& json, const SampleSpeed& speed) {
  json.BeginObject().Key("rows").BeginArray();
  for (const SampleSpeed::Row& row : speed.rows) {
    json.BeginObject().Key("samples").Int(row.samples);
    WriteSpread(json.Key("tokens_per_second"), row.tokens_per_second);
    json.Key("step_seconds").Double(row.step_seconds, 6).Key("pass_seconds").Double(row.pass_seconds, 6);
    json.Key("of_pass").Double(row.of_pass, 6);
    WriteDrafted(row.apart, json.Key("apart"));
    WriteDrafted(row.shared, json.Key("shared"));
    json.Key("shared_of_apart");
    if (row.shared_of_apart.has_value()) json.Double(*row.shared_of_apart, 6);
    else json.Null();
    json.EndObject();
  }
  json.EndArray().Key("memory_bytes").BeginObject().Key("weights").Int(speed.memory.weights);
  json.Key("cache").Int(speed.memory.cache).EndObject().Key("cache_tokens").Int(speed.cache_tokens).EndObject();
}

}  // namespace tessera
