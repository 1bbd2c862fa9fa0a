// Models whose tokenizer contradicts the file: lists that disagree, ids outside the vocabulary, merges of nothing.
//
// Spoiled are tiny models with a byte-level vocabulary of 265 tokens ("gpt2"), or a SentencePiece-style one of 271 ("llama").
#pragma once

#include <cmath>

#include "tessera/model/text/internal/word_rules.h"
#include "tessera/tests/fakes/bad_files/spoiled.h"
#include "tessera/tests/fakes/gguf_metadata.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {

// Replaces the value of "tokenizer.ggml.<key>", which must exist.
inline std::function<void(GgufBuilder&)> Replace(const std::string& key, const TokenizerMetadata::Value& value) {
  return [=](GgufBuilder& b) { AddTo(b.Remove("tokenizer.ggml." + key), "tokenizer.ggml." + key, value); };
}
inline std::function<void(GgufBuilder&)> PutToken(const std::string& key, const TokenizerMetadata::Value& value) {
  return [=](GgufBuilder& b) { AddTo(b, "tokenizer.ggml." + key, value); };
}
inline std::function<void(GgufBuilder&)> WithoutToken(const std::string& key) {
  return [=](GgufBuilder& b) { b.Remove("tokenizer.ggml." + key); };
}

inline std::string NoRule() {
  return "tokenizer.ggml.pre: found none, and these 6 merges are of no vocabulary that is known, expected the name of the rule that cuts "
         "words, one of " + WordRuleNames() + ". Convert the model again, or add the key, as llama.cpp's gguf_new_metadata.py does";
}

inline std::vector<Spoiled> BadTokens() {
  using M = TokenizerMetadata;
  const auto types = [](int id, int32_t type) {
    std::vector<int32_t> all(265, 1);
    all[id] = type;
    return M::Ints(all);
  };
  return {
      {"tokenizer-missing", WithoutToken("model"), "metadata \"tokenizer.ggml.model\": found no such key"},
      {"tokenizer-unknown", Replace("model", M::String("bert")),
       "metadata \"tokenizer.ggml.model\" value at byte 4466: found \"bert\", expected gpt2 or llama"},
      {"tokenizer-number", Replace("model", M::Uint(1)),
       "metadata \"tokenizer.ggml.model\" value at byte 4466: found UINT32 1, expected STRING"},
      {"pre-tokenizer-unknown", Replace("pre", M::String("poro")),
       "metadata \"tokenizer.ggml.pre\" value at byte 4465: found \"poro\", expected one of " + WordRuleNames()},
      {"pre-tokenizer-missing", WithoutToken("pre"), NoRule()},
      {"tokens-missing", WithoutToken("tokens"), "metadata \"tokenizer.ggml.tokens\": found no such key"},
      {"tokens-none", Replace("tokens", M::Strings({})),
       "metadata \"tokenizer.ggml.tokens\" value at byte 1892: found 0 entries, expected 1 to 2^31 - 1"},
      {"tokens-numbers", Replace("tokens", M::Ints({1, 2, 3})),
       "metadata \"tokenizer.ggml.tokens\" value at byte 1892: found an array of 3 INT32, expected an array of STRING"},
      {"tokens-one-string", Replace("tokens", M::String("abc")),
       "metadata \"tokenizer.ggml.tokens\" value at byte 1880: found STRING \"abc\", expected an array of STRING"},
      {"tokens-more-than-rows", Replace("tokens", M::Strings(std::vector<std::string>(266, "a"))),
       "metadata \"tokenizer.ggml.tokens\" value at byte 1892: found 266 entries, "
       "expected at most 265, the rows of token_embd.weight"},
      {"token-types-too-few", Replace("token_type", M::Ints({1, 1})),
       "metadata \"tokenizer.ggml.token_type\" value at byte 3418: found 2 entries, "
       "expected 265, as many as tokenizer.ggml.tokens"},
      {"token-types-floats", Replace("token_type", M::Floats(std::vector<float>(265, 1))),
       "metadata \"tokenizer.ggml.token_type\" value at byte 3418: found an array of 265 FLOAT32, "
       "expected an array of INT32 or UINT32"},
      {"token-type-7", Replace("token_type", types(4, 7)),
       "metadata \"tokenizer.ggml.token_type\" value[4] at byte 3434: found 7, expected 0 to 6"},
      {"token-type-negative", Replace("token_type", types(264, -1)),
       "metadata \"tokenizer.ggml.token_type\" value[264] at byte 4474: found -1, expected 0 to 6"},
  };
}

