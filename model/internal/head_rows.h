// The output norm, and single rows of the head: what scores of few tokens take, where the whole head would be dear.
//
//   ASSIGN_OR_RETURN(const HeadRows head, HeadRows::Create(config, layout, source));
//   head.Normalize(state.data());                                                      // [width], in place
//   RETURN_IF_ERROR(head.Visit({3, 17, 400}, [&](TokenId token, const float* row) { score[token] = Dot(state, row); }));
//
// Rows are read in panels of 32, as those of the embedding table are (embedding_table.h), in any encoding. A cap of logits is the caller's.
// Threads: as the source's leases. Errors are those of the source.
#pragma once

#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/weights.h"
#include "tessera/model/internal/output_norm.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

class HeadRows {
 public:
  // Reads the norm. Layout and source must outlive it. InvalidArgument (found, expected) for a head with a bias, and if a panel is larger
  // than a source gives in parts.
  static absl::StatusOr<HeadRows> Create(const ModelConfig& config, const WeightLayout& layout, WeightSource& source);

  // state: [width].
  void Normalize(float* state) const { norm_.Apply(state); }
  // In the order given, each row during the call: [width]. REQUIRES: the tokens ascend, and are of the vocabulary; no leases of parts are
  // held.
  absl::Status Visit(absl::Span<const TokenId> tokens, absl::FunctionRef<void(TokenId token, const float* row)> visit) const;

  const WeightSource* source() const { return source_; }
  int64_t bytes() const { return norm_.bytes(); }

 private:
  HeadRows(const WeightLayout& layout, WeightSource& source, std::string tensor, OutputNorm norm)
      : layout_(&layout), source_(&source), tensor_(std::move(tensor)), norm_(std::move(norm)) {}
  absl::Status ReadRow(const TensorPart& panel, absl::Span<const std::byte> bytes, TokenId token, float* out) const;

  const WeightLayout* layout_;
  WeightSource* source_;
  std::string tensor_;
  OutputNorm norm_;
};

}  // namespace tessera
