// Turns text into the token ids that a model was trained on, and ids back into bytes.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Create(std::move(facts)));   // or ReadTokenizer(*file)
//   std::vector<TokenId> tokens = tokenizer->Encode("Hello, world!", {.add_bos = true});
//   std::string text;
//   for (TokenId token : tokens) text += tokenizer->Piece(token);     // as text arrives: TextStream, in text_stream.h
//
// Two kinds are known, by TokenizerFacts::model: "gpt2" (byte-level byte pair encoding; the words are cut as
// TokenizerFacts::pre_tokenizer says) and "llama" (SentencePiece-style merging by score, with byte fallback).
// Text may hold any bytes, NUL and invalid UTF-8 included; Encode cannot fail. Three things are lost: a byte for which a gpt2 vocabulary
// has no token, or a mark with the same text, is left out (SmolLM2 lacks 21 bytes, such as 0xFF and some control characters); a llama
// vocabulary gives U+2581 back as a space or, if it has no token for it, each space as U+2581; and where a model was trained on text in
// form C (Qwen, Command R), the parts between special tokens are normalized to it. All is by Unicode 15.0.0, on every machine.
// Errors: Create checks all facts and returns InvalidArgument or NotFound with file, key, offset, the value found and the value
// expected. The tokenizer keeps no reference to the file. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

// Bytes [begin, end) of a text.
struct TextRange {
  size_t begin = 0;
  size_t end = 0;
};

struct EncodeOptions {
  // Texts such as "<|im_end|>" become control tokens, or marks that files type as user-defined. Leave it off for text that users wrote.
  bool parse_special = false;
  bool add_bos = false;        // Begin with BOS, where the model's metadata asks for it (adds_bos()): once, if the text begins with it.
  // Where parse_special is on: parts that stay plain text nevertheless, in ascending order, without overlap. No control token and no mark
  // is made of bytes that touch one of them; all else, user-defined tokens such as runs of spaces, too, is encoded as if the ranges were
  // not there. Read during the call only.
  absl::Span<const TextRange> literal = {};
  bool continues = false;      // The text goes on with text that stands before it: no space is put before it (adds_space_prefix()).
};

class Tokenizer {
 public:
  // Longer texts are a CHECK failure in Encode: positions have 31 bits, and a space may become three bytes.
  static constexpr size_t kMaxTextBytes = size_t{512} << 20;

  static absl::StatusOr<std::unique_ptr<Tokenizer>> Create(TokenizerFacts facts);
  virtual ~Tokenizer() = default;

  // Takes O(n log n) for n bytes, whatever the text. REQUIRES: text.size() <= kMaxTextBytes.
  virtual std::vector<TokenId> Encode(absl::string_view text, const EncodeOptions& options) const = 0;
  std::vector<TokenId> Encode(absl::string_view text) const { return Encode(text, EncodeOptions{}); }

  // The bytes for which a token stands: not always whole UTF-8 characters. Special tokens are empty unless `render_special`; ids outside
  // the vocabulary are empty, since a model's output may be padded beyond it.
  virtual std::string Piece(TokenId token, bool render_special) const = 0;
  std::string Piece(TokenId token) const { return Piece(token, false); }

  // Returns the bytes of the longest piece, those of special tokens included; at least 1. The first call walks over the vocabulary.
  int64_t LongestPiece() const;

  virtual int vocabulary_size() const = 0;
  virtual std::optional<TokenId> bos() const = 0;
  virtual std::optional<TokenId> eos() const = 0;
  virtual bool adds_bos() const = 0;           // A sequence of this model begins with BOS.
  virtual bool adds_space_prefix() const = 0;  // Encode puts a space before the text (TextStream takes it away again).
  // Whether Encode treats plain text behind this token, within a text, as the beginning of one. Text that is encoded alone and comes behind
  // another token continues (encode_behind.h).
  virtual bool BeginsTextBehind(TokenId token) const { return IsSpecial(token); }

  virtual bool IsEnd(TokenId token) const = 0;      // Ends a text or a turn: EOS, <|im_end|>, <|eot_id|>, <end_of_turn>, ...
  virtual bool IsSpecial(TokenId token) const = 0;  // A control token or the unknown token: marks, not text.
  virtual std::optional<TokenId> FindSpecial(absl::string_view text) const = 0;  // The special token that has this text.

  // How many bytes of all texts that were encoded so far had no token, and were left out, for programs to warn of.
  virtual int64_t lost_bytes() const { return 0; }

  // What the file says and is not followed, for programs to print; empty: nothing.
  virtual std::string warning() const = 0;

 private:
  mutable std::once_flag looked_for_longest_;
  mutable int64_t longest_ = 1;
};

}  // namespace tessera
