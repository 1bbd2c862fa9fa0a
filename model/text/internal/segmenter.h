// The part that differs between tokenizer kinds: converts plain text, without special tokens, to tokens, and a token to its text.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Segmenter> segmenter, NewBytePairSegmenter(facts, *vocabulary));   // byte_pair.h
//   std::vector<TokenId> tokens;
//   segmenter->Encode("Hello", /*starts_text=*/true, &tokens);
//
// The vocabulary must outlive the segmenter. Threads: thread-safe, nothing except lost_bytes() changes after construction.
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

  // Appends the tokens of `text`. `starts_text`: the text stands at the very start, or after a special token.
  virtual void Encode(absl::string_view text, bool starts_text, std::vector<TokenId>* tokens) const = 0;

  // Returns the number of bytes, over all texts so far, that had no token and were left out.
  virtual int64_t lost_bytes() const { return 0; }

  // Returns the bytes of a token of kind normal, unused or byte. REQUIRES: the vocabulary contains the token.
  virtual std::string Piece(TokenId token) const = 0;

  virtual bool adds_space_prefix() const = 0;
  virtual bool adds_bos_by_default() const = 0;  // If the file has no value (TokenizerFacts::add_bos).
};

}  // namespace tessera
