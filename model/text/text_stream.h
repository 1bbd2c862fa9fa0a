// Turns tokens, as they come, into text that can be shown: only whole UTF-8 characters, and only up to a stop string.
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
// The output does not depend on how the text was cut into tokens. No errors: bytes that are not UTF-8 become U+FFFD. Threads: one stream
// belongs to one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {

struct TextStreamOptions {
  bool render_special = false;  // Show control tokens as their text.
  // The tokens begin a text: the space that some tokenizers put before it (adds_space_prefix()) is taken away. False when they
  // continue one, such as a raw prompt; then a leading space belongs to the text.
  bool starts_text = true;
};

class TextStream {
 public:
  // The tokenizer must outlive the stream.
  explicit TextStream(const Tokenizer* tokenizer, const TextStreamOptions& options = TextStreamOptions());

  // Returns the text that is complete now; at most 3 bytes wait for the rest of their character.
  std::string Append(TokenId token);

  // Returns U+FFFD if bytes still wait, since they will not become a whole character. The stream is at a character's start again.
  std::string Finish();

 private:
  const Tokenizer* tokenizer_;
  TextStreamOptions options_;
  bool drop_space_;
  std::string waiting_;
};

// Lets text through up to the first stop string. The first is the one that ends first; if several end at once, the longest. The stop string
// and everything after it are never let through. Text that may be the beginning of a stop string is held back until that is decided.
class StopStrings {
 public:
  // Empty strings are ignored; without any other, everything passes at once.
  explicit StopStrings(std::vector<std::string> stops);

  // The text that can be shown now; empty once stopped.
  std::string Append(absl::string_view text);

  // Returns the text that was held back, unless stopped: no more text comes.
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
