// What a model makes of places in a text: hidden states or logits, for scorers that read texts which are not being written.
//
//   TextReader reader(SharedCoreOf(*engine));
//   RETURN_IF_ERROR(reader.ReadStates(tokens, layer, {17, 40}, [&](size_t index, const float* state) { ... }));
//   RETURN_IF_ERROR(reader.ReadLogits(tokens, logits));                  // after the last token: [vocabulary]
//
// Reading begins where the cache has something: what a text that ended left there (prefix_index.h) is not computed again, and what is
// computed is left there, too, until room is wanted. Between two calls nothing is held. Bits are those of the text alone.
// Errors: InvalidArgument for a token outside the vocabulary (which, found, expected); ResourceExhausted for a text that is longer than the
// context, or finds no room beside texts that are being written; FailedPrecondition during another call on the engine; those of a pass.
// Threads: those of the engine's sessions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/pass.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/engine/core.h"

namespace tessera {

class TextReader {
 public:
  explicit TextReader(std::shared_ptr<EngineCore> core) : core_(std::move(core)) {}

  // The state of tokens[places[index]] after `layer` layers: [width], valid during the call. REQUIRES: places ascend, at least one, and are
  // of the tokens; the engine switches no graphs.
  using OnState = absl::FunctionRef<void(size_t index, const float* state)>;
  absl::Status ReadStates(absl::Span<const TokenId> tokens, int layer, absl::Span<const int> places, OnState on_state);
  // REQUIRES: at least one token; logits has the vocabulary's size; the engine switches no graphs.
  absl::Status ReadLogits(absl::Span<const TokenId> tokens, absl::Span<float> logits);

  // Rows that were computed so far: those that the cache had are not among them.
  int64_t rows() const { return computed_; }
  const EngineCore& core() const { return *core_; }

 private:
  // Walks one pass to its end: over the tokens `first` to first + count - 1.
  using RunPart = absl::FunctionRef<absl::Status(Pass& pass, int first, int count)>;
  absl::Status CheckTokens(absl::Span<const TokenId> tokens) const;
  // Passes over the tokens that the cache lacks, at least those from `needed` on.
  absl::Status Walk(absl::Span<const TokenId> tokens, int needed, RunPart run_part);
  absl::Status WalkParts(CachedText& text, RunPart run_part);

  const std::shared_ptr<EngineCore> core_;
  std::vector<PassRow> rows_;   // Kept between passes to spare allocations.
  int64_t computed_ = 0;
};

}  // namespace tessera
