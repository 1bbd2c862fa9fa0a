// The named forms of dialogues, written without a template.
//
//   std::vector<ChatPiece> pieces = WriteForm("chatml", messages, /*add_generation_prompt=*/true);
//
// Thread-safe (pure functions).
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/model/text/chat_template.h"

namespace tessera {

bool IsChatForm(absl::string_view name);

// REQUIRES: IsChatForm(name).
std::vector<ChatPiece> WriteForm(absl::string_view name, absl::Span<const ChatMessage> messages, bool add_generation_prompt);

}  // namespace tessera
