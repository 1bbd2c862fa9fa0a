#include "tessera/model/internal/head_rows.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/quant/tile_matrix.h"

namespace tessera {
namespace {

TokenId EndOf(const TensorPart& panel) { return static_cast<TokenId>(panel.first_row + panel.weight.spec.out_features); }

}  // namespace

absl::StatusOr<HeadRows> HeadRows::Create(const ModelConfig& config, const WeightLayout& layout, WeightSource& source) {
  if (config.head_bias) {
    return absl::InvalidArgumentError(absl::StrCat("rows of the head: found ", HeadBiasNeed(config).name, ", expected no bias"));
  }
  const std::string tensor = HeadNeed(config).name;
  if (const int64_t bytes = layout.PanelOf(tensor, 0).bytes; bytes > WeightSource::kMostPartBytes) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor, ": ", kRowsPerPanel, " rows of ", config.width,
                                                   " values: found ", bytes, " bytes, expected at most ", WeightSource::kMostPartBytes));
  }
  ASSIGN_OR_RETURN(OutputNorm norm, OutputNorm::Read(config, layout, source));
  return HeadRows(layout, source, tensor, std::move(norm));
}

absl::Status HeadRows::ReadRow(const TensorPart& panel, absl::Span<const std::byte> bytes, TokenId token, float* out) const {
  const int64_t row = token - panel.first_row;
  const GraphWeight& weight = panel.weight;
  if (layout_->encoding() == WeightEncoding::kFloat32) {
    const auto row_bytes = static_cast<int64_t>(sizeof(float)) * norm_.width();
    std::memcpy(out, bytes.data() + row * row_bytes, static_cast<size_t>(row_bytes));
  } else if (layout_->encoding() == WeightEncoding::kTiles && weight.tile.has_value()) {
    ASSIGN_OR_RETURN(const TileMatrix matrix, TileMatrix::Open(weight.spec, *weight.tile, bytes));
    matrix.ReadRow(row, out);
  } else {
    ASSIGN_OR_RETURN(const PackedMatrix matrix, PackedMatrix::Open(weight.spec, bytes));
    matrix.ReadRow(row, out);
  }
  return absl::OkStatus();
}

absl::Status HeadRows::Visit(absl::Span<const TokenId> tokens, absl::FunctionRef<void(TokenId token, const float* row)> visit) const {
  std::vector<float> row(static_cast<size_t>(norm_.width()));
  std::vector<TensorPart> panels;
  std::vector<UnitPart> parts;
  for (size_t next = 0; next < tokens.size();) {
    panels.clear();
    parts.clear();
    int64_t bytes = 0;
    size_t end = next;
    for (; end < tokens.size(); ++end) {
      if (!panels.empty() && tokens[end] < EndOf(panels.back())) continue;
      const TensorPart panel = layout_->PanelOf(tensor_, tokens[end]);
      bytes += panel.bytes;
      if (!panels.empty() && (panels.size() == WeightSource::kMostParts || bytes > WeightSource::kMostPartBytes)) break;
      panels.push_back(panel);
      parts.push_back({panel.unit, panel.offset, panel.bytes});
    }
    ASSIGN_OR_RETURN(const std::vector<WeightLease> leases, source_->AcquireParts(parts));
    for (size_t panel = 0; next < end; ++next) {
      while (tokens[next] >= EndOf(panels[panel])) ++panel;
      RETURN_IF_ERROR(ReadRow(panels[panel], leases[panel].bytes(), tokens[next], row.data()));
      visit(tokens[next], row.data());
    }
  }
  return absl::OkStatus();
}

}  // namespace tessera
