#include "tessera/spec/drafters/history/shared_history.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "tessera/spec/drafters/history/history_format.h"

namespace tessera {
namespace {

constexpr size_t kLeastForgetting = 64;    // A set with fewer tokens forgets none: half of so few would not help.
constexpr int64_t kMostRoom = 1 << 14;     // 32 samples of 512 tokens: less than 5 MB, and usually 2.
constexpr int64_t kTextsOfRoom = 16;       // With a short context: room for this many full texts.
// Room for a DraftLearning and the names of the drafters, in tokens.
constexpr int64_t kRoomToLearn = 1 + (sizeof(DraftLearning) + Estimates::kMostSources * (DraftLearning::kMostBytesPerDrafter + 64)) /
                                         SharedHistory::kMostBytesPerToken;

}  // namespace

int64_t SharedHistory::UsualRoom(int context) { return std::min(kMostRoom, kTextsOfRoom * context); }

SharedHistory::SharedHistory(std::shared_ptr<Room> room)
    : room_(std::move(room)), texts_({.max_tokens = std::numeric_limits<int>::max() / 4}) {}

SharedHistory::~SharedHistory() { room_->left_ += held_; }

bool SharedHistory::Take(int64_t tokens) {
  if (room_->left_ < tokens && texts_.tokens().size() >= kLeastForgetting) ForgetHalf();
  if (room_->left_ < tokens) return false;
  room_->left_ -= tokens;
  held_ += tokens;
  return true;
}

// Takes two tokens' room, which covers the list entry: a list of texts grows like a list of tokens, and takes less per text than a token's
// room.
int SharedHistory::BeginText() {
  static_assert(3 * sizeof(Text) < kMostBytesPerToken);
  if (!Take(2)) return kNoText;
  Append(all_.emplace_back(), kSeparator);
  return static_cast<int>(all_.size()) - 1;
}

void SharedHistory::Add(int text, TokenId token) {
  CHECK_GE(token, 0);
  if (text == kNoText) return;
  Text& own = all_[static_cast<size_t>(text)];
  if (own.end == SuffixAutomaton::kNone) return;
  if (Take(1)) Append(own, token);
  else own.end = SuffixAutomaton::kNone;
}

void SharedHistory::Append(Text& text, TokenId token) {
  text.tokens.push_back(token);
  text.end = texts_.Extend(text.end, token);
  CHECK_NE(text.end, SuffixAutomaton::kNone);
}

void SharedHistory::ForgetHalf() {
  const int64_t before = held_;
  texts_.Clear();
  held_ = learning_ != nullptr ? kRoomToLearn : 0;
  for (Text& text : all_) {
    const absl::Span<const TokenId> newest = absl::MakeConstSpan(text.tokens).last(text.tokens.size() / 2);
    const std::vector<TokenId> kept(newest.begin(), newest.end());
    const bool left_out = text.end == SuffixAutomaton::kNone;
    held_ += 1 + static_cast<int64_t>(kept.size());
    text = Text();
    for (const TokenId token : kept) Append(text, token);
    if (left_out) text.end = SuffixAutomaton::kNone;
  }
  room_->left_ += before - held_;
}

SuffixAutomaton::Cursor SharedHistory::PlaceOf(int text) const {
  const int end = text == kNoText ? SuffixAutomaton::kNone : all_[static_cast<size_t>(text)].end;
  if (end == SuffixAutomaton::kNone) return {};
  SuffixAutomaton::Cursor place = {end, texts_[end].length};
  while (place.state != SuffixAutomaton::kRoot && !texts_.IsFollowed(place.state)) place = texts_.Shorter(place);
  return place;
}

DraftLearning* SharedHistory::LearningOf(absl::Span<const absl::string_view> drafters, const DraftLearning& so_far) {
  const std::string names = absl::StrJoin(drafters, ",");
  if (learning_ == nullptr) {
    if (room_->left_ < kRoomToLearn) return nullptr;   // No text is forgotten for the learning.
    room_->left_ -= kRoomToLearn;
    held_ += kRoomToLearn;
    learning_ = std::make_unique<DraftLearning>(so_far);
    learners_ = names;
  }
  return names == learners_ ? learning_.get() : nullptr;
}

int64_t SharedHistory::bytes() const {
  int64_t bytes = texts_.bytes() + static_cast<int64_t>(sizeof(*this) + all_.capacity() * sizeof(Text));
  if (learning_ != nullptr) {
    const size_t drafters = learning_->rules.size();
    bytes += static_cast<int64_t>(sizeof(DraftLearning) + drafters * DraftLearning::kMostBytesPerDrafter + learners_.capacity());
  }
  for (const Text& text : all_) bytes += static_cast<int64_t>(text.tokens.capacity() * sizeof(TokenId));
  return bytes;
}

}  // namespace tessera
