#include "tessera/apps/phone/phone_report_text.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/apps/show/svg_plot.h"
#include "tessera/base/json_writer.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

constexpr Table::Align kRight = Table::Align::kRight;

const std::string& NameOf(const PhoneQuestion& question) { return question.model.empty() ? question.shape : question.model; }

std::string Milliseconds(double seconds) { return absl::StrFormat("%.2f", seconds * 1e3); }

std::string Share(double part, double all) { return absl::StrFormat("%.0f %%", all > 0 ? 100 * part / all : 0); }

std::string WhatText(const PhoneReport& report) {
  const PhoneQuestion& question = report.question;
  Table table({{"what"}, {"value"}});
  table.AddRow({"phone", absl::StrCat(report.phone.profile.name, ": ", report.phone.profile.chip)});
  table.AddRow({"model", absl::StrCat(NameOf(question), ", recipe ", question.recipe, ", ",
                                      absl::StrFormat("%.2f bits per weight", report.bits_per_weight))});
  table.AddRow({"style", absl::StrCat(report.phone.style.name, ", context ", question.context, ", prompt by ", question.chunk_rows)});
  table.AddRow({"prompt", absl::StrFormat("%d tokens in %.1f ms, %.1f tokens/s, bound by %s", question.prompt, report.prompt.seconds * 1e3,
                                          report.prefill_tokens_per_second(), std::string(BoundName(report.prompt.bound)))});
  table.AddRow({"decoding", absl::StrFormat("%d tokens, %.1f tokens/s", question.decode, report.decode_tokens_per_second())});
  table.AddRow({"loading", absl::StrCat(Milliseconds(report.load_seconds), " ms")});
  table.AddRow({"memory", absl::StrFormat("%.0f MiB: weights %.0f, of the CPU %.0f, keys and values %.0f, activations %.0f",
                                          report.memory.total() / 1048576.0, report.memory.weights / 1048576.0,
                                          report.memory.cpu_weights / 1048576.0, report.memory.keys_and_values / 1048576.0,
                                          report.memory.activations / 1048576.0)});
  table.AddRow({"sessions", absl::StrCat(report.sessions)});
  return table.ToString();
}

std::string RowsText(const PhoneReport& report) {
  Table table({{"rows", kRight}, {"ms", kRight}, {"tokens/s", kRight}, {"layers ms", kRight}, {"head ms", kRight}, {"matrix", kRight},
               {"vector", kRight}, {"dma", kRight}, {"cpu", kRight}, {"bound by"}, {"energy of a token", kRight}});
  for (size_t i = 0; i < report.passes.size(); ++i) {
    const PassCost& pass = report.passes[i];
    std::vector<std::string> cells = {absl::StrCat(report.question.rows[i]), Milliseconds(pass.seconds),
                                      absl::StrFormat("%.1f", report.question.rows[i] / pass.seconds), Milliseconds(pass.layer_seconds),
                                      Milliseconds(pass.head_seconds)};
    for (int part = 0; part < kBounds - 1; ++part) cells.push_back(Share(pass.busy[part], pass.seconds));
    cells.push_back(std::string(BoundName(pass.bound)));
    cells.push_back(absl::StrFormat("%.2f", report.RelativeEnergy(i)));
    table.AddRow(std::move(cells));
  }
  return table.ToString();
}

std::string OperatorsText(const PassCost& pass, const std::string& title) {
  Table table({{title}, {"ms", kRight}, {"share", kRight}, {"bound by"}, {"matrix ms", kRight}, {"vector ms", kRight}, {"dma ms", kRight},
               {"cpu ms", kRight}, {"MiB read", kRight}});
  for (const auto& [label, cost] : pass.operators) {
    table.AddRow({label, Milliseconds(cost.seconds), Share(cost.seconds, pass.seconds), std::string(BoundName(cost.bound)),
                  Milliseconds(cost.busy[0]), Milliseconds(cost.busy[1]), Milliseconds(cost.busy[2]), Milliseconds(cost.busy[3]),
                  absl::StrFormat("%.1f", static_cast<double>(cost.read_bytes) / 1048576.0)});
  }
  return table.ToString();
}

// Returns an empty text except for static graphs.
std::string FormsText(const PhoneReport& report) {
  return report.forms.empty() ? "" : absl::StrCat("\n", FormCostsText(report.forms));
}

std::string LoraText(const PhoneReport& report) {
  return report.lora_ways.empty() ? "" : absl::StrCat("\n", LoraWaysText(report.lora_ways));
}

void WriteOperators(JsonWriter& json, const PassCost& pass) {
  json.BeginArray();
  for (const auto& [label, cost] : pass.operators) {
    json.BeginObject().Key("operator").String(label).Key("milliseconds").Double(cost.seconds * 1e3, 6);
    json.Key("bound_by").String(BoundName(cost.bound)).Key("read_bytes").Int(cost.read_bytes);
    for (int part = 0; part < kBounds; ++part) {
      json.Key(absl::StrCat(BoundName(static_cast<Bound>(part)), "_milliseconds")).Double(cost.busy[part] * 1e3, 6);
    }
    json.EndObject();
  }
  json.EndArray();
}

