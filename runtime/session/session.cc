#include "tessera/runtime/session/session.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/layer_states.h"

namespace tessera {

namespace {

// Changes graphs while a prompt is read and the core is held, as for passes. A prompt that does not reach End moves no more graphs.
// REQUIRES: this thread does not hold the core when Begin, End or the destructor is called.
class PromptMotion {
 public:
  explicit PromptMotion(EngineCore& core) : core_(core) {}
  ~PromptMotion() {
    if (number_ == 0) return;
    const EngineCore::Hold hold = core_.AwaitHold();
    if (!core_.health().ok()) return;
    if (core_.motion()->report().prompts == number_) core_.motion()->DropPrompt();   // Else another prompt has begun since.
  }
  PromptMotion(const PromptMotion&) = delete;
  PromptMotion& operator=(const PromptMotion&) = delete;

  absl::Status Begin(size_t tokens) {
    if (core_.motion() == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_.TryHold());
    RETURN_IF_ERROR(core_.motion()->BeginPrompt(static_cast<int>(tokens)));
    number_ = core_.motion()->report().prompts;
    return absl::OkStatus();
  }

  absl::Status End() {
    if (core_.motion() == nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_.TryHold());
    number_ = 0;
    return core_.motion()->EndPrompt();
  }

 private:
  EngineCore& core_;
  int number_ = 0;   // The motion's count of prompts when this one began; 0: none is under way.
};

}  // namespace

EngineCore& CoreOf(const Session& session) { return *session.core_; }

absl::StatusOr<std::unique_ptr<Session>> Engine::NewSession(const SessionOptions& options) {
  if (!core_->is_loaded()) return absl::FailedPreconditionError("NewSession: found no weights, expected LoadWeights before");
  if (options.adapter != nullptr) RETURN_IF_ERROR(options.adapter->CheckFits(config()));
  return core_->Guarded([&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->TryHold());
    return std::unique_ptr<Session>(new Session(core_, std::make_unique<CachedText>(core_->cache()), options));
  });
}

Session::Session(std::shared_ptr<EngineCore> core, std::unique_ptr<CachedText> text, const SessionOptions& options)
    : core_(std::move(core)), options_(options), text_(std::move(text)), logits_buffer_(core_->model().config().vocabulary),
      logits_(logits_buffer_) {}

Session::~Session() {
  const EngineCore::Hold hold = core_->AwaitHold();
  if (!core_->health().ok()) text_->Abandon();
  text_->Release();
}

absl::Status Session::CheckTokens(absl::Span<const TokenId> tokens) const {
  const int context = core_->context(), vocabulary = core_->model().config().vocabulary;
  if (length() + tokens.size() > static_cast<size_t>(context)) {
    return LimitedBy("context", absl::ResourceExhaustedError(absl::StrCat("context: found ", length(), " tokens and ", tokens.size(),
                                                                          " more, expected at most ", context, " together")));
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] >= 0 && tokens[i] < vocabulary) continue;
    return absl::InvalidArgumentError(absl::StrCat("token ", i, ": found ", tokens[i], ", expected 0 to ", vocabulary - 1));
  }
  return absl::OkStatus();
}

absl::Status Session::AppendPass(absl::Span<const TokenId> tokens, absl::Span<const int> wanted) {
  text_->Append(tokens);
  return RunPass(static_cast<int>(tokens.size()), wanted);
}

absl::Status Session::RunPass(int count, absl::Span<const int> wanted) {
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->TryHold());
  const int before = text_->held();
  RETURN_IF_ERROR(core_->MakeRoom(count));
  rows_.clear();
  RETURN_IF_ERROR(text_->PlaceNext(count, options_.adapter, rows_));
  const absl::Status status = RunRows(wanted);
  TellKept(before, status.ok() ? count : 0);
  if (!status.ok()) text_->TruncateCache(before);
  return status;
}

LayerListener* Session::Told() const { return core_->motion() == nullptr ? listener_ : nullptr; }

void Session::TellKept(int first, int count) const {
  LayerListener* const told = Told();
  if (told == nullptr) return;
  std::vector<int> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  told->EndPass(first, tokens().subspan(static_cast<size_t>(first), rows.size()), rows);
}

absl::Status Session::RunRows(std::optional<absl::Span<const int>> wanted) {
  last_pass_ = HiddenRows();
  ASSIGN_OR_RETURN(Pass pass, core_->Begin(rows_, options_.cancel));
  if (LayerListener* const told = Told(); told != nullptr) {
    const ListeningRows listening[] = {{told, /*first_row=*/0, static_cast<int>(rows_.size())}};
    RETURN_IF_ERROR(TellLayers(pass, listening));
  }
  ASSIGN_OR_RETURN(last_pass_, wanted ? core_->Finish(pass, *wanted) : core_->FinishAll(pass));
  return absl::OkStatus();
}

