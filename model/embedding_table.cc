#include "tessera/model/embedding_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/compiled_model.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {
namespace {

constexpr TokenId kNotThere = kRowsPerPanel;  // No panel has such a row: the graph leaves the row's hidden state unchanged.

constexpr int kEmbeddingBlock = -1;  // The block's number in the timeline, in place of a layer's number.

}  // namespace

absl::StatusOr<EmbeddingTable> EmbeddingTable::Create(const ModelConfig& config, const WeightLayout& layout) {
  EmbeddingTable table(layout, EmbeddingNeed(config).name);
  const TensorPart first = layout.PanelOf(table.tensor_, 0), last = layout.PanelOf(table.tensor_, config.vocabulary - 1);
  if (first.bytes > WeightSource::kMostPartBytes) {
    return absl::InvalidArgumentError(absl::StrCat("tensor ", table.tensor_, ": ", kRowsPerPanel, " rows of ", config.width,
                                                   " values: found ", first.bytes, " bytes, expected at most ",
                                                   WeightSource::kMostPartBytes));
  }
  table.last_panel_begin_ = last.first_row;
  return table;
}

absl::Status EmbeddingTable::LookUp(absl::Span<const TokenId> tokens, WeightSource& source, GraphStore& store, BoundBuffer hidden,
                                    GraphNeed next, Timeline* timeline) {
  sorted_.clear();
  for (size_t row = 0; row < tokens.size(); ++row) {
    if (tokens[row] != kNoToken) sorted_.push_back({tokens[row], static_cast<int>(row)});
  }
  if (sorted_.empty()) return absl::OkStatus();
  std::sort(sorted_.begin(), sorted_.end());
  next_ = sorted_.begin();
  in_panel_.assign(tokens.size(), kNotThere);
  int64_t panel = -1, bytes = 0;
  panels_.clear();
  for (const auto& [token, row] : sorted_) {
    if (token / kRowsPerPanel == panel) continue;
    panel = token / kRowsPerPanel;
    const TensorPart part = layout_->PanelOf(tensor_, token);
    bytes += part.bytes;
    if (!panels_.empty() && (panels_.size() == WeightSource::kMostParts || bytes > WeightSource::kMostPartBytes)) {
      RETURN_IF_ERROR(LookUpPanels(panels_, source, store, hidden, {}, timeline));
      panels_.clear();
      bytes = part.bytes;
    }
    panels_.push_back(part);
  }
  return LookUpPanels(panels_, source, store, hidden, next, timeline);
}

// Looks up the tokens of sorted_ that lie in these panels.
absl::Status EmbeddingTable::LookUpPanels(absl::Span<const TensorPart> panels, WeightSource& source, GraphStore& store,
                                          BoundBuffer hidden, GraphNeed next, Timeline* timeline) {
  std::vector<UnitPart> parts;
  for (const TensorPart& panel : panels) parts.push_back({panel.unit, panel.offset, panel.bytes});
  std::vector<WeightLease> leases;
  {
    TimelineScope scope(timeline, Zone::kLease, parts[0].unit, Resource::kFlash);
    ASSIGN_OR_RETURN(leases, source.AcquireParts(parts));
    if (leases[0].pinned()) scope.SetResource(Resource::kMemory);
  }
  TimelineScope scope(timeline, Zone::kGraphRun, kEmbeddingBlock, store.device().resource());
  RunArguments arguments;
  arguments.rows = static_cast<int>(in_panel_.size());
  arguments.buffers = {hidden};
  for (size_t i = 0; i < panels.size(); ++i) {
    const int64_t first_row = panels[i].first_row, end = first_row + panels[i].weight.spec.out_features;
    const auto begin = next_;
    for (; next_ != sorted_.end() && next_->first < end; ++next_) in_panel_[next_->second] = static_cast<TokenId>(next_->first - first_row);
    arguments.tokens = in_panel_;
    const absl::Span<const std::byte> weights[] = {leases[i].bytes()};
    arguments.weights = weights;
    const int block = first_row == last_panel_begin_ ? CompiledModel::kLastEmbeddingPanel : CompiledModel::kEmbedding;
    const bool is_last = i + 1 == panels.size();
    RETURN_IF_ERROR(store.Run({block, arguments.rows}, arguments, is_last ? next : GraphNeed{}));
    for (auto done = begin; done != next_; ++done) in_panel_[done->second] = kNotThere;
  }
  return absl::OkStatus();
}

}  // namespace tessera