inline std::vector<Spoiled> BadMerges() {
  using M = TokenizerMetadata;
  const auto merges = [](const std::string& merge) { return Replace("merges", M::Strings({"h e", merge})); };
  return {
      {"merges-missing", WithoutToken("merges"), "metadata \"tokenizer.ggml.merges\": found no such key"},
      {"merges-numbers", Replace("merges", M::Ints({1, 2})),
       "metadata \"tokenizer.ggml.merges\" value at byte 4402: found an array of 2 INT32, expected an array of STRING"},
      {"merge-unknown-left", merges("zz e"),
       "metadata \"tokenizer.ggml.merges\" value[1] at byte 4413: found \"zz e\", "
       "expected two texts with a space between, whose joined text is a token"},
      {"merge-unknown-right", merges("h zz"),
       "metadata \"tokenizer.ggml.merges\" value[1] at byte 4413: found \"h zz\", "
       "expected two texts with a space between, whose joined text is a token"},
      {"merge-unknown-result", merges("h x"),
       "metadata \"tokenizer.ggml.merges\" value[1] at byte 4413: found \"h x\", "
       "expected two texts with a space between, whose joined text is a token"},
      {"merge-one-token", merges("hello"),
       "metadata \"tokenizer.ggml.merges\" value[1] at byte 4413: found \"hello\", "
       "expected two texts with a space between, whose joined text is a token"},
      {"merge-empty", merges(""),
       "metadata \"tokenizer.ggml.merges\" value[1] at byte 4413: found \"\", "
       "expected two texts with a space between, whose joined text is a token"},
      {"merge-two-spaces", merges("h  e"),
       "metadata \"tokenizer.ggml.merges\" value[1] at byte 4413: found \"h  e\", "
       "expected two texts with a space between, whose joined text is a token"},
      {"merge-control-characters", merges("\x1b[2J \xff"),
       "metadata \"tokenizer.ggml.merges\" value[1] at byte 4413: found \"\\x1b[2J \\xff\", "
       "expected two texts with a space between, whose joined text is a token"},
  };
}

inline std::vector<Spoiled> BadRoles() {
  using M = TokenizerMetadata;
  return {
      {"bos-outside", Replace("bos_token_id", M::Uint(265)),
       "metadata \"tokenizer.ggml.bos_token_id\" value at byte 4474: found 265, "
       "expected an id below the 265 entries of tokenizer.ggml.tokens"},
      {"bos-largest", Replace("bos_token_id", M::Uint(0xffffffff)),
       "metadata \"tokenizer.ggml.bos_token_id\" value at byte 4474: found 4294967295, "
       "expected an id below the 265 entries of tokenizer.ggml.tokens"},
      {"bos-string", Replace("bos_token_id", M::String("<s>")),
       "metadata \"tokenizer.ggml.bos_token_id\" value at byte 4474: found STRING \"<s>\", expected an integer of 0 or more"},
      {"eos-outside", Replace("eos_token_id", M::Uint(265)),
       "metadata \"tokenizer.ggml.eos_token_id\" value at byte 4474: found 265, "
       "expected an id below the 265 entries of tokenizer.ggml.tokens"},
      {"unknown-outside", PutToken("unknown_token_id", M::Uint(265)),
       "metadata \"tokenizer.ggml.unknown_token_id\" value at byte 4521: found 265, "
       "expected an id below the 265 entries of tokenizer.ggml.tokens"},
      {"end-of-turn-outside", PutToken("eot_token_id", M::Uint(265)),
       "metadata \"tokenizer.ggml.eot_token_id\" value at byte 4517: found 265, "
       "expected an id below the 265 entries of tokenizer.ggml.tokens"},
      {"end-of-message-outside", PutToken("eom_token_id", M::Uint(265)),
       "metadata \"tokenizer.ggml.eom_token_id\" value at byte 4517: found 265, "
       "expected an id below the 265 entries of tokenizer.ggml.tokens"},
      {"add-bos-without-bos",
       [](GgufBuilder& b) { b.Remove("tokenizer.ggml.bos_token_id").Number("tokenizer.ggml.add_bos_token", true); },
       "tokenizer.ggml.bos_token_id: found none, expected a token, since tokenizer.ggml.add_bos_token is true"},
      {"add-bos-number", PutToken("add_bos_token", M::Uint(1)),
       "metadata \"tokenizer.ggml.add_bos_token\" value at byte 4518: found UINT32 1, expected BOOL"},
  };
}

