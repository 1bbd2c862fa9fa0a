// Reads the tokenizer and the chat template of a GGUF file.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, ReadTokenizer(*file));
//   ASSIGN_OR_RETURN(ChatTemplate chat, ReadChatTemplate(*file));
//
// model/text knows no files: facts for model/text are read here. Errors: the errors of Tokenizer::Create and ChatTemplate::FromSource,
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
// Returns OK for a model, and for a vocabulary alone. Returns InvalidArgument, with the kind of file, for an adapter, a tower for images,
// ... For programs that read only a tokenizer.
absl::Status CheckHasVocabulary(const GgufFile& file);

// Reads a chat template. A file may have several. "tokenizer.chat_template", or else "tokenizer.chat_template.default", is for dialogues.
// "tokenizer.chat_template.tool_use", if present, is for dialogues with tools. Templates of other names are for other purposes, and not
// read.
absl::StatusOr<ChatTemplate> ReadChatTemplate(const GgufFile& file, bool with_tools = false);
bool HasChatTemplate(const GgufFile& file, bool with_tools = false);
// Returns the missing thing for messages: "chat template", or "chat template for dialogues (only "rag")" if the file has other templates,
// such as "rag".
std::string MissingChatTemplate(const GgufFile& file);

// Returns the file's facts; only types are checked. The facts view the file, which must outlive the facts.
TokenizerFacts TokenizerFactsOf(const GgufFile& file);
ChatTemplateFacts ChatTemplateFactsOf(const GgufFile& file, bool with_tools = false);

}  // namespace tessera
