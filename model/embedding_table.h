// Looks up the rows of tokens in the embedding table. It reads only the panels in which they lie.
//
//   ASSIGN_OR_RETURN(EmbeddingTable table, EmbeddingTable::Create(config, layout));
//   GraphStore store(device, model.variants());                          // of a CompiledModel
//   RETURN_IF_ERROR(table.LookUp(tokens, source, store, hidden));        // row r of hidden: that of tokens[r], scaled
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
#include "tessera/npu/graph_store.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class EmbeddingTable {
 public:
  // The layout must outlive it. InvalidArgument (found, expected) if a panel is larger than a source gives in parts.
  static absl::StatusOr<EmbeddingTable> Create(const ModelConfig& config, const WeightLayout& layout);

  // hidden: [tokens.size(), width]; rows of kNoToken are left as they are. store: of this model's blocks. REQUIRES: at most as many
  // tokens as the model's row capacity; all others lie in the vocabulary.
  static constexpr TokenId kNoToken = -1;
  // next: what the pass runs then, which the store may load meanwhile.
  absl::Status LookUp(absl::Span<const TokenId> tokens, WeightSource& source, GraphStore& store, BoundBuffer hidden,
                      GraphNeed next = {}, Timeline* timeline = nullptr);

 private:
  EmbeddingTable(const WeightLayout& layout, std::string tensor) : layout_(&layout), tensor_(std::move(tensor)) {}
  absl::Status LookUpPanels(absl::Span<const TensorPart> panels, WeightSource& source, GraphStore& store, BoundBuffer hidden,
                            GraphNeed next, Timeline* timeline);

  const WeightLayout* layout_;
  std::string tensor_;
  int64_t last_panel_begin_ = 0;   // Its first row.

  // The current pass. Kept as members to avoid allocations.
  std::vector<std::pair<TokenId, int>> sorted_;   // Tokens, each with its row.
  std::vector<std::pair<TokenId, int>>::const_iterator next_;
  std::vector<TensorPart> panels_;
  std::vector<TokenId> in_panel_;                 // By row: the token's place in the current panel; kNotThere for most.
};

}  // namespace tessera
