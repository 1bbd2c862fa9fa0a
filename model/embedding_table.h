// Looks up the rows of tokens in the embedding table. It reads only the panels in which they lie.
//
//   ASSIGN_OR_RETURN(EmbeddingTable table, EmbeddingTable::Create(config, layout, device, /*row_capacity=*/512));
//   RETURN_IF_ERROR(table.LookUp(tokens, source, device, hidden));       // row r of hidden: that of tokens[r], scaled
//
// The table can be most of a small model, and a pass needs one row of it per token. So it is leased in parts: panels of 32 rows, which lie
// together in the packed layout. Threads: one at a time. Errors are those of the source.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/timeline.h"
#include "tessera/base/token.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/weights.h"
#include "tessera/npu/device.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class EmbeddingTable {
 public:
  // The layout must outlive it. InvalidArgument (found, expected) if a panel is larger than a source gives in parts.
  static absl::StatusOr<EmbeddingTable> Create(const ModelConfig& config, const WeightLayout& layout, Device& device, int row_capacity);

  // hidden: [tokens.size(), width]. REQUIRES: 1 <= tokens.size() <= row_capacity, every token lies in the vocabulary; the device is
  // Create's.
  absl::Status LookUp(absl::Span<const TokenId> tokens, WeightSource& source, Device& device, BoundBuffer hidden,
                      Timeline* timeline = nullptr);

 private:
  EmbeddingTable(const WeightLayout& layout, std::string tensor) : layout_(&layout), tensor_(std::move(tensor)) {}
  absl::Status LookUpPanels(absl::Span<const TensorPart> panels, WeightSource& source, Device& device, BoundBuffer hidden,
                            Timeline* timeline);

  const WeightLayout* layout_;
  std::string tensor_;
  GraphHandle full_panel_ = 0, last_panel_ = 0;   // The last may have fewer rows.
  int64_t last_panel_begin_ = 0;

  // The current pass. Kept as members to avoid allocations.
  std::vector<std::pair<TokenId, int>> sorted_;   // Tokens, each with its row.
  std::vector<std::pair<TokenId, int>>::const_iterator next_;
  std::vector<TensorPart> panels_;
  std::vector<TokenId> in_panel_;                 // By row: the token's place in the current panel; kNotThere for most.
};

}  // namespace tessera
