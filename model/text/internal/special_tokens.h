// Finds the tokens that are matched as a whole, before all other tokens: control tokens and marks (on request), and user-defined tokens
// (always).
//
//   SpecialTokens special(*vocabulary);
//   for (const TextFragment& fragment : special.Split("Hi<|im_end|>", {.parse_special = true})) {
//     if (fragment.token.has_value()) tokens.push_back(*fragment.token); else EncodePlain(fragment.text);
//   }
//
// The longest text wins over the whole input, not only at its position: with tokens "<|a" and "|abc", "<|abc" is split into "<" and the
// token "|abc". If lengths are equal, the lower id wins, then the earlier position. Fragments are views of the given text. Threads:
// thread-safe, nothing changes after construction. Memory: 8 bytes per token. Time: n log n for n bytes of text, times at most
// Vocabulary::kMaxSpecialBytes if tokens' texts are nested.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/model/text/internal/vocabulary.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {

struct TextFragment {
  absl::string_view text;
  std::optional<TokenId> token;  // nullopt: plain text.
};

class SpecialTokens {
 public:
  explicit SpecialTokens(const Vocabulary& vocabulary);  // Views the vocabulary, which must outlive this object.

  // Splits a text into fragments. The fragments, none empty, together are the text. options.add_bos is ignored.
  std::vector<TextFragment> Split(absl::string_view text, const EncodeOptions& options) const;

 private:
  struct Match {
    size_t begin;
    size_t size;
    TokenId token;
  };
  static constexpr int kNone = -1;
  struct Entry {
    TokenId token;
    int prefix;  // The entry with the longest text that is a proper prefix of this entry's text.
  };

  absl::string_view Text(const Entry& entry) const { return vocabulary_.text(entry.token); }
  // Returns the longest match that starts at `begin` and has at most `most` bytes.
  std::optional<Match> LongestAt(absl::string_view text, size_t begin, size_t most, const EncodeOptions& options) const;
  std::vector<Match> FindAll(absl::string_view text, const EncodeOptions& options) const;

  const Vocabulary& vocabulary_;
  std::vector<Entry> entries_;    // In the order of their texts, which all differ.
  std::array<int, 257> first_{};  // first_[b] to first_[b + 1]: the entries with first byte b. Most bytes have none.
};

}  // namespace tessera
