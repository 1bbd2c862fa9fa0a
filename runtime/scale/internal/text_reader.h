// Reads texts that are not being generated, for scorers: hidden states or logits at positions of a text.
//
//   TextReader reader(SharedCoreOf(*engine));
//   RETURN_IF_ERROR(reader.ReadStates(tokens, layer, {17, 40}, [&](size_t index, const float* state) { ... }));
//   RETURN_IF_ERROR(reader.ReadLogits(tokens, logits));                  // after the last token: [vocabulary]
//
// Reading begins after the cached prefix: tokens that an ended text left in the cache (prefix_index.h) are not computed again. Computed
// tokens stay in the cache, too, until the room is needed. Nothing is held between two calls. The bits depend on the text alone.
//
// Errors: InvalidArgument for a token outside the vocabulary (which, found, expected). ResourceExhausted for a text that is longer than the
// context, or finds no room next to running texts. FailedPrecondition within a pass of the same thread. Otherwise the errors of a pass.
//
// Threads: as the engine's sessions; calls of other threads are waited for.
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

// Reads texts on one engine.
class TextReader {
 public:
  explicit TextReader(std::shared_ptr<EngineCore> core) : core_(std::move(core)) {}

  // Calls on_state with the hidden state of tokens[places[index]] after `layer` layers: [width], valid during the call. REQUIRES: at least
  // one place; places ascend and are positions in `tokens`; the engine does not switch graphs.
  using OnState = absl::FunctionRef<void(size_t index, const float* state)>;
  absl::Status ReadStates(absl::Span<const TokenId> tokens, int layer, absl::Span<const int> places, OnState on_state);
  // Writes the logits after the last token. REQUIRES: at least one token; `logits` has the vocabulary's size; the engine does not switch
  // graphs.
  absl::Status ReadLogits(absl::Span<const TokenId> tokens, absl::Span<float> logits);

  // Rows computed so far, without tokens found in the cache.
  int64_t rows() const { return computed_; }
  const EngineCore& core() const { return *core_; }

 private:
  // Runs one pass to its end over the tokens `first` to first + count - 1.
  using RunPart = absl::FunctionRef<absl::Status(Pass& pass, int first, int count)>;
  absl::Status CheckTokens(absl::Span<const TokenId> tokens) const;
  // Runs passes over the tokens that the cache lacks, and at least over the tokens from `needed` on.
  absl::Status Walk(absl::Span<const TokenId> tokens, int needed, RunPart run_part);
  absl::Status WalkParts(CachedText& text, RunPart run_part);

  const std::shared_ptr<EngineCore> core_;
  std::vector<PassRow> rows_;   // Kept between passes to spare allocations.
  int64_t computed_ = 0;
};

}  // namespace tessera
