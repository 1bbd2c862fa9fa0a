#include "tessera/apps/cli/screen/answer_progress.h"

#include <unistd.h>

#include <utility>

namespace tessera {

void AnswerProgress::Show(AnswerOptions::Stage stage, int64_t most, bool text_is_seen) {
  shown_ = nullptr;
  if (stage == AnswerOptions::Stage::kDone || (stage == AnswerOptions::Stage::kAnswer && text_is_seen)) return;
  length_before_ = answerer_.length();
  shown_ = std::make_unique<PassProgress>(engine_, stage == AnswerOptions::Stage::kPrompt ? "prompt" : "answer", most, flash_);
}

AnswerOptions AnswerProgress::Of(AnswerOptions options) {
  if (engine_.model().streamer() == nullptr) return options;
  const bool text_is_seen = options.on_text != nullptr && isatty(STDOUT_FILENO) == 1;
  options.on_stage = [this, text_is_seen](AnswerOptions::Stage stage, int64_t most) { Show(stage, most, text_is_seen); };
  options.on_text = [this, on_text = std::move(options.on_text)](absl::string_view text) {
    if (shown_ != nullptr) shown_->Update(answerer_.length() - length_before_ + 1);  // The last has not been computed on.
    if (on_text) on_text(text);
  };
  return options;
}

}  // namespace tessera
