// Cuts a template into tokens: the template's own text, and the words between {{ }} and {% %}.
//
//   ASSIGN_OR_RETURN(const std::vector<Token> tokens, Tokenize("{% if x %}yes{% endif %}"));
//
// Removes white space around blocks with the package transformers' settings of Jinja: trim_blocks and lstrip_blocks are on, one line break
// at the end of the template is dropped, line breaks become \n. Errors name the line. Thread-safe (pure functions).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/model/text/jinja/value.h"

namespace tessera::jinja {

struct Token {
  enum class Kind { kData, kPrintBegin, kPrintEnd, kBlockBegin, kBlockEnd, kName, kString, kNumber, kOperator, kEnd };
  Kind kind;
  int line;
  std::string text = {};  // Data; a name; a string's content; an operator.
  Value number = {};
};

// REQUIRES: the source is UTF-8.
absl::StatusOr<std::vector<Token>> Tokenize(absl::string_view source);

}  // namespace tessera::jinja
