// Tokenizers: text comes back as it went in, whatever its bytes and whatever the vocabulary.
//
// An input's first byte chooses the vocabulary: one of a few that are known, or one that the next bytes spell. All that follows is
// the text.
#include <array>
#include <cstdio>
#include <iterator>
#include <set>

#include "glog/logging.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/read_tokenizer.h"
#include "tessera/model/text/internal/normal_form.h"
#include "tessera/model/text/internal/utf8.h"
#include "tessera/model/text/internal/word_rules.h"
#include "tessera/model/text/text_stream.h"
#include "tessera/tests/fakes/gguf_metadata.h"
#include "tessera/tests/fakes/small_vocabularies.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr const char* kPreTokenizers[] = {"gpt-2", "llama-bpe", "qwen2", "smollm"};
constexpr const char* kMorePreTokenizers[] = {"gpt-2", "llama-bpe", "qwen2", "smollm", "gpt-4o", "kimi-k2", "deepseek-llm", "deepseek-v3",
                                              "falcon", "bloom", "superbpe", "afmoe", "tiny_aya", "exaone-moe", "jais-2", "youtu"};
constexpr int kSentencePiece = 4, kSpelledBytePair = 6, kSpelledSentencePiece = 7, kKinds = 8;  // 5: with a space before.
constexpr absl::string_view kWrittenSpace = "\u2581";  // As SentencePiece writes a space; in a text it comes back as one.

struct Subject {
  std::unique_ptr<Tokenizer> tokenizer;
  bool sentence_piece = false;
  bool gives_back = true;   // No text is that of two tokens, of which a mark might hide a byte's.
  bool normalizes = false;  // To form C.
};

absl::StatusOr<std::unique_ptr<Tokenizer>> Open(const TokenizerMetadata& metadata) {
  GgufBuilder builder;
  AddTo(builder, metadata);
  const std::string bytes = builder.Build();
  const auto file = GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "vocabulary");
  CHECK(file.ok()) << file.status();
  return ReadTokenizer(**file);
}

const Subject& Known(int kind) {
  static const std::array<Subject, kSpelledBytePair>* known = [] {
    auto* subjects = new std::array<Subject, kSpelledBytePair>;
    for (int i = 0; i < kSpelledBytePair; ++i) {
      TokenizerMetadata metadata = i < kSentencePiece ? SmallBytePair() : SmallSentencePiece();
      if (i < kSentencePiece) metadata.Set("tokenizer.ggml.pre", TokenizerMetadata::String(kPreTokenizers[i]));
      if (i == kSentencePiece) metadata.Set("tokenizer.ggml.add_space_prefix", TokenizerMetadata::Bool(false));
      const bool normalizes = i < kSentencePiece && FindWordRule(kPreTokenizers[i])->normalizes;
      (*subjects)[i] = {*Open(metadata), i >= kSentencePiece, true, normalizes};
    }
    return subjects;
  }();
  return (*known)[kind];
}

// All 256 bytes as tokens, the space as SentencePiece writes it, then tokens and merges (or scores) that the input spells.
absl::StatusOr<Subject> Spelled(bool sentence_piece, FuzzBytes& bytes) {
  std::vector<std::string> tokens, merges;
  for (int byte = 0; byte < 256; ++byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte);
    tokens.push_back(sentence_piece ? text : ByteCharacter(static_cast<uint8_t>(byte)));
  }
  std::vector<int32_t> types(tokens.size(), sentence_piece ? 6 : 1);
  tokens.push_back(std::string(kWrittenSpace));
  types.push_back(1);
  std::vector<float> scores(tokens.size(), 0.0f);
  for (int left = bytes.Below(24); left > 0; --left) {
    const int kind = bytes.Below(8);
    types.push_back(kind >= 1 && kind <= 5 ? kind : 1);  // Any but a byte's.
    scores.push_back(static_cast<float>(bytes.Below(4)));
    if (!sentence_piece && kind >= 6) {  // Two tokens joined, and the merge of them.
      const std::string one = tokens[bytes.Below(256)], other = tokens[tokens.size() - 1 - bytes.Below(16)];
      tokens.push_back(one + other);
      merges.push_back(one + " " + other);
    } else {
      tokens.push_back(bytes.Text(8));
    }
  }
  TokenizerMetadata metadata;
  metadata.Set("tokenizer.ggml.model", TokenizerMetadata::String(sentence_piece ? "llama" : "gpt2"));
  const char* const rule = kMorePreTokenizers[bytes.Below(std::size(kMorePreTokenizers))];
  metadata.Set("tokenizer.ggml.pre", TokenizerMetadata::String(rule));
  metadata.Set("tokenizer.ggml.tokens", TokenizerMetadata::Strings(tokens));
  metadata.Set("tokenizer.ggml.token_type", TokenizerMetadata::Ints(types));
  metadata.Set("tokenizer.ggml.scores", TokenizerMetadata::Floats(scores));
  metadata.Set("tokenizer.ggml.merges", TokenizerMetadata::Strings(merges));
  metadata.Set("tokenizer.ggml.add_space_prefix", TokenizerMetadata::Bool(false));
  metadata.Set("tokenizer.ggml.bos_token_id", TokenizerMetadata::Uint(static_cast<uint32_t>(bytes.Below(256))));
  ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Open(metadata));
  const bool distinct = std::set<std::string>(tokens.begin(), tokens.end()).size() == tokens.size();
  return Subject{std::move(tokenizer), sentence_piece, distinct, !sentence_piece && FindWordRule(rule)->normalizes};
}

