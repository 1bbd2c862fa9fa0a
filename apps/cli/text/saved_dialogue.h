// Dialogues in session files (runtime/session/session_file.h): --session, and the commands /save and /load of a dialogue.
//
//   RETURN_IF_ERROR(SaveDialogue(conversation, answerer.session(), "trip"));
//   RETURN_IF_ERROR(LoadDialogue("trip", engine, conversation, answerer));          // or --session=trip in another run
//
// The file holds the messages, and the tokens, keys and values of the session. Loaded tokens are not computed again. Threads: one at a
// time.
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

// Returns the notes on the dialogue for a session file. A last message without an answer is left out. REQUIRES: not raw.
SavedText DialogueOf(const Conversation& conversation);

// Returns the notes of a file that was loaded. WrongUsage (asker, the flag or command that names the file) for a dialogue where the
// conversation is raw, or the other way.
absl::StatusOr<SavedText> SavedTextOf(absl::string_view asker, const LoadedSession& loaded, const Engine& engine, const std::string& path,
                                      const Conversation& conversation);

// Writes the dialogue, whole or not at all. A session file of the same name is replaced. FailedPrecondition for any other file, which
// stays; also the errors of SaveSession. REQUIRES: not raw.
absl::Status SaveDialogue(const Conversation& conversation, const Session& session, const std::string& path);

// Replaces the conversation and the answerer's session with the dialogue of the file. Errors: as LoadSession, SavedTextOf and
// Conversation::Replace; the conversation is then unchanged. REQUIRES: not raw.
absl::Status LoadDialogue(const std::string& path, Engine& engine, Conversation& conversation, Answerer& answerer);

}  // namespace tessera
