#include <algorithm>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/runtime/engine.h"

namespace tessera {

Session::Session(Engine& engine, KvCache::SequenceId sequence)
    : engine_(engine), sequence_(sequence), logits_buffer_(engine.config().vocabulary), logits_(logits_buffer_) {}

Session::~Session() { engine_.cache().Release(sequence_); }

absl::Status Session::CheckRoom(size_t tokens) const {
  const size_t total = tokens_.size() + tokens;
  if (total <= static_cast<size_t>(engine_.context())) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("context: found ", tokens_.size(), " tokens and ", tokens,
                                                   " more, expected at most ", engine_.context(), " together (--context)"));
}

absl::Status Session::Pass(absl::Span<const TokenId> tokens) {
  const int before = length();
  has_logits_ = false;
  slots_.clear();
  RETURN_IF_ERROR(engine_.cache().Extend(sequence_, static_cast<int>(tokens.size()), &slots_));
  paths_.clear();
  rows_.clear();
  for (size_t i = 0; i < tokens.size(); ++i) paths_.push_back(engine_.cache().PathOf(sequence_, before + static_cast<int>(i) + 1));
  for (size_t i = 0; i < tokens.size(); ++i) rows_.push_back({tokens[i], slots_[i], paths_[i], nullptr});
  const absl::Status status = engine_.forward().Run(rows_, engine_.cache());
  if (!status.ok()) {
    engine_.cache().Truncate(sequence_, before);
    return status;
  }
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return absl::OkStatus();
}

absl::Status Session::Append(absl::Span<const TokenId> tokens) {
  if (tokens.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckRoom(tokens.size()));
  const int before = length(), capacity = engine_.forward().row_capacity();
  int last = 0;
  for (size_t begin = 0; begin < tokens.size(); begin += capacity) {
    const absl::Span<const TokenId> part = tokens.subspan(begin, capacity);
    const absl::Status status = Pass(part);
    if (!status.ok()) {
      Truncate(before);
      return status;
    }
    last = static_cast<int>(part.size()) - 1;
  }
  RETURN_IF_ERROR(engine_.forward().Logits({last}, TensorView<float>(logits_buffer_.data(), 1, engine_.config().vocabulary)));
  has_logits_ = true;
  return absl::OkStatus();
}

absl::Status Session::AppendEach(absl::Span<const TokenId> tokens, const LogitsVisitor& on_logits) {
  RETURN_IF_ERROR(CheckRoom(tokens.size()));
  constexpr int kAtOnce = 32;  // Rows of logits held at a time: 32 MiB at a vocabulary of 262,144.
  const int64_t vocabulary = engine_.config().vocabulary;
  std::vector<float> some(kAtOnce * vocabulary);
  const int capacity = engine_.forward().row_capacity();
  for (size_t begin = 0; begin < tokens.size(); begin += capacity) {
    const absl::Span<const TokenId> part = tokens.subspan(begin, capacity);
    RETURN_IF_ERROR(Pass(part));
    for (int row = 0; row < static_cast<int>(part.size()); row += kAtOnce) {
      std::vector<int> chosen;
      for (int r = row; r < std::min<int>(row + kAtOnce, part.size()); ++r) chosen.push_back(r);
      TensorView<float> view(some.data(), chosen.size(), vocabulary);
      RETURN_IF_ERROR(engine_.forward().Logits(chosen, view));
      for (size_t i = 0; i < chosen.size(); ++i) {
        RETURN_IF_ERROR(on_logits(static_cast<int>(begin) + chosen[i], {view.row(i), static_cast<size_t>(vocabulary)}));
      }
      logits_buffer_.assign(view.row(chosen.size() - 1), view.row(chosen.size() - 1) + vocabulary);
    }
    has_logits_ = true;
  }
  return absl::OkStatus();
}

void Session::Truncate(int length) {
  CHECK(length >= 0 && length <= this->length());
  has_logits_ = has_logits_ && length == this->length();
  engine_.cache().Truncate(sequence_, length);
  tokens_.resize(length);
}

}  // namespace tessera
