#include "tessera/model/text/text_stream.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/model/text/internal/utf8.h"

namespace tessera {

TextStream::TextStream(const Tokenizer* tokenizer, const TextStreamOptions& options)
    : tokenizer_(tokenizer), options_(options) {
  CHECK(tokenizer != nullptr);
  drop_space_ = options.starts_text && tokenizer->adds_space_prefix();
}

std::string TextStream::Append(TokenId token) {
  std::string piece = tokenizer_->Piece(token, options_.render_special);
  if (drop_space_ && !piece.empty()) {
    drop_space_ = false;
    if (piece[0] == ' ') piece.erase(0, 1);
  }
  waiting_ += piece;
  std::string text;
  absl::string_view rest = waiting_;
  while (!rest.empty()) {
    const Utf8Sequence sequence = ReadUtf8(rest);
    if (sequence.state == Utf8State::kIncomplete) break;
    absl::StrAppend(&text, sequence.state == Utf8State::kValid ? rest.substr(0, sequence.size) : kReplacementCharacter);
    rest.remove_prefix(sequence.size);
  }
  waiting_.erase(0, waiting_.size() - rest.size());
  return text;
}

std::string TextStream::Finish() {
  if (waiting_.empty()) return "";
  waiting_.clear();  // One unfinished character: one U+FFFD.
  return std::string(kReplacementCharacter);
}

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  stops_.erase(std::remove(stops_.begin(), stops_.end(), ""), stops_.end());
}

std::string StopStrings::Append(absl::string_view text) {
  if (stopped()) return "";
  absl::StrAppend(&waiting_, text);
  size_t first_end = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t begin = waiting_.find(stop);
    if (begin == std::string::npos) continue;
    const size_t end = begin + stop.size();
    if (end < first_end || (end == first_end && stop.size() > stop_.size())) {
      first_end = end;
      stop_ = stop;
    }
  }
  const size_t shown = stopped() ? first_end - stop_.size() : waiting_.size() - HeldBack();
  std::string out = waiting_.substr(0, shown);
  waiting_.erase(0, stopped() ? waiting_.size() : shown);
  return out;
}

std::string StopStrings::Finish() { return std::exchange(waiting_, std::string()); }

// Returns the length of the longest end of `waiting_` that is the start of a stop string.
size_t StopStrings::HeldBack() const {
  size_t held = 0;
  for (const std::string& stop : stops_) {
    for (size_t size = std::min(stop.size() - 1, waiting_.size()); size > held; --size) {
      if (waiting_.compare(waiting_.size() - size, size, stop, 0, size) == 0) held = size;
    }
  }
  return held;
}

}  // namespace tessera
