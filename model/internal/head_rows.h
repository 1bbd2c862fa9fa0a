// Holds the output norm, and reads single rows of the head: for scores of few tokens, when the whole head would be expensive.
//
//   ASSIGN_OR_RETURN(const HeadRows head, HeadRows::Create(config, layout, source));
//   head.Normalize(state.data());                                                      // [width], in place
//   RETURN_IF_ERROR(head.Visit({3, 17, 400}, [&](TokenId token, const float* row) { score[token] = Dot(state, row); }));
//
// Rows are read in panels of 32, like rows of the embedding table (embedding_table.h), in any encoding. The caller applies a cap of logits.
// Threads: as for the source's leases. Errors: the errors of the source.
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
  // Reads the norm. Layout and source must outlive this object. Returns InvalidArgument (found, expected) for a head with a bias, or if a
  // panel is larger than the parts that a source gives.
  static absl::StatusOr<HeadRows> Create(const ModelConfig& config, const WeightLayout& layout, WeightSource& source);

  // Applies the norm in place. state: [width].
  void Normalize(float* state) const { norm_.Apply(state); }
  // Visits the rows of the tokens in the given order. Each row, [width], is valid during its call. REQUIRES: the tokens ascend and are in
  // the vocabulary; no leases of parts are held.
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
