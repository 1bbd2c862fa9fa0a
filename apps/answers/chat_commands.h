// The commands of a dialogue at a terminal: lines that begin with a slash.
//
//   if (IsChatCommand("/set temperature 0")) {
//     ASSIGN_OR_RETURN(const ChatStep step, RunChatCommand("/set temperature 0", state));      // ChatStep::kMessage: the next message
//   }
//
// A command reports the effect on standard error. An error names the found and the expected value, and changes nothing. Threads: one at a
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/apps/plan/budget_report.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/runtime/chat/conversation.h"

namespace tessera {

// The state that commands show and change.
struct ChatState {
  const OpenedEngine& opened;
  Conversation& conversation;
  Answerer& answerer;
  SamplingOptions sampling;
  int max_tokens;              // Most tokens of an answer; 0: until the context is full.
  uint64_t attempt = 0;        // Earlier answers to the last message. Each answer has other draws.
  std::optional<ChatMessage> replaced = std::nullopt;   // The answer that /retry has dropped, until another answer replaces it.
};

enum class ChatStep { kMessage, kAnswer, kEnd };   // Read the next message; answer the last message again; end the dialogue.

// Returns whether the line begins with a slash.
bool IsChatCommand(absl::string_view line);

// Runs the command. InvalidArgument for an unknown command, with the nearest; else the command's error. REQUIRES: IsChatCommand(line).
absl::StatusOr<ChatStep> RunChatCommand(absl::string_view line, ChatState& state);

// Forgets the dialogue except the system message.
void ForgetDialogue(ChatState& state);

}  // namespace tessera
