// The part in which tokenizer kinds differ: how plain text, without special tokens, becomes tokens, and for what text a token stands.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Segmenter> segmenter, NewBytePairSegmenter(facts, *vocabulary));   // byte_pair.h
//   std::vector<TokenId> tokens;
//   segmenter->Encode("Hello", /*starts_text=*/true, &tokens);
//
// The vocabulary must outlive the segmenter. Thread-safe: nothing but lost_bytes() changes after construction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tessera/base/token.h"

namespace tessera {

class Segmenter {
 public:
  virtual ~Segmenter() = default;

  // Appends the tokens of `text`. `starts_text`: it stands at the very beginning, or after a special token.
  virtual void Encode(absl::string_view text, bool starts_text, std::vector<TokenId>* tokens) const = 0;

  // How many bytes of all texts so far had no token, and were left out.
  virtual int64_t lost_bytes() const { return 0; }

  // The bytes of a token whose kind is normal, unused or byte. REQUIRES: the vocabulary contains it.
  virtual std::string Piece(TokenId token) const = 0;

  virtual bool adds_space_prefix() const = 0;
  virtual bool adds_bos_by_default() const = 0;  // Where the file does not say (TokenizerFacts::add_bos).
};

}  // namespace tessera
