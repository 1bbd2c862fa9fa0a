// The text of a token, as tables of tokens show the text.
//
//   table.AddRow({absl::StrCat(token), QuotedPiece(tokenizer.Piece(token, /*render_special=*/true))});     // 198, "\n"
//
// Pure function.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Returns the whole text in one line: quoted like a string of JSON, with other control characters escaped. A part of a character is shown
// as U+FFFD.
std::string QuotedPiece(absl::string_view piece);

}  // namespace tessera
