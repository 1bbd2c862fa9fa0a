// The facts in a model file about the model's tokenizer, as plain data. Tokenizer::Create makes a tokenizer from these facts, for any file
// format.
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
// Facts from a file (model/files/read_tokenizer.h) hold their place in the file, so later errors name file, key, offset, found and
// expected.
//
// Lifetime: texts are views of the file, since a vocabulary may hold a quarter of a million texts. The file must outlive the facts.
//
// Errors: Tokenizer::Create decides which facts a kind of tokenizer needs. An absent fact, or a fact of the wrong type, is an error only if
// the kind needs the fact.
//
// Threads: thread-safe (plain data).
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

// The place of a fact in a file, for messages.
struct FactPlace {
  absl::string_view key = "";  // The fact's name in the file. `key` and `file` must outlive the fact.
  absl::string_view file = "";  // The file's path; empty: no file.
  int64_t offset = -1;          // Byte offset of the value in the file; -1: not in the file.
};

template <typename T>
struct FileFact {
  FactPlace place = {};
  std::optional<T> value = std::nullopt;      // nullopt: the file has no value.
  absl::Status problem = absl::OkStatus();    // The error if the file's value is not a T; there is no value then.
};

// The tokenizer of a model file. Keys are GGUF keys.
struct TokenizerFacts {
  FileFact<absl::string_view> model = {{"tokenizer.ggml.model"}};       // The kind of tokenizer: "gpt2" or "llama".
  FileFact<absl::string_view> pre_tokenizer = {{"tokenizer.ggml.pre"}};  // The way to cut words, for gpt2.

  // One per token, in order of ids.
  FileFact<LengthPrefixedStrings> tokens = {{"tokenizer.ggml.tokens"}};
  // 1: normal, 2: unknown, 3: control, 4: user-defined, 5: unused, 6: a byte, 0: not said. Absent: all are normal.
  FileFact<std::vector<int32_t>> types = {{"tokenizer.ggml.token_type"}};
  FileFact<std::vector<float>> scores = {{"tokenizer.ggml.scores"}};     // For llama: the best merges first.

  // For gpt2: "left right", in the order of merging.
  FileFact<LengthPrefixedStrings> merges = {{"tokenizer.ggml.merges"}};

  // Ids with a role.
  FileFact<uint64_t> bos = {{"tokenizer.ggml.bos_token_id"}};
  FileFact<uint64_t> eos = {{"tokenizer.ggml.eos_token_id"}};
  FileFact<uint64_t> unknown = {{"tokenizer.ggml.unknown_token_id"}};
  // Tokens that end a text as EOS does: the end of a turn, the end of a message, and the tokens that separate files and lay out prompts for
  // filling in the middle. Older files have the last three.
  std::array<FileFact<uint64_t>, 11> ends = {{
      {{"tokenizer.ggml.eot_token_id"}},     {{"tokenizer.ggml.eom_token_id"}},     {{"tokenizer.ggml.fim_pre_token_id"}},
      {{"tokenizer.ggml.fim_suf_token_id"}}, {{"tokenizer.ggml.fim_mid_token_id"}}, {{"tokenizer.ggml.fim_pad_token_id"}},
      {{"tokenizer.ggml.fim_rep_token_id"}}, {{"tokenizer.ggml.fim_sep_token_id"}}, {{"tokenizer.ggml.prefix_token_id"}},
      {{"tokenizer.ggml.suffix_token_id"}},  {{"tokenizer.ggml.middle_token_id"}}}};

  FileFact<std::vector<int32_t>> more_ends = {{"tokenizer.ggml.eos_token_ids"}};  // All EOS tokens, as some converters list them.

  // The program that writes conversations. Marks in the program are tokens, regardless of their type.
  FileFact<absl::string_view> chat_template = {{"tokenizer.chat_template"}};

  FileFact<bool> add_bos = {{"tokenizer.ggml.add_bos_token"}};
  FileFact<bool> add_space_prefix = {{"tokenizer.ggml.add_space_prefix"}};
};

// A chat model's own template, a program that writes conversations, for ChatTemplate::FromSource.
struct ChatTemplateFacts {
  FileFact<absl::string_view> source = {{"tokenizer.chat_template"}};
  std::string only_others = {};  // If there is no template, for messages: " for dialogues (only "rag")" names the other templates.
};

}  // namespace tessera
