#include "tessera/runtime/scheduler/stream.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/exit_predictor.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/layer_states.h"
#include "tessera/runtime/engine/placed_forecasts.h"
#include "tessera/runtime/scheduler/internal/text_writer.h"
#include "tessera/runtime/scheduler/text_queue.h"
#include "tessera/runtime/session/prompt.h"

namespace tessera {

namespace {

LayerListener* ListenerOf(const GenerateOptions& text) {
  return text.listener != nullptr || text.speculator == nullptr ? text.listener : text.speculator->listener();
}

// Shows the text to the output queue and to on_text.
StreamOptions ShowingOutput(StreamOptions options) {
  if (options.output == nullptr) return options;
  options.text.on_text = [output = options.output, on_text = std::move(options.text.on_text)](absl::string_view text) {
    output->Write(text);
    if (on_text) on_text(text);
  };
  return options;
}

absl::Status CheckPruning(EngineCore& core, const GenerateOptions& text) {
  const bool listens = ListenerOf(text) != nullptr;
  if (core.motion() != nullptr && (text.prune.predictor != nullptr || listens)) {
    return absl::InvalidArgumentError(absl::StrCat(listens ? "listener" : "pruning",
                                                   ": found an engine that switches graphs, expected one with the graphs it began with"));
  }
  if (text.prune.predictor == nullptr) return absl::OkStatus();
  if (text.speculator == nullptr) return absl::InvalidArgumentError("pruning: found no speculator, expected one, whose drafts are pruned");
  RETURN_IF_ERROR(CheckPruneOptions(text.prune.rule));
  return text.prune.predictor->CheckFits(core.model().config(), core.model().weights());
}

absl::Status CheckText(EngineCore& core, const GenerateOptions& text) {
  const PlacedForecasts* const forecasts = text.speculator == nullptr ? nullptr : text.speculator->forecasts();
  if (forecasts != nullptr) RETURN_IF_ERROR(forecasts->CheckFits(core));
  const int vocabulary = core.model().config().vocabulary;
  if (text.first.has_value() && (*text.first < 0 || *text.first >= vocabulary)) {
    return absl::InvalidArgumentError(absl::StrCat("first token: found ", *text.first, ", expected 0 to ", vocabulary - 1));
  }
  return CheckPruning(core, text);
}

}  // namespace

Stream::Stream(EngineCore& core, StreamOptions options, Sampler sampler)
    : core_(core), options_(ShowingOutput(std::move(options))), sampler_(std::move(sampler)),
      writer_(std::make_unique<TextWriter>(core, sampler_, options_.text, result_)), tokens_(options_.prompt) {
  options_.text.listener = ListenerOf(options_.text);
}

Stream::~Stream() = default;

absl::StatusOr<std::unique_ptr<Stream>> Stream::Create(EngineCore& core, StreamOptions&& options) {
  ASSIGN_OR_RETURN(Sampler sampler, Sampler::Create(options.sampling));
  RETURN_IF_ERROR(CheckText(core, options.text));
  if (options.adapter != nullptr) RETURN_IF_ERROR(options.adapter->CheckFits(core.model().config()));
  const int tokens = static_cast<int>(options.prompt.size()), vocabulary = core.model().config().vocabulary;
  if (tokens == 0) return absl::InvalidArgumentError("stream: found a prompt without tokens, expected at least one");
  if (tokens > core.context()) {
    return LimitedBy("context", absl::ResourceExhaustedError(absl::StrCat("stream: found a prompt of ", tokens,
                                                                          " tokens, expected at most ", core.context(), ", the context")));
  }
  for (int i = 0; i < tokens; ++i) {
    const TokenId token = options.prompt[i];
    if (token >= 0 && token < vocabulary) continue;
    return absl::InvalidArgumentError(absl::StrCat("token ", i, ": found ", token, ", expected 0 to ", vocabulary - 1));
  }
  return std::unique_ptr<Stream>(new Stream(core, std::move(options), std::move(sampler)));
}

absl::StatusOr<std::unique_ptr<Stream>> Stream::Continue(EngineCore& core, CachedText& text, absl::Span<const float> logits,
                                                         const Sampler& sampler, StreamOptions options) {
  RETURN_IF_ERROR(CheckText(core, options.text));
  auto stream = std::unique_ptr<Stream>(new Stream(core, std::move(options), sampler));
  stream->text_ = &text;
  RETURN_IF_ERROR(stream->Choose(logits));
  return stream;
}

void Stream::Start(std::unique_ptr<CachedText> begun) {
  if (!std::exchange(started_, true) && begun != nullptr) result_.shared_tokens = begun->held();
  own_text_ = begun != nullptr ? std::move(begun) : std::make_unique<CachedText>(core_.cache());
  text_ = own_text_.get();
  text_->Append(absl::MakeConstSpan(tokens_).subspan(text_->length()));
  tokens_.clear();
  if (!next_.has_value()) PlanLearning();
}

void Stream::Preempt() {
  tokens_.assign(text_->tokens().begin(), text_->tokens().end());
  text_ = nullptr;
  own_text_ = nullptr;
}

std::unique_ptr<CachedText> Stream::TakeText() {
  text_ = nullptr;
  return std::move(own_text_);
}

void Stream::PlanLearning() {
  learn_.clear();
  if (speculator() == nullptr || speculator()->needs().top_of_prompt == 0) return;
  const int held = text_->held();
  learn_ = PlacesToLearn(core_, text_->tokens().subspan(held));
  for (int& place : learn_) place += held;
  prompt_first_ = held;
  prompt_top_.assign(pending(), {});
}

const TokenTree& Stream::Draft(const TreeRoom& room) {
  CHECK(next_.has_value() && pending() == 0);
  const int64_t written = static_cast<int64_t>(result_.tokens.size()), most = options_.text.max_tokens;
  // A pass gives one token more than the depth of the draft.
  const int64_t wanted = most > 0 ? std::min<int64_t>(room.rows, most - written) : room.rows;
  if (speculator() == nullptr) draft_.emplace(next_->token);
  else draft_ = speculator()->Draft({.rows = room.rows, .depth = std::min(room.depth, static_cast<int>(wanted) - 1)});
  return *draft_;
}

TreeToCut Stream::ToCut(const TokenTree& draft) const {
  return speculator() == nullptr ? TreeToCut{.tree = &draft} : speculator()->ToCut();
}

absl::Status Stream::PlaceChunk(int count, std::vector<PassRow>& rows) {
  const int first = text_->held();
  base_ = static_cast<int>(rows.size());
  RETURN_IF_ERROR(text_->PlaceNext(count, options_.adapter, rows));
  chunk_ = count;
  chunk_begin_ = first;
  chunk_chooses_ = pending() == 0 && !next_.has_value();
  wanted_.clear();
  given_ = 0;
  const auto begin = std::lower_bound(learn_.begin(), learn_.end(), first);
  for (auto place = begin; place != learn_.end() && *place < first + count; ++place) wanted_.push_back(base_ + *place - first);
  const int last = base_ + count - 1;
  if (chunk_chooses_ && (wanted_.empty() || wanted_.back() != last)) wanted_.push_back(last);
  return absl::OkStatus();
}

absl::Status Stream::PlaceTree(const RowChoice& choice, std::vector<PassRow>& rows) {
  base_ = static_cast<int>(rows.size());
  tree_ = speculator() == nullptr ? *draft_ : speculator()->Choose(choice);
  RETURN_IF_ERROR(text_->PlaceTree(*tree_, options_.adapter, rows, TreeForecastsNow()));
  plan_ = speculator() == nullptr ? LogitsPlan() : speculator()->logits_plan();
  verification_ = Verification(*tree_);
  pruned_ = false;
  gone_.clear();
  top_.assign(tree_->size(), {});
  last_node_ = TokenTree::kNone;
  ahead_.clear();
  given_ = 0;
  return absl::OkStatus();
}

void Stream::AddWanted(std::vector<int>& wanted) const {
  if (chunk_ > 0) {
    wanted.insert(wanted.end(), wanted_.begin(), wanted_.end());
  } else {
    for (int node = 0; node < tree_->size(); ++node) {
      if (!IsGone(node)) wanted.push_back(base_ + node);
    }
    AddRowsOfForecasts(/*gone=*/false, wanted);
  }
}

absl::Span<const int> Stream::WantsLogits(int most) {
  asked_.clear();
  if (failed_) return asked_;
  if (chunk_ > 0) {
    const auto more = absl::MakeConstSpan(wanted_).subspan(given_, most);
    asked_.assign(more.begin(), more.end());
  } else if (const int node = verification_.node(); node != TokenTree::kNone) {
    const int first = given_ == 0 ? std::clamp(plan_.first_rows, 1, std::min(tree_->size(), most)) : 0;
    for (int i = 0; i < tree_->size() && static_cast<int>(asked_.size()) < first; ++i) {
      if (!IsGone(i)) asked_.push_back(base_ + i);
    }
    if (first == 0) asked_.push_back(base_ + node);
  }
  if (!asked_.empty()) last_logits_ = {};   // The memory of these logits may be overwritten now.
  return asked_;
}

int Stream::wants_top() const {
  if (speculator() == nullptr) return 0;
  return chunk_ > 0 ? (learn_.empty() ? 0 : speculator()->needs().top_of_prompt) : plan_.top;
}

int Stream::PlaceOf(int node) const {
  const auto place = std::lower_bound(asked_.begin(), asked_.end(), base_ + node);
  return place == asked_.end() || *place != base_ + node ? TokenTree::kNone : static_cast<int>(place - asked_.begin());
}

void Stream::ChooseAhead(TensorView<const float> logits) {
  if (options_.text.rule == DraftRule::kRejection) return;   // The drawn tokens count, too.
  int row = static_cast<int>(logits.rows()) - 1;
  if (chunk_ == 0) row = PlaceOf(verification_.node());
  else if (!chunk_chooses_ || given_ + asked_.size() < wanted_.size()) return;
  if (row != TokenTree::kNone) writer_->ChooseAhead({logits.row(row), static_cast<size_t>(logits.columns())});
}

absl::Status Stream::Give(TensorView<const float> logits, absl::Span<TopTokens> top) {
  const absl::Status status = chunk_ > 0 ? GiveChunk(logits, top) : GiveTree(logits, top);
  failed_ = !status.ok();
  return status;
}

const DrawnChildren* Stream::DrawnAfter(int node) const {
  if (options_.text.rule != DraftRule::kRejection || speculator() == nullptr) return nullptr;
  return speculator()->Drawn(tree_->PathTo(node));
}

absl::Status Stream::Choose(absl::Span<const float> logits, const DrawnChildren* drawn) {
  ASSIGN_OR_RETURN(next_, writer_->Next(logits, drawn));
  last_logits_ = logits;
  return absl::OkStatus();
}

absl::Status Stream::GiveTree(TensorView<const float> logits, absl::Span<TopTokens> top) {
  for (size_t i = 0; i < top.size(); ++i) top_[asked_[i] - base_] = std::move(top[i]);
  const size_t columns = static_cast<size_t>(logits.columns());
  while (verification_.node() != TokenTree::kNone) {
    const int place = PlaceOf(verification_.node());
    if (place == TokenTree::kNone) break;
    last_node_ = verification_.node();
    RETURN_IF_ERROR(Choose({logits.row(place), columns}, DrawnAfter(last_node_)));
    verification_.Next(*next_);
  }
  given_ += asked_.size();
  return absl::OkStatus();
}

absl::Status Stream::GiveChunk(TensorView<const float> logits, absl::Span<TopTokens> top) {
  const int first = chunk_begin_ - prompt_first_ - base_;   // From rows of the pass to entries of prompt_top_.
  for (size_t i = 0; i < top.size(); ++i) prompt_top_[asked_[i] + first] = std::move(top[i]);
  if (const auto& spend = core_.options().spend; spend != nullptr && !top.empty()) {
    spend(CpuWork::kSampledTokens, static_cast<int64_t>(top.size()));
  }
  given_ += asked_.size();
  if (!chunk_chooses_ || given_ < wanted_.size()) return absl::OkStatus();
  return Choose({logits.row(logits.rows() - 1), static_cast<size_t>(logits.columns())});
}

void Stream::Settle(const absl::Status& pass, const StepTime& time) {
  if (chunk_ > 0) SettleChunk(pass);
  else if (text_->tree() != nullptr) SettleTree(pass, time);
  failed_ = false;
}

void Stream::SettleChunk(const absl::Status& pass) {
  const int chunk = std::exchange(chunk_, 0);
  std::vector<int> rows(pass.ok() && options_.text.listener != nullptr ? chunk : 0);
  std::iota(rows.begin(), rows.end(), 0);
  TellKept(chunk_begin_, rows);
  if (!pass.ok()) return text_->TruncateCache(text_->held() - chunk);
  if (pending() == 0 && next_.has_value()) BeginSpeculation();
}

void Stream::TellKept(int first, absl::Span<const int> rows) {
  if (options_.text.listener == nullptr) return;
  options_.text.listener->EndPass(first, text_->tokens().subspan(static_cast<size_t>(first), rows.size()), rows);
}

// Begins speculation once. A preempted stream continues with its speculator, which has seen the whole sequence.
void Stream::BeginSpeculation() {
  if (speculator() == nullptr || next_->last || std::exchange(speculates_, true)) return;
  if (!learn_.empty()) speculator()->LearnPrompt(prompt_first_, std::move(prompt_top_));
  learn_.clear();
  std::vector<TokenId> so_far(text_->tokens().begin(), text_->tokens().end());
  so_far.push_back(next_->token);
  speculator()->Join(options_.text.siblings);
  speculator()->Begin(so_far);
}

const TokenTree* Stream::TreeToPrune() const {
  const bool may = pruning().predictor != nullptr && chunk_ == 0 && tree_.has_value() && MayPrune(*tree_, pruning().rule);
  return may ? &*tree_ : nullptr;
}

void Stream::Prune(absl::Span<const int> kept, std::vector<int>& dropped) {
  pruned_ = true;
  if (static_cast<int>(kept.size()) == tree_->size()) return;
  gone_.assign(tree_->size(), true);
  for (const int node : kept) gone_[node] = false;
  for (int node = 0; node < tree_->size(); ++node) {
    if (gone_[node]) dropped.push_back(base_ + node);
  }
  AddRowsOfForecasts(/*gone=*/true, dropped);
  verification_.Prune(gone_);
}

bool Stream::LostByPruning(const Verdict& verdict) const {
  if (gone_.empty() || next_->last || verdict.path.empty()) return false;
  const int next = tree_->Child(verdict.path.back(), verdict.emitted.back());
  return next != TokenTree::kNone && IsGone(next);
}

void Stream::SettleTree(const absl::Status& pass, const StepTime& time) {
  const bool chose_all = pass.ok() && !failed_;
  const bool unsettled = verification_.node() != TokenTree::kNone;
  Verdict verdict = verification_.Take();
  // The last node gave no token: as if the pass had ended before that node.
  if (unsettled) verdict.path.pop_back();
  Timeline* const timeline = speculator() == nullptr ? nullptr : core_.timeline();   // A token without a draft is no event.
  const TimelineScope scope(timeline, Zone::kCommit, static_cast<int32_t>(verdict.path.size()));
  text_->KeepPath(verdict.path, core_.compacts_drafts());
  TellKept(text_->held() - static_cast<int>(verdict.path.size()), verdict.path);
  if (!chose_all) return;
  result_.passes += 1;
  result_.rows += RowsLeft();
  if (pruned_) {
    gate_.LearnLoss(LostByPruning(verdict));
    result_.pruned = gate_.report();
  }
  if (speculator() == nullptr) return;
  verdict.top = std::move(top_);
  verdict.ahead = std::move(ahead_);
  speculator()->Commit(*tree_, verdict, time);
}

void Stream::Abandon() {
  if (text_ != nullptr) text_->Abandon();
}

std::vector<TokenId> Stream::AllTokens() const {
  std::vector<TokenId> all(tokens().begin(), tokens().end());
  if (next_.has_value()) all.push_back(next_->token);
  return all;
}

bool Stream::paused() const { return options_.output != nullptr && options_.output->full(); }

bool Stream::TellWaits() {
  if (std::exchange(told_waits_, true)) return false;
  if (options_.on_wait) options_.on_wait();
  return true;
}

void Stream::End(const absl::Status& status) {
  CHECK(!ended_);
  ended_ = true;
  if (status.ok()) writer_->Finish();
  if (options_.output != nullptr) options_.output->End();
  if (!options_.on_end) return;
  if (status.ok()) options_.on_end(result_);
  else options_.on_end(status);
}

}  // namespace tessera
