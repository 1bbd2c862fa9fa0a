// Turns text into the token ids that a model was trained on, and ids back into bytes.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Create(std::move(facts)));   // or ReadTokenizer(*file)
//   std::vector<TokenId> tokens = tokenizer->Encode("Hello, world!", {.add_bos = true});
//   std::string text;
//   for (TokenId token : tokens) text += tokenizer->Piece(token);     // as text arrives: TextStream, in text_stream.h
//
// TokenizerFacts::model names one of two kinds. "gpt2" is byte-level byte pair encoding; TokenizerFacts::pre_tokenizer says how words are
// cut. "llama" is SentencePiece-style merging by score, with byte fallback. Text may hold any bytes, including NUL and invalid UTF-8;
// Encode cannot fail. Three losses occur. First, a gpt2 vocabulary may lack a token for a byte, or have only a mark with the byte's text.
// Such a byte is left out (SmolLM2 lacks 21 bytes, such as 0xFF and some control characters). Second, a llama vocabulary returns U+2581 as
// a space or, without a token for U+2581, each space as U+2581. Third, if a model was trained on text in form C (Qwen, Command R), the
// parts between special tokens are normalized to form C. All rules are Unicode 15.0.0's, on every machine.
//
// Errors: Create checks all facts and returns InvalidArgument or NotFound with file, key, offset, the value found and the value expected.
//
// Lifetime: the tokenizer keeps no reference to the file.
//
// Threads: thread-safe.
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
  // Texts such as "<|im_end|>" become control tokens, or marks that files type as user-defined. Leave parse_special off for text that users
  // wrote.
  bool parse_special = false;
  // Begin with BOS if the model's metadata asks for BOS (adds_bos()); only once, even if the text begins with BOS.
  bool add_bos = false;
  // With parse_special: parts that stay plain text nevertheless, in ascending order, without overlap. Bytes that touch a literal part never
  // become a control token or a mark. All other bytes are encoded as if the ranges were not there, including user-defined tokens such as
  // runs of spaces. Read during the call only.
  absl::Span<const TextRange> literal = {};
  bool continues = false;      // The text continues earlier text: no space is put in front (adds_space_prefix()).
};

class Tokenizer {
 public:
  // Longer texts are a CHECK failure in Encode: positions have 31 bits, and a space may become three bytes.
  static constexpr size_t kMaxTextBytes = size_t{512} << 20;

  static absl::StatusOr<std::unique_ptr<Tokenizer>> Create(TokenizerFacts facts);
  virtual ~Tokenizer() = default;

  // Encodes a text. Takes O(n log n) for any n bytes. REQUIRES: text.size() <= kMaxTextBytes.
  virtual std::vector<TokenId> Encode(absl::string_view text, const EncodeOptions& options) const = 0;
  std::vector<TokenId> Encode(absl::string_view text) const { return Encode(text, EncodeOptions{}); }

  // Returns the bytes that a token represents, not always whole UTF-8 characters. Special tokens are empty unless `render_special`. Ids
  // outside the vocabulary are empty, since a model's output may be padded beyond the vocabulary.
  virtual std::string Piece(TokenId token, bool render_special) const = 0;
  std::string Piece(TokenId token) const { return Piece(token, false); }

  // Returns the bytes of the longest piece, including special tokens' pieces; at least 1. The first call walks over the vocabulary.
  int64_t LongestPiece() const;

  virtual int vocabulary_size() const = 0;
  virtual std::optional<TokenId> bos() const = 0;
  virtual std::optional<TokenId> eos() const = 0;
  virtual bool adds_bos() const = 0;           // A sequence of this model begins with BOS.
  virtual bool adds_space_prefix() const = 0;  // Encode puts a space in front of the text (TextStream removes the space again).
  // Returns true if Encode treats plain text behind this token, within a text, as the start of a text. Text that is encoded alone and comes
  // behind another token continues a text (encode_behind.h).
  virtual bool BeginsTextBehind(TokenId token) const { return IsSpecial(token); }

  virtual bool IsEnd(TokenId token) const = 0;      // Ends a text or a turn: EOS, <|im_end|>, <|eot_id|>, <end_of_turn>, ...
  virtual bool IsSpecial(TokenId token) const = 0;  // A control token or the unknown token: marks, not text.
  virtual std::optional<TokenId> FindSpecial(absl::string_view text) const = 0;  // Returns the special token with this text.

  // Returns the number of bytes, over all encoded texts, that had no token and were left out. Programs warn of such bytes.
  virtual int64_t lost_bytes() const { return 0; }

  // Returns the file's statements that the tokenizer does not follow, for programs to print; empty: none.
  virtual std::string warning() const = 0;

 private:
  mutable std::once_flag looked_for_longest_;
  mutable int64_t longest_ = 1;
};

}  // namespace tessera
