#include "tessera/apps/cli/flags/session_flag.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/apps/cli/text/saved_dialogue.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/text/encode_behind.h"
#include "tessera/runtime/chat/saved_text.h"
#include "tessera/runtime/chat/shown_text.h"
#include "tessera/runtime/session/session_file.h"

namespace tessera {

namespace {

// Returns a line with the seconds that the program waited for the SHA-256 of the model.
std::string SumLine(const Engine& engine) {
  const SavingCost cost = CostOfSaving(engine);
  const std::string of = cost.bytes == 0 ? "the packed model's manifest" : FormatByteSize(cost.bytes) + " of weights";
  return absl::StrFormat("session: waited %.3f s for the SHA-256 of %s\n", cost.waited_seconds, of);
}

}  // namespace

absl::Status CheckSessionFlag() {
  return FLAGS_session.empty() ? absl::OkStatus() : ForFile("session", CheckWritable(FLAGS_session));
}

absl::StatusOr<KeptSession> KeptSession::Open(Engine& engine, Conversation& conversation, Answerer& answerer) {
  KeptSession kept(engine, conversation, answerer);
  if (FLAGS_session.empty()) return kept;
  ASSIGN_OR_RETURN(kept.version_, FileVersion::Of(FLAGS_session));   // First: the file that is read afterwards is as new, or newer.
  absl::StatusOr<LoadedSession> loaded = LoadSession(engine, FLAGS_session, {.adapter = answerer.session().adapter()});
  if (absl::IsNotFound(loaded.status())) {   // CheckSessionFlag has made sure that the file can be made.
    PrepareSaving(engine);
    return kept;
  }
  RETURN_IF_ERROR(loaded.status());
  ASSIGN_OR_RETURN(SavedText saved, SavedTextOf("session", *loaded, engine, FLAGS_session, conversation));
  if (saved.is_dialogue) {
    for (const ChatMessage& message : conversation.messages()) {
      if (message.role != "system") saved.messages.push_back(message);
    }
    RETURN_IF_ERROR(conversation.GoOnWith(std::move(saved.messages)));
  }
  kept.next_ = std::move(saved.next);
  answerer.GoOnFrom(std::move(loaded->session));
  return kept;
}

absl::StatusOr<std::vector<TokenId>> KeptSession::Prompt(const std::string& prompt, const std::vector<TokenId>& tokens) const {
  if (FLAGS_session.empty()) return tokens;
  if (!conversation_->raw()) return conversation_->Tokens(engine_->tokenizer());
  const absl::Span<const TokenId> held = answerer_->session().tokens();
  if (held.empty() && next_.empty()) return tokens;
  std::vector<TokenId> all(held.begin(), held.end());
  all.insert(all.end(), next_.begin(), next_.end());
  const std::vector<TokenId> added = EncodeBehind(engine_->tokenizer(), all, prompt, {.parse_special = true});
  all.insert(all.end(), added.begin(), added.end());
  return all;
}

void KeptSession::Wrote(absl::Span<const TokenId> prompt, const Generation& result) {
  if (FLAGS_session.empty()) return;
  if (!conversation_->raw()) {
    if (!result.tokens.empty()) conversation_->AddAnswer(result.text);
    return;
  }
  // A text that goes on has not ended, and goes on after the shown text.
  const ShownText shown = ShownTextOf(result, engine_->tokenizer(), /*starts_text=*/false);
  const std::vector<TokenId> rest = engine_->tokenizer().Encode(shown.rest, {.continues = true});
  std::vector<TokenId> all(prompt.begin(), prompt.end());
  all.insert(all.end(), result.tokens.begin(), result.tokens.begin() + shown.tokens);
  all.insert(all.end(), rest.begin(), rest.end());
  const size_t held = std::min(all.size(), static_cast<size_t>(answerer_->length()));
  next_.assign(all.begin() + static_cast<std::ptrdiff_t>(held), all.end());
}

absl::Status KeptSession::Save(const absl::Status& status) {
  if (FLAGS_session.empty() || (!status.ok() && !absl::IsCancelled(status))) return status;
  const SavedText text = conversation_->raw() ? SavedText{.next = next_} : DialogueOf(*conversation_);
  absl::Status saved = FinishPreparing(*engine_);   // Before the lock of the folder: others wait for the lock for 2 s at most.
  if (saved.ok()) {
    saved = version_->Replace([&] { return SaveSession(answerer_->session(), FLAGS_session, text.Notes()); },
                              {.cancel = &CancelRequested()});
  }
  if (FLAGS_stats && saved.ok()) WriteError(SumLine(*engine_));
  return EndOf(status, saved);
}

}  // namespace tessera
