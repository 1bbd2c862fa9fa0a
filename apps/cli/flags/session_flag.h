// --session: a text or a dialogue that goes on from one run to the next.
//
//   RETURN_IF_ERROR(CheckSessionFlag());                                                     // before any work
//   ASSIGN_OR_RETURN(KeptSession kept, KeptSession::Open(engine, conversation, answerer));   // reads the file, if it is there
//   ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, kept.Prompt(prompt, of_conversation));
//   ... answerer.Run(tokens, ...), then kept.Wrote(tokens, result) ...
//   return kept.Save(status);
//
// Without the flag nothing of this does anything. Threads: one at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/file_version.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/runtime/chat/conversation.h"

namespace tessera {

// WrongUsage (session) if the file could not be written.
absl::Status CheckSessionFlag();

class KeptSession {
 public:
  // Where there is a file, the answerer's session is what it holds, and the conversation's messages come after those of the dialogue
  // in it. WrongUsage if it is a text and the conversation is a dialogue, or the other way; the errors of LoadSession, one of which is that
  // it has another adapter than the answerer's session. REQUIRES: the engine's weights are loaded. All must outlive this.
  static absl::StatusOr<KeptSession> Open(Engine& engine, Conversation& conversation, Answerer& answerer);

  // What is to be continued: of a text all that was written so far and the prompt behind it, of a dialogue all of it. `tokens` are those
  // of the conversation without what the file holds.
  absl::StatusOr<std::vector<TokenId>> Prompt(const std::string& prompt, const std::vector<TokenId>& tokens) const;

  // What came of Prompt's tokens. In a dialogue the answer is a message of the conversation from now on.
  void Wrote(absl::Span<const TokenId> prompt, const Generation& result);

  // Writes the file, unless the run failed: an end that was asked for is no failure. EndOf(status, written). A message that was not
  // answered is left out. FailedPrecondition if another run wrote the file since Open, or the last call: it stays.
  absl::Status Save(const absl::Status& status);

 private:
  KeptSession(Engine& engine, Conversation& conversation, Answerer& answerer)
      : engine_(&engine), conversation_(&conversation), answerer_(&answerer) {}

  Engine* engine_;
  Conversation* conversation_;
  Answerer* answerer_;
  std::vector<TokenId> next_;            // In a text: chosen, and not in the session.
  std::optional<FileVersion> version_;   // Which the session goes on from. None: there is no flag.
};

}  // namespace tessera
