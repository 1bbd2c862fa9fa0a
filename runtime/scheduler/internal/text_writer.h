// Chooses the tokens of a text, shows them, and knows when it ends.
//
//   TextWriter writer(core, sampler, options, result);
//   ASSIGN_OR_RETURN(const Choice choice, writer.Next(logits));      // choice.last: result.reason says why
//   writer.Finish();                                                 // what was held back is shown
//
// Threads: one at a time, but for ChooseAhead.
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

class TextWriter {
 public:
  // All must outlive it.
  TextWriter(const EngineCore& core, const Sampler& sampler, const GenerateOptions& options, Generation& result);

  // The next token; `last` if the text ends with it, with the reason in the result. logits: [vocabulary]. drawn: what a draft drew for this
  // place, which is accepted or rejected; null: the sampler draws. The first token is that of the options, if they have one.
  absl::StatusOr<Choice> Next(absl::Span<const float> logits, const DrawnChildren* drawn = nullptr);
  // Chooses what Next is about to choose from these logits if nothing was drawn, and shows nothing: it then has the token at once. May run
  // on any thread, while this one is not used otherwise.
  void ChooseAhead(absl::Span<const float> logits);
  void Finish();

 private:
  absl::StatusOr<TokenId> Choose(absl::Span<const float> logits, const DrawnChildren* drawn);
  bool EndsWith(TokenId token);
  // False once a stop string is complete.
  bool Write(TokenId token);
  void Show(const std::string& text);

  const EngineCore& core_;
  const Sampler& sampler_;
  const GenerateOptions& options_;
  Generation& result_;
  TextStream stream_;
  StopStrings stops_;
  std::vector<TokenId> stop_tokens_;
  std::vector<float> distribution_;   // Its memory stays.
  // What was chosen ahead, and from which logits: the next token, from these or never.
  struct Ahead { const float* logits; absl::StatusOr<TokenId> token; };
  std::optional<Ahead> ahead_;
};

}  // namespace tessera
