#include "tessera/model/text/internal/last_message.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tessera {
namespace {

constexpr absl::string_view kAfterWord = " \n";

// Returns the blanks at the end of a text that is not blank; 0 for a blank text.
size_t BlanksAtEnd(absl::string_view text) {
  const absl::string_view trimmed = absl::StripTrailingAsciiWhitespace(text);
  return trimmed.empty() ? 0 : text.size() - trimmed.size();
}

std::vector<ChatPiece> Beginning(std::vector<ChatPiece> pieces, size_t size) {
  size_t at = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (at + pieces[i].text.size() >= size) {
      pieces[i].text.resize(size - at);
      pieces.resize(pieces[i].text.empty() ? i : i + 1);
      break;
    }
    at += pieces[i].text.size();
  }
  return pieces;
}

}  // namespace

std::string WordNotIn(absl::string_view text) {
  const std::string begin_word = "tessera-end";
  const std::string lower = absl::AsciiStrToLower(text);
  size_t longest = 0;   // Letters x after a place of the beginning.
  for (size_t at = lower.find(begin_word); at != lower.npos; at = lower.find(begin_word, at + begin_word.size())) {
    const size_t begin = at + begin_word.size(), end = std::min(lower.find_first_not_of('x', begin), lower.size());
    longest = std::max(longest, end - begin + 1);
  }
  return absl::StrCat(begin_word, std::string(longest, 'x'));
}

std::string EndMark(absl::string_view word) { return absl::StrCat(word, kAfterWord); }

std::optional<std::vector<ChatPiece>> UpToWord(std::vector<ChatPiece> pieces, absl::string_view word, absl::string_view content) {
  std::string text;
  for (const ChatPiece& piece : pieces) absl::StrAppend(&text, piece.text);
  const size_t at = absl::AsciiStrToLower(text).rfind(std::string(word));
  if (at == text.npos) return std::nullopt;
  size_t end = at;
  const bool trims = !absl::StartsWith(absl::string_view(text).substr(at + word.size()), kAfterWord);
  if (trims) end -= std::min(BlanksAtEnd(content), BlanksAtEnd(absl::string_view(text).substr(0, at)));
  return Beginning(std::move(pieces), end);
}

}  // namespace tessera