// An object with one value for each number of rows.
template <typename Value>
void WriteByRows(JsonWriter& json, absl::string_view key, const PhoneReport& report, Value value) {
  json.Key(key).BeginObject();
  for (size_t i = 0; i < report.passes.size(); ++i) {
    json.Key(absl::StrCat(report.question.rows[i]));
    value(i);
  }
  json.EndObject();
}

}  // namespace

std::string PhoneReportText(const PhoneReport& report) {
  return absl::StrCat(WhatText(report), "\n", RowsText(report), "\n",
                      OperatorsText(report.passes[0], absl::StrCat("pass of ", report.question.rows[0], " rows")), "\n",
                      OperatorsText(report.prompt, "prompt"), FormsText(report), LoraText(report));
}

std::string PhoneReportJson(const PhoneReport& report) {
  JsonWriter json;
  const PhoneQuestion& question = report.question;
  json.BeginObject().Key("device").String(report.phone.profile.name).Key("shape").String(NameOf(question));
  json.Key("style").String(report.phone.style.name);
  json.Key("recipe").String(question.recipe).Key("bits_per_weight").Double(report.bits_per_weight, 5).Key("prompt").Int(question.prompt);
  json.Key("decode").Int(question.decode).Key("context").Int(question.context).Key("chunk_rows").Int(question.chunk_rows);
  json.Key("prefill_tokens_per_second").Double(report.prefill_tokens_per_second(), 6);
  json.Key("decode_tokens_per_second").Double(report.decode_tokens_per_second(), 6);
  json.Key("first_token_milliseconds").Double(report.prompt.seconds * 1e3, 6);
  json.Key("load_milliseconds").Double(report.load_seconds * 1e3, 6);
  WriteByRows(json, "pass_milliseconds", report, [&](size_t i) { json.Double(report.passes[i].seconds * 1e3, 6); });
  WriteByRows(json, "tokens_per_second", report, [&](size_t i) { json.Double(question.rows[i] / report.passes[i].seconds, 6); });
  WriteByRows(json, "energy_relative", report, [&](size_t i) { json.Double(report.RelativeEnergy(i), 6); });
  WriteByRows(json, "bound_by", report, [&](size_t i) { json.String(BoundName(report.passes[i].bound)); });
  json.Key("prefill_bound_by").String(BoundName(report.prompt.bound));
  json.Key("memory_bytes").BeginObject().Key("weights").Int(report.memory.weights).Key("cpu_weights").Int(report.memory.cpu_weights);
  json.Key("keys_and_values").Int(report.memory.keys_and_values).Key("activations").Int(report.memory.activations);
  json.Key("total").Int(report.memory.total()).EndObject();
  json.Key("sessions").Int(report.sessions).Key("graph_passes");
  WriteFormCosts(report.forms, json);
  if (!report.lora_ways.empty()) {
    json.Key("lora_mode").String(LoraModeName(question.lora_mode)).Key("lora");
    WriteLoraWays(report.lora_ways, json);
  }
  WriteByRows(json, "operators", report, [&](size_t i) { WriteOperators(json, report.passes[i]); });
  json.Key("prefill_operators");
  WriteOperators(json, report.prompt);
  json.EndObject();
  return std::move(json).Take();
}

std::string PhoneReportSvg(const PhoneReport& report) {
  PlotCurve all = {"tokens/s", {}, false};
  std::vector<PlotCurve> parts;
  for (int part = 0; part < kBounds - 1; ++part) parts.push_back({absl::StrCat("if only ", BoundName(static_cast<Bound>(part))), {}, true});
  double largest = 0;
  for (size_t i = 0; i < report.passes.size(); ++i) largest = std::max(largest, report.question.rows[i] / report.passes[i].seconds);
  for (size_t i = 0; i < report.passes.size(); ++i) {
    const double rows = report.question.rows[i];
    all.points.emplace_back(rows, rows / report.passes[i].seconds);
    for (int part = 0; part < kBounds - 1; ++part) {
      const double busy = report.passes[i].busy[part];
      // A part that hardly works would allow any speed: points beyond twice the picture are left out.
      if (busy > 0 && rows / busy <= 2 * largest) parts[static_cast<size_t>(part)].points.emplace_back(rows, rows / busy);
    }
  }
  Plot plot = {absl::StrCat(NameOf(report.question), " on ", report.phone.profile.name, ": decoding"), "rows of a pass", "tokens/s", {all}};
  for (PlotCurve& part : parts) {
    if (!part.points.empty()) plot.curves.push_back(std::move(part));
  }
  return PlotSvg(plot);
}

}  // namespace tessera
