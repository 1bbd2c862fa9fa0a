#include "tessera/apps/show/describe_matrices.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/table.h"

namespace tessera {
namespace {

struct Group {
  WrittenMatrix sum;   // The sum as if all were one matrix.
  int tensors = 0;

  void Add(const WrittenMatrix& matrix) {
    sum.weights += matrix.weights;
    sum.bytes += matrix.bytes;
    sum.padding += matrix.padding;
    sum.squared_errors += matrix.squared_errors;
    sum.squares += matrix.squares;
    sum.measured = matrix.measured;
    ++tensors;
  }
};

std::vector<Group> GroupsOf(absl::Span<const WrittenMatrix> matrices) {
  std::vector<Group> groups;
  Group all = {.sum = {.kind = "all"}};
  for (const WrittenMatrix& matrix : matrices) {
    const auto same = [&](const Group& group) { return group.sum.kind == matrix.kind && group.sum.form == matrix.form; };
    auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) found = groups.insert(groups.end(), {.sum = {.kind = matrix.kind, .form = matrix.form}});
    found->Add(matrix);
    all.Add(matrix);
  }
  groups.push_back(std::move(all));
  return groups;
}

}  // namespace

std::string MatrixTable(absl::Span<const WrittenMatrix> matrices) {
  const std::vector<Group> groups = GroupsOf(matrices);
  const bool padded = groups.back().sum.padding > 0;
  constexpr Table::Align kRight = Table::Align::kRight;
  std::vector<Table::Column> columns = {{"matrices"}, {"form"}, {"tensors", kRight}, {"size", kRight}, {"bits per weight", kRight},
                                        {"error", kRight}};
  if (padded) columns.push_back({"padding", kRight});
  Table table(std::move(columns));
  for (const auto& [sum, tensors] : groups) {
    std::vector<std::string> cells = {std::string(absl::StripSuffix(sum.kind, ".weight")), sum.form, absl::StrCat(tensors),
                                      FormatByteSize(sum.bytes), absl::StrFormat("%.3f", sum.BitsPerWeight()),
                                      sum.measured ? absl::StrFormat("%.3g %%", 100 * sum.RelativeError()) : "-"};
    if (padded) cells.push_back(FormatByteSize(sum.padding));
    table.AddRow(std::move(cells));
  }
  return table.ToString();
}

void WriteMatrices(absl::Span<const WrittenMatrix> matrices, JsonWriter& json) {
  json.BeginArray();
  for (const WrittenMatrix& matrix : matrices) {
    json.BeginObject().Key("tensor").String(matrix.tensor).Key("form").String(matrix.form).Key("weights").Int(matrix.weights);
    json.Key("bytes").Int(matrix.bytes).Key("bits_per_weight").Double(matrix.BitsPerWeight(), 5);
    json.Key("padding_bytes").Int(matrix.padding).Key("relative_error");
    if (matrix.measured) json.Double(matrix.RelativeError(), 6);
    else json.Null();
    json.EndObject();
  }
  json.EndArray();
}

void WriteFormsInstead(absl::Span<const FormInstead> instead, JsonWriter& json) {
  json.BeginArray();
  for (const FormInstead& one : instead) {
    json.BeginObject().Key("tensor").String(one.tensor).Key("wanted").String(InfoOf(one.wanted).name);
    json.Key("form").String(InfoOf(one.taken).name).EndObject();
  }
  json.EndArray();
}

}  // namespace tessera
