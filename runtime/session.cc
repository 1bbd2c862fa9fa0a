#include "tessera/runtime/session.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/core.h"

namespace tessera {

Session::Session(std::shared_ptr<EngineCore> core, KvCache::SequenceId sequence, const SessionOptions& options)
    : core_(std::move(core)), options_(options), sequence_(sequence), logits_buffer_(core_->model().config().vocabulary),
      logits_(logits_buffer_) {}

Session::~Session() {
  const EngineCore::Hold hold = core_->AwaitHold();
  if (!core_->health().ok()) return;
  if (tree_.has_value()) EndTree(TokenTree::kNone);
  core_->cache().Release(sequence_);
}

absl::Status Session::CheckTokens(absl::Span<const TokenId> tokens) const {
  const int context = core_->context(), vocabulary = core_->model().config().vocabulary;
  if (tokens_.size() + tokens.size() > static_cast<size_t>(context)) {
    return LimitedBy("context", absl::ResourceExhaustedError(absl::StrCat("context: found ", tokens_.size(), " tokens and ", tokens.size(),
                                                                          " more, expected at most ", context, " together")));
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocabulary) continue;
    return absl::InvalidArgumentError(absl::StrCat("token ", i, ": found ", tokens[i], ", expected 0 to ", vocabulary - 1));
  }
  return absl::OkStatus();
}

absl::Status Session::AppendPass(absl::Span<const TokenId> tokens, absl::Span<const int> wanted) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return RunPass(tokens, wanted);
}

absl::Status Session::RunPass(absl::Span<const TokenId> tokens, absl::Span<const int> wanted) {
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->TryHold());
  KvCache& cache = core_->cache();
  const int before = cache.Length(sequence_), count = static_cast<int>(tokens.size());
  RETURN_IF_ERROR(cache.MakeRoom(count));
  RETURN_IF_ERROR(cache.Extend(sequence_, count));
  paths_.clear();
  rows_.clear();
  for (int i = 0; i < count; ++i) paths_.push_back(cache.PathsOf(sequence_, before + i + 1));
  for (int i = 0; i < count; ++i) rows_.push_back({tokens[i], paths_[i], nullptr});
  const absl::Status status = RunRows(wanted);
  if (!status.ok()) cache.Truncate(sequence_, before);
  return status;
}

absl::Status Session::RunRows(std::optional<absl::Span<const int>> wanted) {
  last_pass_ = HiddenRows();
  ASSIGN_OR_RETURN(Pass pass, core_->Begin(rows_, options_.cancel));
  ASSIGN_OR_RETURN(last_pass_, wanted ? pass.Finish(*wanted) : pass.FinishAll());
  return absl::OkStatus();
}

absl::Status Session::ComputeLogits(absl::Span<const int> rows, TensorView<float> logits) {
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->TryHold());
  return core_->runner().Logits(last_pass_, rows, logits, options_.cancel);
}

absl::StatusOr<int> Session::HeldLength() {
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->TryHold());
  KvCache& cache = core_->cache();
  if (!cache.CanExtend(sequence_)) cache.Truncate(sequence_, 0);
  return cache.Length(sequence_);
}

absl::Status Session::Restore() {
  const size_t capacity = core_->runner().row_capacity();
  while (true) {
    ASSIGN_OR_RETURN(const int held, HeldLength());
    if (held == length()) return absl::OkStatus();
    RETURN_IF_ERROR(RunPass(absl::MakeConstSpan(tokens_).subspan(held, capacity), /*wanted=*/{}));
  }
}

absl::Status Session::OrUndo(int length, const absl::Status& status) {
  if (status.ok()) return status;
  Shorten(length);
  return status;
}

absl::Status Session::Append(absl::Span<const TokenId> tokens) {
  return core_->Guarded([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckTokens(tokens));
    RETURN_IF_ERROR(Restore());
    if (tokens.empty()) return absl::OkStatus();
    const int before = length();
    return OrUndo(before, AppendParts(tokens));
  });
}

absl::Status Session::AppendParts(absl::Span<const TokenId> tokens) {
  const size_t capacity = core_->runner().row_capacity();
  int last = 0;
  for (size_t begin = 0; begin < tokens.size(); begin += capacity) {
    const absl::Span<const TokenId> part = tokens.subspan(begin, capacity);
    last = static_cast<int>(part.size()) - 1;
    const bool more = begin + capacity < tokens.size();
    RETURN_IF_ERROR(AppendPass(part, more ? absl::Span<const int>() : absl::MakeConstSpan(&last, 1)));
  }
  has_logits_ = false;
  RETURN_IF_ERROR(ComputeLogits({last}, TensorView<float>(logits_buffer_.data(), 1, static_cast<int64_t>(logits_buffer_.size()))));
  has_logits_ = true;
  return absl::OkStatus();
}