absl::Status Session::ComputeLogits(absl::Span<const int> rows, TensorView<float> logits) {
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->TryHold());
  return core_->runner().Logits(last_pass_, rows, logits, options_.cancel);
}

absl::StatusOr<int> Session::HeldLength() {
  ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->TryHold());
  text_->MakeExtendable();
  return text_->held();
}

absl::Status Session::Restore() {
  const int capacity = core_->runner().row_capacity();
  while (true) {
    ASSIGN_OR_RETURN(const int held, HeldLength());
    if (held == length()) return absl::OkStatus();
    RETURN_IF_ERROR(RunPass(std::min(length() - held, capacity), /*wanted=*/{}));
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
  const size_t capacity = core_->prompt_rows();
  int last = 0;
  PromptMotion motion(*core_);
  RETURN_IF_ERROR(motion.Begin(tokens.size()));
  for (size_t begin = 0; begin < tokens.size(); begin += capacity) {
    const absl::Span<const TokenId> part = tokens.subspan(begin, capacity);
    last = static_cast<int>(part.size()) - 1;
    const bool more = begin + capacity < tokens.size();
    RETURN_IF_ERROR(AppendPass(part, more ? absl::Span<const int>() : absl::MakeConstSpan(&last, 1)));
  }
  RETURN_IF_ERROR(motion.End());
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

// Appends like AppendSome, without undoing. The last token's logits are always computed with the others, even if not asked for.
absl::Status Session::AppendSomePart(absl::Span<const TokenId> tokens, absl::Span<const int> indices, const LogitsVisitor& on_logits) {
  const size_t at_once = core_->logits_at_once();
  const size_t vocabulary = logits_buffer_.size(), capacity = core_->prompt_rows();
  const int last = static_cast<int>(tokens.size()) - 1;
  std::vector<float> some(std::min(at_once, indices.size() + 1) * vocabulary);
  std::vector<int> rows;                     // Rows of the pass that get logits.
  PromptMotion motion(*core_);
  RETURN_IF_ERROR(motion.Begin(tokens.size()));
  for (size_t begin = 0; begin < tokens.size(); begin += capacity) {
    const absl::Span<const TokenId> part = tokens.subspan(begin, capacity);
    const int end = static_cast<int>(begin + part.size());
    rows.clear();
    size_t asked = 0;
    for (; asked < indices.size() && indices[asked] < end; ++asked) rows.push_back(indices[asked] - static_cast<int>(begin));
    indices.remove_prefix(asked);
    if (end > last && (rows.empty() || rows.back() != last - static_cast<int>(begin))) rows.push_back(last - static_cast<int>(begin));
    RETURN_IF_ERROR(AppendPass(part, rows));
    if (end > last) RETURN_IF_ERROR(motion.End());
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
  CHECK(text_->tree() == nullptr) << "a tree waits for Keep";
  if (length < 0 || length > this->length()) {
    return absl::InvalidArgumentError(absl::StrCat("fork: found a length of ", length, ", expected 0 to ", this->length()));
  }
  SessionOptions of_fork = options;
  if (of_fork.adapter == nullptr) of_fork.adapter = adapter();
  if (PrefixIndex::KeyOf(of_fork.adapter) != PrefixIndex::KeyOf(adapter())) {
    return absl::InvalidArgumentError("fork: found another adapter, expected that of the session");
  }
  return core_->Guarded([&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    std::unique_ptr<CachedText> text;
    {
      ASSIGN_OR_RETURN(const EngineCore::Hold hold, core_->TryHold());
      ASSIGN_OR_RETURN(text, text_->Fork(length));
    }
    auto fork = std::unique_ptr<Session>(new Session(core_, std::move(text), of_fork));
    fork->has_logits_ = has_logits_ && length == this->length();
    if (fork->has_logits_) std::copy(logits_.begin(), logits_.end(), fork->logits_buffer_.begin());
    return fork;
  });
}

void Session::Shorten(int length) {
  const absl::Status cut = core_->Guarded([&]() -> absl::Status {
    const EngineCore::Hold hold = core_->AwaitHold();
    RETURN_IF_ERROR(core_->health());
    text_->Truncate(length);
    return absl::OkStatus();
  });
  if (cut.ok()) return;
  text_->Abandon();
  text_->Truncate(length);
}

}  // namespace tessera
