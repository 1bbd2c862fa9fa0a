// The prompts of a file (--prompts), one per line: a text, or a JSON object as tessera_logits --jsonl takes it.
//
//   ASSIGN_OR_RETURN(const PromptList prompts, PromptList::FromFlags());
//   ASSIGN_OR_RETURN(const std::vector<std::vector<TokenId>> tokens, prompts.Tokens(*engine));
//
// A text gets the form of a dialogue's first message, as --raw, --system and --chat_template say; an object's text or tokens are
// taken as they are. Empty lines are skipped. Thread-compatible.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/token.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

class PromptList {
 public:
  // The prompts of standard input if --prompts names no file. WrongUsage (prompts) if that is a terminal, or if
  // there is no prompt.
  static absl::StatusOr<PromptList> FromFlags();

  // Errors name the file, the line and the field.
  absl::StatusOr<std::vector<std::vector<TokenId>>> Tokens(const Engine& engine) const;

 private:
  struct Line {
    int64_t number;    // From 1 on, as editors count.
    std::string text;
  };
  std::string source_;
  std::vector<Line> lines_;
};

}  // namespace tessera
