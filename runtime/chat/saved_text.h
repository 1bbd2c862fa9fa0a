// What a session file's notes say of a text besides its session: the messages of a dialogue, or the tokens that come next.
//
//   const SavedText text = {.is_dialogue = true, .messages = {{"user", "2 + 2?"}, {"assistant", "4"}}};
//   RETURN_IF_ERROR(SaveSession(answerer.session(), path, text.Notes()));
//   ASSIGN_OR_RETURN(LoadedSession loaded, LoadSession(*engine, path));                        // in another process
//   ASSIGN_OR_RETURN(const SavedText again, SavedText::Parse(loaded.notes, path, engine->config().vocabulary));
//
// A dialogue is written anew for each answer, so that a template may leave out of earlier answers what it wrote of the last one; its
// messages are kept byte by byte. In a text that is continued as it is, the last token chosen is not computed on. Values.
// Thread-compatible.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/token.h"
#include "tessera/model/text/chat_template.h"

namespace tessera {

struct SavedText {
  bool is_dialogue = false;
  std::vector<ChatMessage> messages = {};   // A dialogue's: roles and contents.
  std::vector<TokenId> next = {};           // Any other text's: after those of the session.

  std::string Notes() const;
  // No notes at all are those of a text after which nothing comes. DataLoss "PATH: notes: found ..., expected ..." for what Notes cannot
  // have written for this vocabulary.
  static absl::StatusOr<SavedText> Parse(absl::string_view notes, const std::string& path, int vocabulary);
};

}  // namespace tessera
