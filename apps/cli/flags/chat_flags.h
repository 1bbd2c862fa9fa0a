// From flags to conversations and answers (runtime/chat), and what a person is told about them on standard error.
//
//   RETURN_IF_ERROR(CheckConversationFlags());
//   RETURN_IF_ERROR(PlanSpeculation(SpeculationOfFlags(), options));       // before the engine is opened
//   ASSIGN_OR_RETURN(Conversation conversation, ConversationOfFlags(engine->model().gguf()));
//   ASSIGN_OR_RETURN(Answerer answerer, AnswererOfFlags(*engine, opened.flash_bytes_per_second));
//   ... answers ...
//   return FinishAnswers(*engine, answerer.speculation());
//
// Errors are wrong usage of the flag that they are about (base/usage_error.h). Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/runtime/chat/answer.h"
#include "tessera/runtime/chat/conversation.h"

namespace tessera {

class DraftModel;   // runtime/draft/draft_model.h

// WrongUsage if flags exclude each other.
absl::Status CheckConversationFlags();
// Returns the options that the flags give. The date is read from this machine's clock at each prompt.
absl::StatusOr<ConversationOptions> ConversationOptionsOfFlags();
// Says so if a model without a template is continued as it is. An unknown template is an error that says what to do.
absl::StatusOr<Conversation> ConversationOfFlags(const GgufFile& file, const ChatLimits& limits = {});

// --stop: a text, or a list of texts as JSON, which may be empty.
absl::StatusOr<std::vector<std::string>> StopStringsOfFlag();
// draft: the model of --draft_model; null: there is none. Its predictor of --prune counts once it is loaded.
SpeculationOptions SpeculationOfFlags(const std::shared_ptr<DraftModel>& draft = nullptr);

// Says what the system would not give the engine, whose weights are loaded, and why a history is ignored. flash_bytes_per_second: see
// OpenedEngine; 0 if shares of it are not needed.
absl::StatusOr<Answerer> AnswererOfFlags(Engine& engine, double flash_bytes_per_second, const std::shared_ptr<DraftModel>& draft = nullptr);

// Saves what a run has learnt; says if a damaged history was replaced. Null: there is nothing.
absl::Status SaveAnswers(const Speculation* speculation);
// The same for the last time; says if there is no cost profile to write.
absl::Status FinishAnswers(const Engine& engine, const Speculation* speculation);

}  // namespace tessera
