// Where the content of a last message ends, so that a model continues the message.
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

// Returns a word of lower-case letters that stands nowhere in the text, whatever the case of its letters there. Cost: linear.
std::string WordNotIn(absl::string_view text);

// Returns the word with blanks after it, which a template that trims contents leaves out.
std::string EndMark(absl::string_view word);

// Returns the pieces up to the last place of the word; nullopt: the word is nowhere. Where the blanks after the word are gone, so are those
// at the end of `content`.
std::optional<std::vector<ChatPiece>> UpToWord(std::vector<ChatPiece> pieces, absl::string_view word, absl::string_view content);

}  // namespace tessera
