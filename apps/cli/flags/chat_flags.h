// Turns flags into conversations and answers (runtime/chat), and writes notes for a person to standard error.
//
//   RETURN_IF_ERROR(CheckConversationFlags());
//   RETURN_IF_ERROR(PlanSpeculation(SpeculationOfFlags(), options));       // before the engine is opened
//   ASSIGN_OR_RETURN(Conversation conversation, ConversationOfFlags(engine->model().gguf()));
//   ASSIGN_OR_RETURN(Answerer answerer, AnswererOfFlags(*engine, opened.flash_bytes_per_second));
//   ... answers ...
//   return FinishAnswers(*engine, answerer.speculation());
//
// Errors: wrong usage of the faulty flag (base/usage_error.h). Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/runtime/chat/conversation.h"

namespace tessera {

class DraftModel;   // runtime/draft/draft_model.h

// Checks the flags of a conversation. WrongUsage if flags exclude each other.
absl::Status CheckConversationFlags();
// Returns the options that the flags give. The date is read from this machine's clock at each prompt.
absl::StatusOr<ConversationOptions> ConversationOptionsOfFlags();
// Makes the conversation that the flags describe. If the model has no template, a note on standard error says that the prompt is continued
// unchanged. The error for an unknown template suggests --chat_template or --raw.
absl::StatusOr<Conversation> ConversationOfFlags(const GgufFile& file, const ChatLimits& limits = {});

// Returns the texts of --stop: one text, or a list of texts as JSON, which may be empty.
absl::StatusOr<std::vector<std::string>> StopStringsOfFlag();
// Returns the options of speculation. draft: the model of --draft_model; null: no such model. The draft's predictor of --prune counts once
// the predictor is loaded.
SpeculationOptions SpeculationOfFlags(const std::shared_ptr<DraftModel>& draft = nullptr);

// Makes the answerer. Warns of resources that the system did not give the engine, and of a history that is ignored, with the reason.
// flash_bytes_per_second: see OpenedEngine; 0 if shares of the flash's speed are not needed. REQUIRES: the engine's weights are loaded.
absl::StatusOr<Answerer> AnswererOfFlags(Engine& engine, double flash_bytes_per_second, const std::shared_ptr<DraftModel>& draft = nullptr);

// Saves the knowledge that a run has learnt; warns if a damaged history was replaced. Null: nothing to save.
absl::Status SaveAnswers(const Speculation* speculation);
// Saves like SaveAnswers, at the end of a run. Also warns of shortages, and if there is no cost profile to write.
absl::Status FinishAnswers(const Engine& engine, const Speculation* speculation);

}  // namespace tessera
