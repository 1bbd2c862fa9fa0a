#include "tessera/model/text/encode_behind.h"

#include <string>

#include "absl/strings/ascii.h"

namespace tessera {

std::vector<TokenId> EncodeBehind(const Tokenizer& tokenizer, absl::Span<const TokenId> before, absl::string_view text,
                                  EncodeOptions options) {
  options.continues = !before.empty() && !tokenizer.BeginsTextBehind(before.back());
  return tokenizer.Encode(text, options);
}

std::vector<TokenId> EncodeAnswer(const Tokenizer& tokenizer, absl::Span<const TokenId> prompt, absl::string_view answer) {
  const std::string last = prompt.empty() ? "" : tokenizer.Piece(prompt.back());
  return tokenizer.Encode(answer, {.continues = !last.empty() && absl::ascii_isspace(static_cast<unsigned char>(last.back()))});
}

}  // namespace tessera
