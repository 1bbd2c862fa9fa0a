// A dialogue on standard input: tessera_generate --chat.
//
//   LineReader lines;
//   RETURN_IF_ERROR(lines.EditLines(DialoguePrompt()));                                   // before the model is opened
//   return HoldDialogue(opened, conversation, /*first=*/"Hello", lines, /*adapter=*/nullptr);
//
// Where standard input is a terminal, the dialogue shows model, context and seed first. Lines that begin with a slash are commands
// (chat_commands.h). """ begins and ends a message of several lines (message_lines.h). An answer that was stopped is marked. Answers on a
// terminal are wrapped and coloured (streamed_answer.h). Where standard input is anything else, each line is a message, except /reset and
// /exit, and standard output has the answers alone, byte by byte. Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tessera/apps/cli/text/input.h"
#include "tessera/apps/plan/budget_report.h"
#include "tessera/runtime/chat/conversation.h"

namespace tessera {

// Returns the sign before each message at a terminal, bold where the terminal has colours.
std::string DialoguePrompt();

// Loads the weights, answers `first` unless it is empty, then each message of `lines`. adapter null: the plain model. At a terminal the
// dialogue goes on after an error of one message. An end of input within """ is such an error; if no line follows, the dialogue ends with
// the error. In a pipe, messages that the template refuses, or that are too long, are an error at the end.
absl::Status HoldDialogue(const OpenedEngine& opened, Conversation& conversation, const std::string& first, LineReader& lines,
                          const LoraAdapter* adapter);

}  // namespace tessera
