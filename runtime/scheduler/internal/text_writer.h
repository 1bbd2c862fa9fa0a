// Chooses the tokens of a sequence, shows the tokens, and decides when the sequence ends.
//
//   TextWriter writer(core, sampler, options, result);
//   ASSIGN_OR_RETURN(const Choice choice, writer.Next(logits));      // choice.last: result.reason says why
//   writer.Finish();                                                 // what was held back is shown
//
// Threads: one at a time, except for ChooseAhead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/model/text/sampler.h"
#include "tessera/model/text/text_stream.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/session/generation.h"
#include "tessera/spec/trees/rejection.h"
#include "tessera/spec/trees/verify.h"

namespace tessera {

// Writes one sequence into a Generation.
class TextWriter {
 public:
  // All arguments must outlive the writer.
  TextWriter(const EngineCore& core, const Sampler& sampler, const GenerateOptions& options, Generation& result);

  // Chooses the next token. `last` is set if the token ends the sequence; the result then has the reason. logits: [vocabulary]. drawn: a
  // draft's drawn children at this place, which are accepted or rejected. Null: the sampler draws. The first token is
  // GenerateOptions::first, if set.
  absl::StatusOr<Choice> Next(absl::Span<const float> logits, const DrawnChildren* drawn = nullptr);
  // Chooses now the token that Next will choose from the same logits if nothing was drawn, and shows nothing. Next then has the token at
  // once. Threads: any, while the writer is not used otherwise.
  void ChooseAhead(absl::Span<const float> logits);
  // Shows the text held back, unless a stop string ended the sequence.
  void Finish();

 private:
  absl::StatusOr<TokenId> Choose(absl::Span<const float> logits, const DrawnChildren* drawn);
  bool EndsWith(TokenId token);
  // Writes a token. Returns false once a stop string is complete.
  bool Write(TokenId token);
  void Show(const std::string& text);

  const EngineCore& core_;
  const Sampler& sampler_;
  const GenerateOptions& options_;
  Generation& result_;
  TextStream stream_;
  StopStrings stops_;
  std::vector<TokenId> stop_tokens_;
  std::vector<float> distribution_;   // The distribution. Kept to reuse the memory.
  // The token chosen ahead, and the logits used. The next token is chosen from the same logits, or the token is never used.
  struct Ahead { const float* logits; absl::StatusOr<TokenId> token; };
  std::optional<Ahead> ahead_;
};

}  // namespace tessera