// A tiny model with the other kind of vocabulary.
inline GgufBuilder SentencePieceModel() {
  GgufBuilder builder = TinyModelBuilder({});
  for (const char* key : {"model", "pre", "tokens", "token_type", "merges", "bos_token_id", "eos_token_id"}) {
    builder.Remove(absl::StrCat("tokenizer.ggml.", key));
  }
  AddTo(builder, SmallSentencePiece());
  // As many rows as tokens.
  builder.RemoveTensor("token_embd.weight").RemoveTensor("output.weight");
  return builder.Tensor("token_embd.weight", {64, 271}, 0, std::string(64 * 271 * 4, '\0'));
}

inline std::vector<Spoiled> BadSentencePieces() {
  using M = TokenizerMetadata;
  std::vector<float> nan_score(271, 0);
  nan_score[7] = std::nanf("");
  std::vector<int32_t> letter_is_byte(271, 1), long_mark(271, 1);
  letter_is_byte[260] = 6;
  long_mark[0] = 4;
  return {
      {"scores-missing", WithoutToken("scores"), "metadata \"tokenizer.ggml.scores\": found no such key"},
      {"scores-too-few", Replace("scores", M::Floats({0})),
       "metadata \"tokenizer.ggml.scores\" value at byte 5450: found 1 entries, expected 271, as many as tokenizer.ggml.tokens"},
      {"scores-integers", Replace("scores", M::Ints(std::vector<int32_t>(271, 0))),
       "metadata \"tokenizer.ggml.scores\" value at byte 5450: found an array of 271 INT32, expected an array of FLOAT32"},
      {"score-nan", Replace("scores", M::Floats(nan_score)),
       "metadata \"tokenizer.ggml.scores\" value[7] at byte 5478: found NaN, expected a number"},
      {"byte-token-is-a-letter", Replace("token_type", M::Ints(letter_is_byte)),
       "metadata \"tokenizer.ggml.tokens\" value[260] at byte 5294: found \"a\", "
       "expected <0x00> to <0xFF>, since token_type says it is a byte"},
      {"bytes-without-tokens", [](GgufBuilder& b) {
         Replace("token_type", M::Ints(std::vector<int32_t>(271, 1)))(b);
         Replace("tokens", M::Strings(std::vector<std::string>(271, "a")))(b);
       }, "tokenizer.ggml.tokens: found no <0x00>, expected a token for each byte, or an unknown token"},
      {"mark-of-2-20-bytes", [=](GgufBuilder& b) {
         Replace("token_type", M::Ints(long_mark))(b);
         std::vector<std::string> tokens(271, "a");
         tokens[0] = std::string(1 << 20, 'x');
         Replace("tokens", M::Strings(tokens))(b);
       }, "metadata \"tokenizer.ggml.tokens\" value[0] at byte 2796: found 1048576 bytes, "
          "expected at most 1024 of a token of type 4"},
      {"space-prefix-number", PutToken("add_space_prefix", M::Uint(1)),
       "metadata \"tokenizer.ggml.add_space_prefix\" value at byte 6577: found UINT32 1, expected BOOL"},
  };
}

inline void AddBadVocabularies(std::vector<BadFile>& files) {
  for (const auto& table : {BadTokens(), BadMerges(), BadRoles()}) AddSpoiled(TinyModelBuilder({}), table, files);
  AddSpoiled(SentencePieceModel(), BadSentencePieces(), files);
}

}  // namespace tessera
