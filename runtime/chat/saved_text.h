// Reads and writes the notes of a session file: the messages of a dialogue, or the tokens that follow the session's tokens.
//
//   const SavedText text = {.is_dialogue = true, .messages = {{"user", "2 + 2?"}, {"assistant", "4"}}};
//   RETURN_IF_ERROR(SaveSession(answerer.session(), path, text.Notes()));
//   ASSIGN_OR_RETURN(LoadedSession loaded, LoadSession(*engine, path));                        // in another process
//   ASSIGN_OR_RETURN(const SavedText again, SavedText::Parse(loaded.notes, path, engine->config().vocabulary));
//
// A dialogue is rendered anew for each answer, so that a template may leave parts of the last answer out of earlier answers. The messages
// are therefore kept byte by byte. In a raw continued text, no pass has computed the last chosen token.
//
// Threads: thread-compatible (values).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/token.h"
#include "tessera/model/text/chat_template.h"

namespace tessera {

// The data of a text in the notes, in addition to the session.
struct SavedText {
  bool is_dialogue = false;
  std::vector<ChatMessage> messages = {};   // For a dialogue: roles and contents.
  std::vector<TokenId> next = {};           // For another text: the tokens after the session's tokens.

  // Returns the text as notes for SaveSession.
  std::string Notes() const;
  // Reads notes. Empty notes are a text without further tokens. DataLoss "PATH: notes: found ..., expected ..." for notes that Notes cannot
  // have written for this vocabulary.
  static absl::StatusOr<SavedText> Parse(absl::string_view notes, const std::string& path, int vocabulary);
};

}  // namespace tessera
