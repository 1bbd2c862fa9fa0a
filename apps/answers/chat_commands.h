// The commands of a dialogue at a terminal: lines that begin with a slash.
//
//   if (IsChatCommand("/set temperature 0")) {
//     ASSIGN_OR_RETURN(const ChatStep step, RunChatCommand("/set temperature 0", state));      // ChatStep::kMessage: the next message
//   }
//
// They say what they did on standard error. An error changes nothing, and names what was found and expected. Threads: one at a time.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/plan/budget_report.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/runtime/chat/conversation.h"

namespace tessera {

// What commands show and change.
struct ChatState {
  const OpenedEngine& opened;
  Conversation& conversation;
  Answerer& answerer;
  SamplingOptions sampling;
  int max_tokens;              // Of an answer; 0: until the context is full.
  uint64_t attempt = 0;        // Answers that the last message had before: each has draws of its own.
};

enum class ChatStep { kMessage, kAnswer, kEnd };   // Read the next message; answer the last one again; end the dialogue.

bool IsChatCommand(absl::string_view line);

// InvalidArgument for a command that there is not, with the nearest; the errors of each command. REQUIRES: IsChatCommand(line).
absl::StatusOr<ChatStep> RunChatCommand(absl::string_view line, ChatState& state);

// Forgets the dialogue, but for its system message.
void ForgetDialogue(ChatState& state);

}  // namespace tessera
