// --session: a text or a dialogue that continues from one run to the next.
//
//   RETURN_IF_ERROR(CheckSessionFlag());                                                     // before any work
//   ASSIGN_OR_RETURN(KeptSession kept, KeptSession::Open(engine, conversation, answerer));   // reads the file, if it is there
//   ASSIGN_OR_RETURN(const std::vector<TokenId> tokens, kept.Prompt(prompt, of_conversation));
//   ... answerer.Run(tokens, ...), then kept.Wrote(tokens, result) ...
//   return kept.Save(status);
//
// Without the flag all functions here have no effect. Threads: one at a time.
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

// Returns WrongUsage (session) if the file could not be written.
absl::Status CheckSessionFlag();

class KeptSession {
 public:
  // Opens the file, if there is one. The answerer then has the file's session, and the conversation's messages come after the messages of
  // the file's dialogue. WrongUsage if the file holds a text and the conversation is a dialogue, or the other way round. Also the errors of
  // LoadSession, such as a file with another adapter than the answerer's session. REQUIRES: the engine's weights are loaded. All three
  // arguments must outlive the object.
  static absl::StatusOr<KeptSession> Open(Engine& engine, Conversation& conversation, Answerer& answerer);

  // Returns the tokens to continue. For a text: all tokens written so far, then the prompt. For a dialogue: all tokens of the dialogue.
  // `tokens`: the conversation's tokens without the file's content.
  absl::StatusOr<std::vector<TokenId>> Prompt(const std::string& prompt, const std::vector<TokenId>& tokens) const;

  // Takes the result of a run on the tokens of Prompt. In a dialogue the answer becomes a message of the conversation.
  void Wrote(absl::Span<const TokenId> prompt, const Generation& result);

  // Writes the file, unless the run failed. A Cancelled status (an end that was asked for) is no failure. Returns EndOf(status, written). A
  // message without an answer is left out. FailedPrecondition if another run wrote the file since Open or since the last call; the file
  // then stays.
  absl::Status Save(const absl::Status& status);

 private:
  KeptSession(Engine& engine, Conversation& conversation, Answerer& answerer)
      : engine_(&engine), conversation_(&conversation), answerer_(&answerer) {}

  Engine* engine_;
  Conversation* conversation_;
  Answerer* answerer_;
  std::vector<TokenId> next_;            // In a text: tokens that are chosen, and not in the session.
  std::optional<FileVersion> version_;   // The file that the session continues from. None: no flag.
};

}  // namespace tessera
