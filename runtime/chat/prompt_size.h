// Refuses a prompt that cannot fit into the context as early as possible: by its bytes, before they are encoded, and by its tokens, before
// weights are loaded.
//
//   RETURN_IF_ERROR(CheckBytesFit(text, engine->tokenizer(), engine->context()));
//   RETURN_IF_ERROR(CheckTokensFit(tokens.size(), engine->context()));
//
// ResourceExhausted with what was found and what expected, limited by `context` (base/usage_error.h). Thread-safe.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {

// Refuses only a text that takes more than `context` tokens even if each is the longest of the vocabulary.
absl::Status CheckBytesFit(absl::string_view text, const Tokenizer& tokenizer, int context);

// InvalidArgument for no tokens.
absl::Status CheckTokensFit(size_t tokens, int context);

}  // namespace tessera
