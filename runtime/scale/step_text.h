// A text that is written step by step: takes its tokens one by one, and says where a step ends, and where the text does.
//
//   const StepTextOptions rules = {.delimiter = "\n\n", .max_tokens = 512};
//   StepText text(engine.tokenizer(), rules);
//   while (!text.step_ended()) text.Add(NextTokenAfter(text.tokens()));
//   text.step();                                  // "There are 16 - 3 = 13 eggs left.\n\n"
//   StepText other = text;                        // another way to go on from there
//   other.BeginStep();
//
// A step ends with the token in which its delimiter ends, and the delimiter is a part of it. Where that token goes on behind the delimiter,
// it stays whole: tokens() has all of it, text() ends with the delimiter, and the rest begins the next step's text. So a step is gone on
// from by its exact tokens, never by those that its text would be cut into. Each step has a token of its own at least: a delimiter that
// lies in such a rest as a whole ends no step. One that lies across the cut of a step that was ended by its length is none.
//
// The tokens are those of one text (text_stream.h): characters and stop strings may lie across steps. What is shown of a text that a stop
// string ends is what comes before it, be that in an earlier step. Thread-compatible.
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

struct StepTextOptions {
  std::string delimiter = "\n\n";                 // Not empty.
  int max_step_tokens = 256;                      // 1 and up.
  int max_tokens = 512;                           // 1 and up: the text ends with so many,
  FinishReason at_most = FinishReason::kLength;   // for this reason.
  std::vector<std::string> stop = {};             // As GenerateOptions has them.
  bool starts_text = true;                        // False where it goes on with a prompt's own text.
};

class StepText {
 public:
  // An empty text in its first step. Both must outlive it and its copies. REQUIRES: options as above.
  StepText(const Tokenizer& tokenizer, const StepTextOptions& options);

  // The next token. REQUIRES: the step has not ended.
  void Add(TokenId token);
  // REQUIRES: a step has ended, and the text has not.
  void BeginStep();

  bool step_ended() const { return step_ended_; }
  int step_tokens() const { return step_tokens_; }       // Those of the last step.
  bool ended() const { return ended_; }                  // The whole text, and its last step with it.
  FinishReason reason() const { return reason_; }        // REQUIRES: ended.
  // All that were added, an end token included.
  absl::Span<const TokenId> tokens() const { return tokens_; }
  // What is shown of them up to the end of the last step that has ended, or so far if none has. Valid until the next Add.
  absl::string_view text() const { return absl::string_view(text_).substr(0, step_ended_ ? step_end_ : text_.size()); }
  // The last step's part of it.
  absl::string_view step() const { return text().substr(step_begin_); }

 private:
  bool IsStop(TokenId token) const;
  // False once a stop string is complete: the text is cut off before it.
  bool Show(const std::string& piece);
  void End(FinishReason reason);
  // At a delimiter that ends behind the text's first `before` bytes.
  void EndStepAtDelimiter(size_t before);

  const Tokenizer* tokenizer_;
  const StepTextOptions* options_;
  TextStream stream_;
  StopStrings stops_;
  std::vector<TokenId> stop_tokens_;   // Stop strings that are special tokens, which are never shown.
  std::vector<TokenId> tokens_;
  std::string text_;                   // All of it, what may be the beginning of a stop string included.
  size_t shown_ = 0;                   // Bytes of it that cannot be any more.
  size_t step_begin_ = 0, step_end_ = 0;
  int step_tokens_ = 0;
  bool step_ended_ = false, ended_ = false;
  FinishReason reason_ = FinishReason::kLength;
};

}  // namespace tessera
