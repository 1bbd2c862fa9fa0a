// What a model file says about its tokenizer, as plain data. Tokenizer::Create makes a tokenizer from it, whatever the format of the file.
//
//   std::string texts;
//   for (const char* text : {"<unk>", "a", "b", "ab"}) AppendLengthPrefixed(text, texts);
//   TokenizerFacts facts;
//   facts.model.value = "llama";
//   facts.tokens.value = LengthPrefixedStrings(texts, 4);
//   facts.types.value = {2, 1, 1, 1};
//   facts.scores.value = {0, 0, 0, -1};
//   ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, Tokenizer::Create(std::move(facts)));
//
// Facts from a file (model/files/read_tokenizer.h) hold their place in it, so later errors name file, key, offset, what was found and what
// was expected. Texts are views of the file, since a vocabulary may hold a quarter of a million: the file must outlive the facts.
// Tokenizer::Create decides which facts a kind of tokenizer needs; a fact that is absent, or of the wrong type, is an error only if the
// kind needs it. Thread-safe (plain data).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tessera/base/length_prefixed_strings.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Where a file says something, for messages.
struct FactPlace {
  absl::string_view key = "";  // Its name there. `key` and `file` must outlive the fact.
  absl::string_view file = "";  // The file's path; empty: there is no file.
  int64_t offset = -1;          // Byte offset of the value in the file; -1: it is not in the file.
};

template <typename T>
struct FileFact {
  FactPlace place = {};
  std::optional<T> value = std::nullopt;      // None: the file does not say.
  absl::Status problem = absl::OkStatus();    // The error if the file's value is not a T; there is no value then.
};

// The keys are those of GGUF files.
struct TokenizerFacts {
  FileFact<absl::string_view> model = {{"tokenizer.ggml.model"}};       // The kind of tokenizer: "gpt2" or "llama".
  FileFact<absl::string_view> pre_tokenizer = {{"tokenizer.ggml.pre"}};  // How words are cut, for gpt2.

  // One for each token, in order of ids.
  FileFact<LengthPrefixedStrings> tokens = {{"tokenizer.ggml.tokens"}};
  // 1: normal, 2: unknown, 3: control, 4: user-defined, 5: unused, 6: a byte, 0: not said. Absent: all are normal.
  FileFact<std::vector<int32_t>> types = {{"tokenizer.ggml.token_type"}};
  FileFact<std::vector<float>> scores = {{"tokenizer.ggml.scores"}};     // For llama: the best merges first.

  // For gpt2: "left right", in the order in which they merge.
  FileFact<LengthPrefixedStrings> merges = {{"tokenizer.ggml.merges"}};

  // Ids with a role.
  FileFact<uint64_t> bos = {{"tokenizer.ggml.bos_token_id"}};
  FileFact<uint64_t> eos = {{"tokenizer.ggml.eos_token_id"}};
  FileFact<uint64_t> unknown = {{"tokenizer.ggml.unknown_token_id"}};
  // Tokens that end a text as EOS does: the end of a turn and of a message, and what parts files and lays out prompts for filling in the
  // middle. Older files have the last three.
  std::array<FileFact<uint64_t>, 11> ends = {{
      {{"tokenizer.ggml.eot_token_id"}},     {{"tokenizer.ggml.eom_token_id"}},     {{"tokenizer.ggml.fim_pre_token_id"}},
      {{"tokenizer.ggml.fim_suf_token_id"}}, {{"tokenizer.ggml.fim_mid_token_id"}}, {{"tokenizer.ggml.fim_pad_token_id"}},
      {{"tokenizer.ggml.fim_rep_token_id"}}, {{"tokenizer.ggml.fim_sep_token_id"}}, {{"tokenizer.ggml.prefix_token_id"}},
      {{"tokenizer.ggml.suffix_token_id"}},  {{"tokenizer.ggml.middle_token_id"}}}};

  FileFact<std::vector<int32_t>> more_ends = {{"tokenizer.ggml.eos_token_ids"}};  // All of them, as some converters list them.

  // The program that writes conversations: marks that it writes are tokens, whatever type they have.
  FileFact<absl::string_view> chat_template = {{"tokenizer.chat_template"}};

  FileFact<bool> add_bos = {{"tokenizer.ggml.add_bos_token"}};
  FileFact<bool> add_space_prefix = {{"tokenizer.ggml.add_space_prefix"}};
};

// A chat model's own template, a program that writes conversations, for ChatTemplate::FromSource.
struct ChatTemplateFacts {
  FileFact<absl::string_view> source = {{"tokenizer.chat_template"}};
  std::string only_others = {};  // Where there is none, for messages: " for dialogues (only "rag")" tells what other templates there are.
};

}  // namespace tessera
