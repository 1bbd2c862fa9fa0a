#include "tessera/base/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "glog/logging.h"
#include "tessera/base/quoted.h"

namespace tessera {
namespace {

void AppendCell(const std::string& cell, size_t width, Table::Align align, std::string* line) {
  const size_t padding = width - std::min(width, ShownWidth(cell));
  if (align == Table::Align::kRight) line->append(padding, ' ');
  line->append(cell);
  if (align == Table::Align::kLeft) line->append(padding, ' ');
}

void EndLine(std::string* out) {
  while (!out->empty() && out->back() == ' ') out->pop_back();
  out->push_back('\n');
}

}  // namespace

// Counts characters, not bytes: continuation bytes of UTF-8 (10xxxxxx) do not count.
size_t ShownWidth(absl::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) { CHECK(!columns_.empty()); }

void Table::AddRow(std::vector<std::string> cells) {
  CHECK_EQ(cells.size(), columns_.size());
  for (std::string& cell : cells) {
    if (!IsPrintableUtf8(cell)) cell = PrintableLine(cell);
  }
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  std::vector<size_t> widths;
  std::vector<std::string> headers;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = ShownWidth(columns_[i].header);
    for (const std::vector<std::string>& row : rows_) width = std::max(width, ShownWidth(row[i]));
    widths.push_back(std::min(width, kWidest));
    headers.push_back(columns_[i].header);
  }
  std::string out;
  const auto append = [&](const std::vector<std::string>& cells) {
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out.append("  ");
      AppendCell(cells[i], widths[i], columns_[i].align, &out);
    }
    EndLine(&out);
  };
  append(headers);
  for (size_t i = 0; i < widths.size(); ++i) out.append(i > 0 ? 2 : 0, ' ').append(widths[i], '-');
  EndLine(&out);
  for (const std::vector<std::string>& row : rows_) append(row);
  return out;
}

}  // namespace tessera
