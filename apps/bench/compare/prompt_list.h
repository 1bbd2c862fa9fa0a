// The prompts of a file (--prompts), one per line: a text, or a JSON object in the form of tessera_logits --jsonl.
//
//   ASSIGN_OR_RETURN(const PromptList prompts, PromptList::FromFlags());
//   ASSIGN_OR_RETURN(const std::vector<std::vector<TokenId>> tokens, prompts.Tokens(*engine));
//
// A text becomes a dialogue's first message, by --raw, --system and --chat_template. An object's text or tokens are used unchanged. Empty
// lines are skipped. Thread-compatible.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/token.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

class PromptList {
 public:
  // Reads the file of --prompts, or standard input if --prompts names no file. WrongUsage (prompts) if standard input is a terminal, or if
  // there is no prompt.
  static absl::StatusOr<PromptList> FromFlags();

  // Returns the tokens of each prompt. Errors name the file, the line and the field.
  absl::StatusOr<std::vector<std::vector<TokenId>>> Tokens(const Engine& engine) const;

 private:
  struct Line {
    int64_t number;    // From 1 on, like line numbers in editors.
    std::string text;
  };
  std::string source_;
  std::vector<Line> lines_;
};

}  // namespace tessera
