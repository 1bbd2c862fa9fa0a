#include "tessera/apps/cli/answer_progress.h"

#include <utility>

#include <unistd.h>

namespace tessera {

void AnswerProgress::Follow(const Answerer& answerer, AnswerOptions& options) {
  if (engine_.streamer() == nullptr) return;
  const bool text_is_seen = options.on_text != nullptr && isatty(STDOUT_FILENO) == 1;
  options.on_stage = [this, &answerer, text_is_seen](AnswerOptions::Stage stage, int64_t most) {
    shown_ = nullptr;
    if (stage == AnswerOptions::Stage::kDone || (stage == AnswerOptions::Stage::kAnswer && text_is_seen)) return;
    before_ = answerer.length();
    shown_ = std::make_unique<PassProgress>(engine_, stage == AnswerOptions::Stage::kPrompt ? "prompt" : "answer", most, flash_);
  };
  options.on_text = [this, &answerer, on_text = std::move(options.on_text)](absl::string_view text) {
    if (shown_ != nullptr) shown_->Update(answerer.length() - before_ + 1);  // The last has not been computed on.
    if (on_text) on_text(text);
  };
}

}  // namespace tessera
