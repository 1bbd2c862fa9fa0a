// Finds the end of the last message's content, so that a model continues the message.
//
//   const std::string word = WordNotIn(text);
//   ...                                                    // the pieces, with EndMark(word) at the end of the content "4 is "
//   std::optional<std::vector<ChatPiece>> begun = UpToWord(pieces, word, "4 is ");
//
// Thread-safe (pure functions).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/model/text/chat_template.h"

namespace tessera {

// Returns a word of lower-case letters that does not occur in the text in any case. Cost: linear.
std::string WordNotIn(absl::string_view text);

// Returns the word with blanks behind it. A template that trims contents leaves the blanks out.
std::string EndMark(absl::string_view word);

// Returns the pieces up to the last occurrence of the word; nullopt: the word does not occur. If the template dropped the blanks behind the
// word, the blanks at the end of `content` are dropped, too.
std::optional<std::vector<ChatPiece>> UpToWord(std::vector<ChatPiece> pieces, absl::string_view word, absl::string_view content);

}  // namespace tessera
