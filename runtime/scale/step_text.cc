#include "tessera/runtime/scale/step_text.h"

#include <algorithm>
#include <optional>

#include <glog/logging.h>

namespace tessera {

StepText::StepText(const Tokenizer& tokenizer, const StepTextOptions& options)
    : tokenizer_(&tokenizer), options_(&options), stream_(&tokenizer, {.render_special = false, .starts_text = options.starts_text}),
      stops_(options.stop) {
  CHECK(!options.delimiter.empty() && options.max_step_tokens >= 1 && options.max_tokens >= 1);
  for (const std::string& stop : options.stop) {
    if (const std::optional<TokenId> token = tokenizer.FindSpecial(stop); token.has_value()) stop_tokens_.push_back(*token);
  }
}

bool StepText::IsStop(TokenId token) const { return std::find(stop_tokens_.begin(), stop_tokens_.end(), token) != stop_tokens_.end(); }

void StepText::Add(TokenId token) {
  CHECK(!step_ended_);
  tokens_.push_back(token);
  ++step_tokens_;
  if (tokenizer_->IsEnd(token)) return End(FinishReason::kEndToken);
  const size_t before = text_.size();
  if (IsStop(token) || !Show(stream_.Append(token))) return End(FinishReason::kStopString);
  if (tokens_.size() == static_cast<size_t>(options_->max_tokens)) return End(options_->at_most);
  EndStepAtDelimiter(before);
  if (step_ended_ || step_tokens_ < options_->max_step_tokens) return;
  step_ended_ = true;
  step_end_ = text_.size();
}

void StepText::BeginStep() {
  CHECK(step_ended_ && !ended_);
  step_begin_ = step_end_;
  step_tokens_ = 0;
  step_ended_ = false;
}

bool StepText::Show(const std::string& piece) {
  text_ += piece;
  shown_ += stops_.Append(piece).size();
  if (!stops_.stopped()) return true;
  text_.resize(shown_);
  return false;
}

void StepText::End(FinishReason reason) {
  if (!stops_.stopped()) Show(stream_.Finish());   // Shows an incomplete character.
  ended_ = step_ended_ = true;
  reason_ = reason;
  step_end_ = text_.size();
  step_begin_ = std::min(step_begin_, step_end_);
}

void StepText::EndStepAtDelimiter(size_t before) {
  const std::string& delimiter = options_->delimiter;
  const size_t overlap = std::min(before, delimiter.size() - 1);   // The delimiter may begin in earlier text.
  const size_t found = text_.find(delimiter, std::max(step_begin_, before - overlap));
  if (found == std::string::npos) return;
  step_ended_ = true;
  step_end_ = found + delimiter.size();
}

}  // namespace tessera
