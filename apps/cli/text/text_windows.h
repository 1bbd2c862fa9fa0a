// Cuts a text into windows of tokens, each computed from an empty cache: --window and --max_windows.
//
//   RETURN_IF_ERROR(CheckWindowFlags());
//   ASSIGN_OR_RETURN(const TextWindows windows, WindowsOf(engine.tokenizer(), text));
//
// Windows are whole, and begin with BOS where the model asks for BOS. Thread-safe while nobody sets flags.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/token.h"
#include "tessera/model/text/tokenizer.h"

namespace tessera {

using TextWindows = std::vector<std::vector<TokenId>>;

// Checks the flags. WrongUsage of a flag that is out of range.
absl::Status CheckWindowFlags();

// Returns at least one window. InvalidArgument (tokens found and expected) if the text is shorter than a window.
absl::StatusOr<TextWindows> WindowsOf(const Tokenizer& tokenizer, const std::string& text);

}  // namespace tessera
