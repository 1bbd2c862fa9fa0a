#include "tessera/apps/cli/text/saved_dialogue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {

SavedText DialogueOf(const Conversation& conversation) {
  SavedText text = {.is_dialogue = true, .messages = conversation.messages()};
  if (!text.messages.empty() && text.messages.back().role == "user") text.messages.pop_back();
  return text;
}

absl::StatusOr<SavedText> SavedTextOf(absl::string_view asker, const LoadedSession& loaded, const Engine& engine, const std::string& path,
                                      const Conversation& conversation) {
  ASSIGN_OR_RETURN(SavedText saved, SavedText::Parse(loaded.notes, path, engine.config().vocabulary));
  if (saved.is_dialogue != conversation.raw()) return saved;
  return saved.is_dialogue ? WrongUsage(asker, absl::StrCat("a dialogue in ", path), "a text, as it is continued with --raw")
                           : WrongUsage(asker, absl::StrCat("a text in ", path), "a dialogue; --session with --raw continues a text");
}

absl::Status SaveDialogue(const Conversation& conversation, const Session& session, const std::string& path) {
  const absl::StatusOr<bool> replaces = IsSessionFile(path);
  if (!replaces.ok() && !absl::IsNotFound(replaces.status())) return replaces.status();
  if (replaces.ok() && !*replaces) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": found a file that is no session, expected one, or no file"));
  }
  return SaveSession(session, path, DialogueOf(conversation).Notes());
}

absl::Status LoadDialogue(const std::string& path, Engine& engine, Conversation& conversation, Answerer& answerer) {
  answerer.Reset();   // The cache may have room for one session alone. After an error the next answer computes the dialogue again.
  ASSIGN_OR_RETURN(LoadedSession loaded, LoadSession(engine, path, {.adapter = answerer.session().adapter()}));
  ASSIGN_OR_RETURN(SavedText saved, SavedTextOf("/load", loaded, engine, path, conversation));
  RETURN_IF_ERROR(conversation.Replace(std::move(saved.messages)));
  answerer.GoOnFrom(std::move(loaded.session));
  return absl::OkStatus();
}

}  // namespace tessera
