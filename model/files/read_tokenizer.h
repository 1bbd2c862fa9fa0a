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

#include "absl/status/statusor.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/text/chat_template.h"
#include "tessera/model/text/tokenizer.h"
#include "tessera/model/text/tokenizer_facts.h"

namespace tessera {

absl::StatusOr<std::unique_ptr<Tokenizer>> ReadTokenizer(const GgufFile& file);
absl::StatusOr<ChatTemplate> ReadChatTemplate(const GgufFile& file);

// What the file says; only types are checked. The facts view the file, which must outlive them.
TokenizerFacts TokenizerFactsOf(const GgufFile& file);
ChatTemplateFacts ChatTemplateFactsOf(const GgufFile& file);

}  // namespace tessera
