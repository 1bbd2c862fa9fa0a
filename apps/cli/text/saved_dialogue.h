// Dialogues in session files (runtime/session/session_file.h): --session, and the commands /save and /load of a dialogue.
//
//   RETURN_IF_ERROR(SaveDialogue(conversation, answerer.session(), "trip"));
//   RETURN_IF_ERROR(LoadDialogue("trip", engine, conversation, answerer));          // or --session=trip in another run
//
// The file holds the messages, and the tokens, keys and values of the session: what was computed is not computed again.
// Threads: one at a time.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/runtime/chat/conversation.h"
#include "tessera/runtime/chat/saved_text.h"
#include "tessera/runtime/session/session_file.h"

namespace tessera {

// Returns the notes that a session file has of the dialogue. A last message that has no answer is left out. REQUIRES: not raw.
SavedText DialogueOf(const Conversation& conversation);

// Returns the notes of a file that was loaded. WrongUsage (asker, the flag or command that names the file) for a dialogue where the
// conversation is raw, or the other way.
absl::StatusOr<SavedText> SavedTextOf(absl::string_view asker, const LoadedSession& loaded, const Engine& engine, const std::string& path,
                                      const Conversation& conversation);

// Writes the dialogue, whole or not at all. A session file of that name is replaced; FailedPrecondition for any other file, which stays.
// The errors of SaveSession. REQUIRES: not raw.
absl::Status SaveDialogue(const Conversation& conversation, const Session& session, const std::string& path);

// Puts the dialogue of the file in the place of the conversation and of the answerer's session. The errors of LoadSession, SavedTextOf and
// Conversation::Replace, after which the conversation is as before. REQUIRES: not raw.
absl::Status LoadDialogue(const std::string& path, Engine& engine, Conversation& conversation, Answerer& answerer);

}  // namespace tessera