std::string TextOf(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
  std::string text;
  for (TokenId token : tokens) {
    CHECK(token >= 0 && token < tokenizer.vocabulary_size()) << token;
    text += tokenizer.Piece(token, /*render_special=*/true);
  }
  return text;
}

// A stream of the tokens shows valid text as it is.
void CheckStream(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens, absl::string_view text) {
  if (ValidUtf8Prefix(text) != text.size()) return;
  TextStream stream(&tokenizer, {.render_special = true});
  std::string shown;
  for (TokenId token : tokens) shown += stream.Append(token);
  CHECK_EQ(shown + stream.Finish(), text);
}

void CheckText(const Subject& subject, const std::string& text) {
  const Tokenizer& tokenizer = *subject.tokenizer;
  const std::vector<TokenId> plain = tokenizer.Encode(text), marked = tokenizer.Encode(text, {.parse_special = true});
  const std::vector<TextRange> literal = {{text.size() / 4, text.size() / 2}};
  const std::vector<TokenId> partly = tokenizer.Encode(text, {.parse_special = true, .literal = literal});
  for (TokenId token : plain) CHECK(!tokenizer.IsSpecial(token)) << token;
  const std::string texts[] = {TextOf(tokenizer, plain), TextOf(tokenizer, marked), TextOf(tokenizer, partly)};
  std::string composed;
  if (subject.normalizes && NormalFormC(text, composed) != text) return;
  if (!subject.gives_back || (subject.sentence_piece && text.find(kWrittenSpace.data()) != text.npos)) return;
  if (tokenizer.adds_space_prefix()) {  // One before each part between special tokens: only the first is not the text's.
    if (text.empty() || text.find("[x]") != text.npos) return;
    CHECK_EQ(texts[0], " " + text);
  } else {
    for (const std::string& back : texts) CHECK_EQ(back, text);
  }
  CheckStream(tokenizer, plain, text);
}

FuzzSeed SeedOf(const std::string& name, int kind, const std::string& bytes) {
  return {name, std::string(1, static_cast<char>(kind)) + bytes};
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  FuzzBytes bytes(input);
  const int kind = bytes.Below(kKinds);
  if (kind < kSpelledBytePair) {
    CheckText(Known(kind), bytes.Rest());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Subject spelled, Spelled(kind == kSpelledSentencePiece, bytes));
  CheckText(spelled, bytes.Rest());
  return absl::OkStatus();
}

std::vector<FuzzSeed> Seeds() {
  const std::string texts[] = {
      "", "hello hello, abc!", "I'll say we've 1234 \r\n\n  words\t ", "<|im_start|>user<|im_end|><ul><s>[x]</s>",
      "\xff\xc3(\xe2\x82\xf0\x9f\x99\x82 \xed\xa0\x80", "\u2581a \u4f60\u597d \u0e2a\u3000\u0085e\u0301", std::string(40, ' ') + "a",
      std::string("\0\1\x7f<0x0A>", 9)};
  std::vector<FuzzSeed> seeds;
  for (int kind = 0; kind < kKinds; ++kind) {
    for (const std::string& text : texts) {
      // Where the vocabulary is spelled: two tokens, the first a mark or a merge, and BOS.
      const std::string vocabulary = kind < kSpelledBytePair ? "" : std::string("\2\3\1\3<s>\6\1\2ab\0\7", 13);
      seeds.push_back(SeedOf("kind_" + std::to_string(kind) + "_" + std::to_string(seeds.size()), kind, vocabulary + text));
    }
  }
  // Two tokens: one without text, and the merge of a byte with it.
  seeds.push_back(SeedOf("merge_with_nothing", kSpelledBytePair, std::string("\2\1\0\0\6\0\5\0", 8)));
  return seeds;
}

}  // namespace tessera
