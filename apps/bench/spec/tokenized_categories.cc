#include "tessera/apps/bench/spec/tokenized_categories.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/warnings.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::StatusOr<std::vector<TokenizedCategory>> DialoguesOf(const Engine& engine, const std::vector<PromptCategory>& categories, int most,
                                                    absl::string_view why) {
  ASSIGN_OR_RETURN(Conversation conversation, ConversationOfFlags(engine.model().gguf()));
  std::vector<TokenizedCategory> dialogues;
  for (const PromptCategory& category : categories) {
    TokenizedCategory tokenized = {.name = category.name};
    for (const std::string& prompt : category.prompts) {
      conversation.Reset();
      conversation.AddUser(prompt);
      ASSIGN_OR_RETURN(std::vector<TokenId> tokens, conversation.Tokens(engine.tokenizer()));
      if (static_cast<int64_t>(tokens.size()) > most) tokenized.left_out += 1;
      else tokenized.prompts.push_back(std::move(tokens));
    }
    if (tokenized.prompts.empty()) {
      WarnOnce(absl::StrCat("--categories: ", category.name, " is left out: all its prompts have more than ", most, " tokens, so ", why));
    } else {
      dialogues.push_back(std::move(tokenized));
    }
  }
  return dialogues;
}

}  // namespace tessera
