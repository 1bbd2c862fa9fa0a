// A text that is generated step by step. Takes the tokens one by one, and finds the ends of the steps and of the text.
//
//   const StepTextOptions rules = {.delimiter = "\n\n", .max_tokens = 512};
//   StepText text(engine.tokenizer(), rules);
//   while (!text.step_ended()) text.Add(NextTokenAfter(text.tokens()));
//   text.step();                                  // "There are 16 - 3 = 13 eggs left.\n\n"
//   StepText other = text;                        // another way to go on from there
//   other.BeginStep();
//
// A step ends with the token in which the delimiter ends; the delimiter belongs to the step. If the token continues after the delimiter,
// the token stays whole: tokens() has the whole token, text() ends with the delimiter, and the rest begins the next step's text. So a step
// is continued from its exact tokens, never from a new tokenization of its text. Each step has at least one token of its own: a delimiter
// that lies whole in such a rest ends no step. A delimiter that spans the end of a step cut by length ends no step, either.
//
// The tokens are the tokens of one text (text_stream.h): characters and stop strings may span steps. If a stop string ends the text, only
// the text before the stop string is shown, even if the stop string began in an earlier step.
//
// Threads: thread-compatible.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/text/text_stream.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/runtime/session/generation.h"

namespace tessera {

// Rules for the ends of steps and text.
struct StepTextOptions {
  std::string delimiter = "\n\n";                 // Not empty.
  int max_step_tokens = 256;                      // 1 or more.
  int max_tokens = 512;                           // 1 or more: the longest text,
  FinishReason at_most = FinishReason::kLength;   // and the reason of a text of that length.
  std::vector<std::string> stop = {};             // As in GenerateOptions.
  bool starts_text = true;                        // False if the text continues a prompt's own text.
};

// One text in steps.
class StepText {
 public:
  // Creates an empty text in the first step. Both arguments must outlive the object and its copies. REQUIRES: options as above.
  StepText(const Tokenizer& tokenizer, const StepTextOptions& options);

  // Adds the next token. REQUIRES: the step has not ended.
  void Add(TokenId token);
  // Begins the next step. REQUIRES: a step has ended, and the text has not.
  void BeginStep();

  bool step_ended() const { return step_ended_; }
  int step_tokens() const { return step_tokens_; }       // Tokens of the last step.
  bool ended() const { return ended_; }                  // The whole text, with the last step.
  FinishReason reason() const { return reason_; }        // REQUIRES: ended.
  // All added tokens, an end token included.
  absl::Span<const TokenId> tokens() const { return tokens_; }
  // The shown text up to the end of the last ended step, or up to now if no step has ended. Valid until the next Add.
  absl::string_view text() const { return absl::string_view(text_).substr(0, step_ended_ ? step_end_ : text_.size()); }
  // The last step's part of text().
  absl::string_view step() const { return text().substr(step_begin_); }

 private:
  bool IsStop(TokenId token) const;
  // Appends `piece`. Returns false once a stop string is complete: the text is cut off before the stop string.
  bool Show(const std::string& piece);
  void End(FinishReason reason);
  // Ends the step at a delimiter that ends after the text's first `before` bytes.
  void EndStepAtDelimiter(size_t before);

  const Tokenizer* tokenizer_;
  const StepTextOptions* options_;
  TextStream stream_;
  StopStrings stops_;
  std::vector<TokenId> stop_tokens_;   // Stop strings that are special tokens, which are never shown.
  std::vector<TokenId> tokens_;
  std::string text_;                   // The whole text, with a possible beginning of a stop string.
  size_t shown_ = 0;                   // Bytes of text_ that cannot belong to a stop string any more.
  size_t step_begin_ = 0, step_end_ = 0;
  int step_tokens_ = 0;
  bool step_ended_ = false, ended_ = false;
  FinishReason reason_ = FinishReason::kLength;
};

}  // namespace tessera
