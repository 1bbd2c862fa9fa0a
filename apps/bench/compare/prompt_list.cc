#include "tessera/apps/bench/compare/prompt_list.h"

#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/cli/flags/chat_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/text/byte_order_mark.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/base/json.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/request.h"

namespace tessera {
namespace {

absl::StatusOr<std::string> ReadInput() {
  LineReader lines;
  RETURN_IF_ERROR(lines.EditLines());
  return lines.Rest();
}

absl::StatusOr<std::vector<TokenId>> TokensOf(const std::string& text, const std::string& source, Conversation& conversation,
                                              const Engine& engine) {
  if (absl::StartsWith(text, "{")) {
    // An object has all settings itself.
    for (const auto& [flag, given] : {std::pair("raw", FLAGS_raw), std::pair("system", IsGiven("system"))}) {
      if (given) return WrongUsage(flag, absl::StrCat("beside an object (", source, ")"), "prompts that are texts");
    }
    ASSIGN_OR_RETURN(const JsonValue request, JsonValue::Parse(text, source, {.max_bytes = kLargestPrompt}));
    ASSIGN_OR_RETURN(const ConversationOptions chat, ConversationOptionsOfFlags());
    return PromptTokens(request, engine, chat);
  }
  conversation.Reset();
  conversation.AddUser(text);
  return conversation.Tokens(engine.tokenizer());
}

}  // namespace

absl::StatusOr<PromptList> PromptList::FromFlags() {
  RETURN_IF_ERROR(CheckConversationFlags());
  if (FLAGS_prompts.empty() && isatty(STDIN_FILENO) == 1) {
    return WrongUsage("prompts", "none", "--prompts=FILE, or prompts on standard input");
  }
  const bool is_input = FLAGS_prompts.empty() || IsStandardInput(FLAGS_prompts);
  PromptList list;
  list.source_ = is_input ? "standard input" : FLAGS_prompts;
  absl::StatusOr<std::string> all = is_input ? ReadInput() : ReadTextFile(FLAGS_prompts, kLargestPrompt);
  RETURN_IF_ERROR(all.status());
  RETURN_IF_ERROR(DropByteOrderMark(list.source_, &*all));
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(*all, '\n')) {
    ++number;
    line = absl::StripTrailingAsciiWhitespace(line);
    if (!line.empty()) list.lines_.push_back({number, std::string(line)});
  }
  if (list.lines_.empty())
    return ForField("prompts", absl::InvalidArgumentError(absl::StrCat(list.source_, ": found no prompt, expected one per line")));
  return list;
}

absl::StatusOr<std::vector<std::vector<TokenId>>> PromptList::Tokens(const Engine& engine) const {
  ASSIGN_OR_RETURN(Conversation conversation, ConversationOfFlags(engine.model().gguf()));
  std::vector<std::vector<TokenId>> tokens;
  for (const Line& line : lines_) {
    ASSIGN_OR_RETURN(std::vector<TokenId> of_line,
                     TokensOf(line.text, absl::StrCat(source_, ", line ", line.number), conversation, engine));
    tokens.push_back(std::move(of_line));
  }
  return tokens;
}

}  // namespace tessera
