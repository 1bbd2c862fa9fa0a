// What a model file says of its tokenizer, as plain data: what Tokenizer::Create is made from, whatever the format of the file.
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
// Facts that a reader of files fills (model/files/read_tokenizer.h) know their place, so an error that is found later names file,
// key, offset, what was found and what was expected. Texts are views of the file, since a vocabulary may hold a quarter of a
// million: the file must outlive the facts. Not known here: which facts a kind of tokenizer needs. Tokenizer::Create decides that, so
// a fact that is absent, or of the wrong type, is an error only where a kind needs it. Thread-safe (plain data).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tessera/base/length_prefixed_strings.h"
#include "tessera/base/cpp20.h"

namespace tessera {

// Where a file says something, for messages.
struct FactPlace {
  absl::string_view key = "";   // Its name there. Must outlive the fact, as `file` must.
  absl::string_view file = "";  // The file's path; empty: of no file.
  int64_t offset = -1;          // Of the value in the file, in bytes; -1: the file does not say it.
};

template <typename T>
struct FileFact {
  FactPlace place = {};
  std::optional<T> value = std::nullopt;      // None: not said.
  absl::Status problem = absl::OkStatus();    // What is wrong where the file says something that is no T; there is no value then.
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
  FileFact<uint64_t> turn_end = {{"tokenizer.ggml.eot_token_id"}};
  FileFact<uint64_t> message_end = {{"tokenizer.ggml.eom_token_id"}};

  FileFact<bool> add_bos = {{"tokenizer.ggml.add_bos_token"}};
  FileFact<bool> add_space_prefix = {{"tokenizer.ggml.add_space_prefix"}};
};

// A chat model's own template, a program that writes conversations: for ChatTemplate::FromSource.
struct ChatTemplateFacts {
  FileFact<absl::string_view> source = {{"tokenizer.chat_template"}};
};

}  // namespace tessera
