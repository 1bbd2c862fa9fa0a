#include "tessera/runtime/scheduler/internal/text_writer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/status_macros.h"

namespace tessera {

TextWriter::TextWriter(const EngineCore& core, const Sampler& sampler, const GenerateOptions& options, Generation& result)
    : core_(core), sampler_(sampler), options_(options), result_(result),
      stream_(&core.model().tokenizer(), {.render_special = false, .starts_text = options.starts_text}), stops_(options.stop) {
  // Special tokens are never shown, so shown text never holds such a stop string.
  for (const std::string& stop : options.stop) {
    if (const std::optional<TokenId> token = core.model().tokenizer().FindSpecial(stop)) stop_tokens_.push_back(*token);
  }
}

absl::StatusOr<TokenId> TextWriter::Choose(absl::Span<const float> logits, const DrawnChildren* drawn) {
  const std::vector<TokenId>& tokens = result_.tokens;
  if (options_.first.has_value() && tokens.empty()) return *options_.first;
  if (drawn == nullptr) return sampler_.Choose(logits, tokens, options_.stream, tokens.size());
  distribution_.resize(logits.size());
  RETURN_IF_ERROR(sampler_.Distribution(logits, tokens, absl::MakeSpan(distribution_)));
  const DrawKey key = {.seed = sampler_.options().seed, .stream = options_.stream, .position = static_cast<int64_t>(tokens.size())};
  return RejectionToken(distribution_, *drawn, key);
}

void TextWriter::ChooseAhead(absl::Span<const float> logits) {
  TimelineScope scope(core_.timeline(), Zone::kSample, static_cast<int>(result_.tokens.size()));
  ahead_ = Ahead{logits.data(), Choose(logits, /*drawn=*/nullptr)};
}

absl::StatusOr<Choice> TextWriter::Next(absl::Span<const float> logits, const DrawnChildren* drawn) {
  std::vector<TokenId>& tokens = result_.tokens;
  TokenId token;
  const std::optional<Ahead> ahead = std::exchange(ahead_, std::nullopt);
  if (ahead.has_value() && ahead->logits == logits.data() && drawn == nullptr) {
    ASSIGN_OR_RETURN(token, ahead->token);
  } else {
    TimelineScope scope(core_.timeline(), Zone::kSample, static_cast<int>(tokens.size()));
    ASSIGN_OR_RETURN(token, Choose(logits, drawn));
  }
  tokens.push_back(token);
  if (options_.on_token) options_.on_token(token, logits);
  return Choice{token, EndsWith(token)};
}

bool TextWriter::EndsWith(TokenId token) {
  if (!options_.ignore_end && core_.model().tokenizer().IsEnd(token)) {
    result_.reason = FinishReason::kEndToken;
    return true;
  }
  const bool is_stop = std::find(stop_tokens_.begin(), stop_tokens_.end(), token) != stop_tokens_.end();
  if (is_stop || !Write(token)) {
    result_.reason = FinishReason::kStopString;
    return true;
  }
  result_.reason = FinishReason::kLength;
  return options_.max_tokens > 0 && result_.tokens.size() == static_cast<size_t>(options_.max_tokens);
}

bool TextWriter::Write(TokenId token) {
  Show(stops_.Append(stream_.Append(token)));
  return !stops_.stopped();
}

void TextWriter::Finish() {
  if (stops_.stopped()) return;
  Show(stops_.Append(stream_.Finish()));
  Show(stops_.Finish());
}

void TextWriter::Show(const std::string& text) {
  if (text.empty()) return;
  result_.text += text;
  if (options_.on_text) options_.on_text(text);
}

}  // namespace tessera
