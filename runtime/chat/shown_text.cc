#include "tessera/runtime/chat/shown_text.h"

#include <algorithm>

#include "tessera/model/text/text_stream.h"

namespace tessera {
namespace {

// Returns the part of the result before a stop text within the tokens' text.
ShownText BeforeStop(const Generation& result, const Tokenizer& tokenizer, bool starts_text) {
  ShownText shown;
  TextStream stream(&tokenizer, {.render_special = false, .starts_text = starts_text});
  // Bytes of the tokens that count as shown, and of all tokens read so far.
  size_t whole = 0, complete = 0;
  for (size_t i = 0; i < result.tokens.size() && whole < result.text.size(); ++i) {
    complete += stream.Append(result.tokens[i]).size();
    if (complete > result.text.size()) break;
    if (TextStream copy = stream; !copy.Finish().empty()) continue;   // The token ends within a character.
    whole = complete;
    shown.tokens = static_cast<int>(i) + 1;
  }
  shown.rest = result.text.substr(whole);
  return shown;
}

}  // namespace

ShownText ShownTextOf(const Generation& result, const Tokenizer& tokenizer, bool starts_text) {
  const int tokens = static_cast<int>(result.tokens.size());
  const bool stops_by_itself = tokens > 0 && tokenizer.IsSpecial(result.tokens.back());
  if (result.reason == FinishReason::kStopString && !stops_by_itself) return BeforeStop(result, tokenizer, starts_text);
  const bool goes = result.reason == FinishReason::kEndToken || result.reason == FinishReason::kStopString;
  return {.tokens = std::max(0, tokens - (goes ? 1 : 0))};
}

}  // namespace tessera
