#include "tessera/runtime/chat/prompt_size.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tessera/base/usage_error.h"

namespace tessera {

absl::Status CheckBytesFit(absl::string_view text, const Tokenizer& tokenizer, int context) {
  if (text.size() <= static_cast<size_t>(context)) return absl::OkStatus();  // Most prompts need no walk over the vocabulary.
  size_t longest = 1;
  for (TokenId token = 0; token < tokenizer.vocabulary_size(); ++token) {
    longest = std::max(longest, tokenizer.Piece(token, /*render_special=*/true).size());
  }
  const size_t most = longest * context;
  if (text.size() <= most) return absl::OkStatus();
  return LimitedBy("context", absl::ResourceExhaustedError(absl::StrCat(
                                  "prompt: found ", text.size(), " bytes, expected at most ", most, ": a context of ", context,
                                  " tokens of at most ", longest, " bytes")));
}

absl::Status CheckTokensFit(size_t tokens, int context) {
  if (tokens == 0) return absl::InvalidArgumentError("prompt: found no tokens, expected at least 1");
  if (tokens <= static_cast<size_t>(context)) return absl::OkStatus();
  return LimitedBy("context", absl::ResourceExhaustedError(
                                  absl::StrCat("prompt: found ", tokens, " tokens, expected at most ", context, ", the context")));
}

}  // namespace tessera
