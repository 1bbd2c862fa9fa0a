// Looks up the rows of tokens in the embedding table. Reads only the panels that hold the rows.
//
//   ASSIGN_OR_RETURN(EmbeddingTable table, EmbeddingTable::Create(config, layout));
//   GraphStore store(device, model.variants());                          // of a CompiledModel
//   RETURN_IF_ERROR(table.LookUp(tokens, source, store, hidden));        // row r of hidden: that of tokens[r], scaled
//
// The table can be most of a small model, but a pass needs one row per token. The table is therefore leased in parts: panels of 32 rows,
// which lie together in the packed layout. Threads: one at a time. Errors: the errors of the source.
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
  // The layout must outlive the table. Returns InvalidArgument (found, expected) if a panel is larger than the parts that a source gives.
  static absl::StatusOr<EmbeddingTable> Create(const ModelConfig& config, const WeightLayout& layout);

  // hidden: [tokens.size(), width]; rows of kNoToken stay unchanged. store: made for this model's blocks. REQUIRES: at most the model's row
  // capacity of tokens; all tokens except kNoToken are in the vocabulary.
  static constexpr TokenId kNoToken = -1;
  // Looks up the rows of `tokens`. next: the graph that the pass runs next. The store may load that graph meanwhile.
  absl::Status LookUp(absl::Span<const TokenId> tokens, WeightSource& source, GraphStore& store, BoundBuffer hidden,
                      GraphNeed next = {}, Timeline* timeline = nullptr);

 private:
  EmbeddingTable(const WeightLayout& layout, std::string tensor) : layout_(&layout), tensor_(std::move(tensor)) {}
  absl::Status LookUpPanels(absl::Span<const TensorPart> panels, WeightSource& source, GraphStore& store, BoundBuffer hidden,
                            GraphNeed next, Timeline* timeline);

  const WeightLayout* layout_;
  std::string tensor_;
  int64_t last_panel_begin_ = 0;   // The panel's first row.

  // State of the current pass. Members, to avoid allocations.
  std::vector<std::pair<TokenId, int>> sorted_;   // Tokens, each with its row.
  std::vector<std::pair<TokenId, int>>::const_iterator next_;
  std::vector<TensorPart> panels_;
  std::vector<TokenId> in_panel_;                 // By row: the token's place in the current panel; kNotThere for most.
};

}  // namespace tessera
