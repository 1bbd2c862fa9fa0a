// Finds the tokens that are matched as a whole, before anything else: control tokens (on request) and user-defined ones (always).
//
//   SpecialTokens special(*vocabulary);
//   for (const TextFragment& fragment : special.Split("Hi<|im_end|>", {.parse_special = true})) {
//     if (fragment.token.has_value()) tokens.push_back(*fragment.token); else EncodePlain(fragment.text);
//   }
//
// The longest text wins over the whole input, not only at its position: of "<|a" and "|abc", "<|abc" holds the second. Equal
// lengths: the lower id, then the earlier position. Fragments view the text given. Thread-safe: nothing changes after construction.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "tessera/model/tokenizer.h"
#include "tessera/model/tokenizers/vocabulary.h"

namespace tessera {

struct TextFragment {
  absl::string_view text;
  std::optional<TokenId> token;  // None: plain text.
};

class SpecialTokens {
 public:
  explicit SpecialTokens(const Vocabulary& vocabulary);

  // The fragments, none of them empty, make up the text. options.add_bos plays no part.
  std::vector<TextFragment> Split(absl::string_view text, const EncodeOptions& options) const;

 private:
  struct Match {
    size_t begin;
    size_t size;
    TokenId token;
  };
  // One node for each prefix of a special text; 0 is the empty prefix, and no node.
  struct Node {
    TokenId token = -1;  // -1: only a prefix.
    bool user_defined = false;
  };

  void Insert(absl::string_view text, TokenId token, bool user_defined);
  std::optional<Match> LongestAt(absl::string_view text, size_t begin, size_t below_size, const EncodeOptions& options) const;
  std::vector<Match> FindAll(absl::string_view text, const EncodeOptions& options) const;

  std::vector<Node> nodes_;
  std::array<uint32_t, 256> roots_{};                   // By first byte: most positions of a text end here.
  absl::flat_hash_map<uint64_t, uint32_t> edges_;       // (node << 8 | byte) -> node.
};

}  // namespace tessera