absl::Status Session::AppendEach(absl::Span<const TokenId> tokens, const LogitsVisitor& on_logits) {
  return core_->Guarded([&] {
    std::vector<int> all(tokens.size());
    std::iota(all.begin(), all.end(), 0);
    return AppendSome(tokens, all, on_logits);
  });
}

absl::Status Session::AppendSome(absl::Span<const TokenId> tokens, absl::Span<const int> indices, const LogitsVisitor& on_logits) {
  if (tokens.empty()) return absl::OkStatus();
  return core_->Guarded([&]() -> absl::Status {
    RETURN_IF_ERROR(CheckTokens(tokens));
    RETURN_IF_ERROR(Restore());
    const int before = length();
    return OrUndo(before, AppendSomePart(tokens, indices, on_logits));
  });
}

// The last token's logits are computed with the others', asked for or not.
absl::Status Session::AppendSomePart(absl::Span<const TokenId> tokens, absl::Span<const int> indices, const LogitsVisitor& on_logits) {
  const size_t at_once = core_->logits_at_once();
  const size_t vocabulary = logits_buffer_.size(), capacity = core_->runner().row_capacity();
  const int last = static_cast<int>(tokens.size()) - 1;
  std::vector<float> some(std::min(at_once, indices.size() + 1) * vocabulary);
  std::vector<int> rows;                     // Rows of the pass that get logits.
  for (size_t begin = 0; begin < tokens.size(); begin += capacity) {
    const absl::Span<const TokenId> part = tokens.subspan(begin, capacity);
    const int end = static_cast<int>(begin + part.size());
    rows.clear();
    size_t asked = 0;
    for (; asked < indices.size() && indices[asked] < end; ++asked) rows.push_back(indices[asked] - static_cast<int>(begin));
    indices.remove_prefix(asked);
    if (end > last && (rows.empty() || rows.back() != last - static_cast<int>(begin))) rows.push_back(last - static_cast<int>(begin));
    RETURN_IF_ERROR(AppendPass(part, rows));
    for (size_t first = 0; first < rows.size(); first += at_once) {
      const absl::Span<const int> chosen = absl::MakeConstSpan(rows).subspan(first, at_once);
      const TensorView<float> view(some.data(), static_cast<int64_t>(chosen.size()), static_cast<int64_t>(vocabulary));
      RETURN_IF_ERROR(ComputeLogits(chosen, view));
      for (size_t i = 0; i < chosen.size() && first + i < asked; ++i) {
        RETURN_IF_ERROR(on_logits(static_cast<int>(begin) + chosen[i], {view.row(i), vocabulary}));
      }
      if (first + chosen.size() == rows.size() && end > last) std::copy_n(view.row(chosen.size() - 1), vocabulary, logits_buffer_.data());
    }
  }
  has_logits_ = true;
  return absl::OkStatus();
}

void Session::Truncate(int length) {
  CHECK(length >= 0 && length <= this->length());
  has_logits_ = has_logits_ && length == this->length();
  Shorten(length);
}

absl::StatusOr<std::unique_ptr<Session>> Session::Fork(int length, const SessionOptions& options) const {
  CHECK(!tree_.has_value()) << "a tree waits for Keep";
  if (length < 0 || length > this->length()) {
    return absl::InvalidArgumentError(absl::StrCat("fork: found a length of ", length, ", expected 0 to ", this->length()));
  }
  return core_->Guarded([&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    KvCache::SequenceId sequence;
    {
      ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->TryHold());
      KvCache& cache = core_->cache();
      ASSIGN_OR_RETURN(sequence, cache.Fork(sequence_, std::min(length, cache.Length(sequence_))));
    }
    auto fork = std::unique_ptr<Session>(new Session(core_, sequence, options));
    fork->tokens_.assign(tokens_.begin(), tokens_.begin() + length);
    fork->has_logits_ = has_logits_ && length == this->length();
    if (fork->has_logits_) std::copy(logits_.begin(), logits_.end(), fork->logits_buffer_.begin());
    return fork;
  });
}

void Session::Shorten(int length) {
  const EngineCore::Hold hold = core_->AwaitHold();
  if (!core_->health().ok()) return tokens_.resize(length);
  KvCache& cache = core_->cache();
  cache.Truncate(sequence_, std::min(length, cache.Length(sequence_)));
  tokens_.resize(length);
}

}  // namespace tessera
