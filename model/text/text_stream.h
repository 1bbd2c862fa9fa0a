// Turns tokens, as the tokens arrive, into text to show: only whole UTF-8 characters, and only up to a stop string.
//
//   TextStream stream(tokenizer);
//   StopStrings stops({"\nUser:"});
//   for (TokenId token : tokens) {
//     output += stops.Append(stream.Append(token));
//     if (stops.stopped()) break;
//   }
//   output += stops.Append(stream.Finish());
//   output += stops.Finish();
//
// The output does not depend on the division of the text into tokens. Errors: none. Bytes that are not UTF-8 become U+FFFD. Threads: one
// stream belongs to one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {

struct TextStreamOptions {
  bool render_special = false;  // Show the text of control tokens.
  // True: the tokens start a text. The space that some tokenizers put in front (adds_space_prefix()) is removed. False: the tokens continue
  // a text, such as a raw prompt; then a leading space belongs to the text.
  bool starts_text = true;
};

class TextStream {
 public:
  // The tokenizer must outlive the stream.
  explicit TextStream(const Tokenizer* tokenizer, const TextStreamOptions& options = TextStreamOptions());

  // Returns the text that is complete now. At most 3 bytes wait for the rest of their character.
  std::string Append(TokenId token);

  // Returns U+FFFD if bytes still wait, since no more bytes come to complete the character. Afterwards the stream is at the start of a
  // character.
  std::string Finish();

 private:
  const Tokenizer* tokenizer_;
  TextStreamOptions options_;
  bool drop_space_;
  std::string waiting_;
};

// Lets text through up to the first stop string. If several stop strings occur, the first is the one that ends first; if several end at
// once, the longest. Never lets the stop string, or text behind it, through. Holds back text that may be the start of a stop string until
// the case is decided.
class StopStrings {
 public:
  // Empty strings are ignored; if no other string is given, all text passes at once.
  explicit StopStrings(std::vector<std::string> stops);

  // Returns the text to show now; empty once stopped.
  std::string Append(absl::string_view text);

  // Returns the held-back text, unless stopped. No more text may follow.
  std::string Finish();

  bool stopped() const { return !stop_.empty(); }
  const std::string& stop() const { return stop_; }  // The stop string that was found; empty before.

 private:
  size_t HeldBack() const;

  std::vector<std::string> stops_;
  std::string waiting_;
  std::string stop_;
};

}  // namespace tessera
