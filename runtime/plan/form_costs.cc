#include "tessera/runtime/plan/form_costs.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/npu/graph_passes.h"

namespace tessera {
namespace {

constexpr Table::Align kRight = Table::Align::kRight;

std::string Milliseconds(double seconds) { return absl::StrFormat("%.2f", seconds * 1e3); }

// `first`: with the passes so far; `without`: with all but the last of them.
absl::StatusOr<FormCost> CostOf(const char* name, const PassCoster& first, const PassCoster& without, const PassShape& chunk,
                                const PassShape& row) {
  ASSIGN_OR_RETURN(const PassCost first_chunk, first.Of(chunk));
  ASSIGN_OR_RETURN(const PassCost first_row, first.Of(row));
  ASSIGN_OR_RETURN(const PassCost other_chunk, without.Of(chunk));
  ASSIGN_OR_RETURN(const PassCost other_row, without.Of(row));
  return FormCost{.name = name,
                  .chunk_seconds = first_chunk.seconds,
                  .row_seconds = first_row.seconds,
                  .chunk_seconds_without = other_chunk.seconds,
                  .row_seconds_without = other_row.seconds};
}

}  // namespace

absl::StatusOr<std::vector<FormCost>> CostsByForm(const PassCoster& coster, const PassShape& chunk, const PassShape& row) {
  GraphForm form;
  for (const GraphPass& pass : GraphPasses()) form.*pass.done = false;
  std::vector<FormCost> costs;
  ASSIGN_OR_RETURN(FormCost none, CostOf("none", coster.InForm(form), coster.InForm({}), chunk, row));
  costs.push_back(std::move(none));
  for (const GraphPass& pass : GraphPasses()) {
    form.*pass.done = true;
    GraphForm others;
    others.*pass.done = false;
    ASSIGN_OR_RETURN(FormCost cost, CostOf(pass.name, coster.InForm(form), coster.InForm(others), chunk, row));
    costs.push_back(std::move(cost));
  }
  return costs;
}

std::string FormCostsText(absl::Span<const FormCost> costs) {
  Table table({{"graphs transformed by"}, {"chunk ms", kRight}, {"one row ms", kRight}, {"all but it: chunk ms", kRight},
               {"one row ms", kRight}});
  for (const FormCost& cost : costs) {
    table.AddRow({cost.name, Milliseconds(cost.chunk_seconds), Milliseconds(cost.row_seconds), Milliseconds(cost.chunk_seconds_without),
                  Milliseconds(cost.row_seconds_without)});
  }
  return table.ToString();
}

void WriteFormCosts(absl::Span<const FormCost> costs, JsonWriter& json) {
  json.BeginArray();
  for (const FormCost& cost : costs) {
    json.BeginObject().Key("pass").String(cost.name);
    json.Key("chunk_milliseconds").Double(cost.chunk_seconds * 1e3, 6).Key("row_milliseconds").Double(cost.row_seconds * 1e3, 6);
    json.Key("chunk_milliseconds_without").Double(cost.chunk_seconds_without * 1e3, 6);
    json.Key("row_milliseconds_without").Double(cost.row_seconds_without * 1e3, 6).EndObject();
  }
  json.EndArray();
}

}  // namespace tessera
