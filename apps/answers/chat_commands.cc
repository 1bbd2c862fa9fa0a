#include "tessera/apps/answers/chat_commands.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tessera/apps/answers/written_result.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/screen/terminal.h"
#include "tessera/apps/cli/text/saved_dialogue.h"
#include "tessera/base/nearest_name.h"
#include "tessera/base/quoted.h"
#include "tessera/base/same_file.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/chat/chat_settings.h"

namespace tessera {
namespace {

using Step = absl::StatusOr<ChatStep>;

struct ChatCommand {
  const char *name, *arguments, *text;
  Step (*run)(const std::string& argument, ChatState& state);
};
Step Help(const std::string& argument, ChatState& state);

absl::Status CheckNone(const char* command, const std::string& argument) {
  return argument.empty() ? absl::OkStatus() : WrongUsage(command, Quoted(argument), "nothing behind it");
}

Step System(const std::string& argument, ChatState& state) {
  if (!argument.empty()) {
    RETURN_IF_ERROR(state.conversation.SetSystem(argument));
    WriteNote("The system message is set; the dialogue goes on.");
    return ChatStep::kMessage;
  }
  const std::vector<ChatMessage>& messages = state.conversation.messages();
  const bool has_system = !messages.empty() && messages[0].role == "system";
  WriteNote(has_system ? absl::StrCat("system message: ", messages[0].content)
                       : "There is no system message but the chat template's own.");
  return ChatStep::kMessage;
}

Step Set(const std::string& argument, ChatState& state) {
  const std::vector<std::string> words = absl::StrSplit(argument, absl::ByAnyChar(" \t="), absl::SkipEmpty());
  if (words.size() == 1 || words.size() > 2) return WrongUsage("/set", Quoted(argument), "a name and a value, or nothing");
  if (words.size() == 2) RETURN_IF_ERROR(SetChatSetting(words[0], words[1], state.sampling, state.max_tokens));
  WriteNote(ChatSettingsText(state.sampling, state.max_tokens));
  return ChatStep::kMessage;
}

Step Retry(const std::string& argument, ChatState& state) {
  RETURN_IF_ERROR(CheckNone("/retry", argument));
  const std::vector<ChatMessage>& messages = state.conversation.messages();
  if (messages.empty() || messages.back().role != "assistant") return WrongUsage("/retry", "no answer", "one to replace");
  if (state.sampling.temperature == 0) WriteNote("At temperature 0 the answer stays the same; /set temperature 0.7 changes this.");
  state.replaced = messages.back();
  state.conversation.DropLast();
  ++state.attempt;
  return ChatStep::kAnswer;
}

Step Reset(const std::string& argument, ChatState& state) {
  RETURN_IF_ERROR(CheckNone("/reset", argument));
  ForgetDialogue(state);
  return ChatStep::kMessage;
}

Step Save(const std::string& argument, ChatState& state) {
  if (argument.empty()) return WrongUsage("/save", "no file", "a file to write");
  if (!FLAGS_session.empty() && IsSameFile(argument, FLAGS_session)) {
    return WrongUsage("/save", "the file of --session, which is written in the end", "another file");
  }
  RETURN_IF_ERROR(SaveDialogue(state.conversation, state.answerer.session(), argument));
  WriteNote(absl::StrCat("Saved. /load ", argument, " continues the dialogue, and so does --session=", argument, " in another run."));
  return ChatStep::kMessage;
}

Step Load(const std::string& argument, ChatState& state) {
  if (argument.empty()) return WrongUsage("/load", "no file", "a file of /save or --session");
  RETURN_IF_ERROR(LoadDialogue(argument, *state.opened.engine, state.conversation, state.answerer));
  state.attempt = 0;
  const std::vector<ChatMessage>& messages = state.conversation.messages();
  const auto answers = std::count_if(messages.begin(), messages.end(), [](const ChatMessage& each) { return each.role == "assistant"; });
  WriteNote(absl::StrCat("Loaded: ", answers, answers == 1 ? " answer" : " answers", ", ", state.answerer.length(), " tokens."));
  return ChatStep::kMessage;
}

Step Stats(const std::string& argument, ChatState& state) {
  RETURN_IF_ERROR(CheckNone("/stats", argument));
  const std::string text = absl::StrCat(SummaryText(state.opened, state.answerer.timings()), "context: ", state.answerer.length(), " of ",
                                        state.opened.engine->context(), " tokens, ", state.conversation.messages().size(), " messages\n",
                                        StatisticsText(state.opened, state.answerer.timings(), &state.sampling));
  WriteNote(absl::StripSuffix(text, "\n"));
  return ChatStep::kMessage;
}

Step Exit(const std::string& argument, ChatState&) {
  RETURN_IF_ERROR(CheckNone("/exit", argument));
  return ChatStep::kEnd;
}

constexpr ChatCommand kCommands[] = {
    {"/help", "", "Show the commands.", Help},
    {"/system", "[TEXT]", "Show the system message, or set it; the dialogue goes on.", System},
    {"/set", "[NAME VALUE]", "Show the settings, or change one: /set temperature 0.5", Set},
    {"/retry", "", "Answer the last message again, with other draws.", Retry},
    {"/reset", "", "Forget the dialogue; the system message stays.", Reset},
    {"/save", "FILE", "Save the dialogue in a session file.", Save},
    {"/load", "FILE", "Continue the dialogue of a file of /save or --session.", Load},
    {"/stats", "", "Show tokens, speed and memory of this run.", Stats},
    {"/exit", "", "End the dialogue, as Ctrl-D.", Exit},
};

Step Help(const std::string& argument, ChatState&) {
  RETURN_IF_ERROR(CheckNone("/help", argument));
  std::string text;
  for (const ChatCommand& command : kCommands) {
    absl::StrAppendFormat(&text, "%-20s %s\n", absl::StrCat(command.name, " ", command.arguments), command.text);
  }
  absl::StrAppendFormat(&text, "%-20s %s\n", "\"\"\"", "Begin and end a message of several lines.");
  WriteNote(absl::StrCat(text, "A message that begins with a slash has a blank before it."));
  return ChatStep::kMessage;
}

}  // namespace

bool IsChatCommand(absl::string_view line) { return absl::StartsWith(line, "/"); }

absl::StatusOr<ChatStep> RunChatCommand(absl::string_view line, ChatState& state) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(absl::ByAnyChar(" \t"), 1));
  const std::string argument(absl::StripAsciiWhitespace(parts.second));
  std::vector<std::string> names;
  for (const ChatCommand& command : kCommands) {
    if (parts.first == command.name) return command.run(argument, state);
    names.push_back(command.name);
  }
  const std::string meant = NearestName(parts.first, names);
  return absl::InvalidArgumentError(absl::StrCat("found the command ", Quoted(parts.first), ", expected one of /help",
                                                 meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?")));
}

void ForgetDialogue(ChatState& state) {
  state.conversation.Reset();
  state.answerer.Reset();
  state.attempt = 0;
  WriteNote("The dialogue is forgotten.");
}

}  // namespace tessera
