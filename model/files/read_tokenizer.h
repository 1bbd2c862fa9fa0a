// The tokenizer and the chat template of a GGUF file.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, ReadTokenizer(*file));
//   ASSIGN_OR_RETURN(ChatTemplate chat, ReadChatTemplate(*file));
//
// model/text knows no files: it needs facts, which are read here. Errors are those of Tokenizer::Create and ChatTemplate::FromSource:
// InvalidArgument or NotFound with file, key, offset, the value found and the value expected. Neither result keeps a reference to the file.
// Thread-safe (pure functions).
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizer(const GgufFile& file);
// OK for a model, and for a vocabulary alone; InvalidArgument with what the file is for an adapter, a tower for images, ... For programs
// that read nothing but a tokenizer.
absl::Status CheckHasVocabulary(const GgufFile& file);

// A file may have several templates: "tokenizer.chat_template", or else "tokenizer.chat_template.default", is for dialogues;
// "tokenizer.chat_template.tool_use", if it is there, for dialogues with tools. Those of other names are for other purposes, and not read.
absl::StatusOr<ChatTemplate> ReadChatTemplate(const GgufFile& file, bool with_tools = false);
bool HasChatTemplate(const GgufFile& file, bool with_tools = false);
// What a file has none of, as messages tell it: "chat template", or, where it has others, such as "chat template for dialogues (only
// "rag")".
std::string MissingChatTemplate(const GgufFile& file);

// What the file says; only types are checked. The facts view the file, which must outlive them.
TokenizerFacts TokenizerFactsOf(const GgufFile& file);
ChatTemplateFacts ChatTemplateFactsOf(const GgufFile& file, bool with_tools = false);

}  // namespace tessera
