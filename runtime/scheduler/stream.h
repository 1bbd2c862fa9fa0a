// A text that is being written, as a state machine: it says which rows it would have next, places them, takes logits, and keeps what came
// true. It runs no pass: a Stepper (stepper.h) makes one pass for many streams.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream, Stream::Create(core, {.prompt = tokens, .text = {.max_tokens = 64}}));
//   stream->Start(/*begun=*/nullptr);
//   while (!stream->finished()) {
//     if (stream->pending() > 0) RETURN_IF_ERROR(stream->PlaceChunk(std::min(stream->pending(), 512), rows));
//     else RETURN_IF_ERROR(stream->PlaceTree(ChooseRows(stream->Draft(room), costs, limits), rows));   // AddForecasts before, if any
//     ... a pass over the rows, of which stream->AddWanted(wanted) get logits ...
//     while (!stream->WantsLogits(32).empty()) stream->Give(logits_of(stream->WantsLogits(32)));
//     stream->Settle(absl::OkStatus(), time);
//   }
//   stream->End(absl::OkStatus());                              // result() has it
//
// A stream writes what it would write alone, whatever else is in its passes. Threads: that which drives it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/model/text/sampler.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/session/generation.h"
#include "tessera/spec/policies/prune_gate.h"
#include "tessera/spec/policies/prune_rule.h"
#include "tessera/spec/policies/row_policy.h"
#include "tessera/spec/trees/verify.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

class EngineCore;
class TextQueue;
class TextWriter;

using StreamId = int64_t;

struct StreamOptions {
  std::vector<TokenId> prompt = {};               // What the text continues: at least one token.
  SamplingOptions sampling = {};
  GenerateOptions text = {};                      // Limits, stop rules, callbacks, the speculator of this text alone.
  const LoraAdapter* adapter = nullptr;           // Must outlive the stream. Null: the model as it is.
  const std::atomic<bool>* cancel = nullptr;      // True ends the text with kCancelled after the pass under way. Null: never.
  TextQueue* output = nullptr;                  // The text goes there, too, and pauses while it is full. Must outlive the stream.
  // It does not fit into the cache beside the other texts, so it waits. At most once. This and the next are called on the driving thread.
  std::function<void()> on_wait = nullptr;
  // The end, once: what was written, or the first error.
  std::function<void(const absl::StatusOr<Generation>& result)> on_end = nullptr;
};

class Stream {
 public:
  // A stream that waits: it has nothing in the cache. InvalidArgument for a prompt without tokens or with one outside the vocabulary, for a
  // first token of the text outside it, for an adapter of another model, for pruning that cannot be (a rule out of range, a predictor of
  // another model, no speculator), and for pruning or a listener where the engine switches graphs; ResourceExhausted (limited by context)
  // if the prompt leaves no room; the errors of Sampler::Create. After an error the options are as they were.
  static absl::StatusOr<std::unique_ptr<Stream>> Create(EngineCore& core, StreamOptions&& options);
  // A stream that goes on in `text`, which is not its own and must outlive it; `logits`, [vocabulary], are those after its last token. The
  // first token is chosen already. Options: but for the prompt and the sampling. InvalidArgument for pruning and a first token, as above;
  // the error of choosing. BeginSpeculation is to be called.
  static absl::StatusOr<std::unique_ptr<Stream>> Continue(EngineCore& core, CachedText& text, absl::Span<const float> logits,
                                                          const Sampler& sampler, StreamOptions options);
  ~Stream();

  // Goes on from `begun`, a text that holds the first tokens of this one, all but the last at most; null: from nothing.
  void Start(std::unique_ptr<CachedText> begun);
  // Gives up all that the cache has of it, to be started again: nothing of the text is lost.
  void Preempt();
  bool waits() const { return text_ == nullptr; }
  bool ended() const { return ended_; }
  // Whoever reads the text is behind: it is to have no tree in the next pass.
  bool paused() const;

  const StreamOptions& options() const { return options_; }
  // Tokens of prompt and text, but for the one chosen last. Whatever the state.
  absl::Span<const TokenId> tokens() const { return text_ == nullptr ? tokens_ : text_->tokens(); }
  // The same with that one.
  std::vector<TokenId> AllTokens() const;
  // What the cache holds of it. REQUIRES: it neither waits nor has ended.
  const CachedText& text() const { return *text_; }
  // Tokens to be computed before the next one can be chosen; 0: a tree is next. REQUIRES: as text().
  int pending() const { return text_->length() - text_->held(); }

  // The draft for its next pass, uncut: the root alone, or what a speculator proposes below it. REQUIRES: pending() is 0.
  // The last one before a pass counts.
  const TokenTree& Draft(const TreeRoom& room);
  // How that draft may be cut.
  TreeToCut ToCut(const TokenTree& draft) const;
  // Gives what is chosen of it forecasts, if its speculator has them, as far as that pays; nodes may go for it. rows: of this text in all.
  void AddForecasts(int rows, RowChoice& choice) const;

  // Appends its rows of the next pass: the next `count` pending tokens, or the chosen part of the draft. After an error of the cache
  // nothing is placed. REQUIRES: room was made in the cache.
  absl::Status PlaceChunk(int count, std::vector<PassRow>& rows);
  absl::Status PlaceTree(const RowChoice& choice, std::vector<PassRow>& rows);
  // Half-way through the pass: the tree that was placed, if it might be pruned; null: it has none, or is not pruned. Its rows are base(),
  // base() + 1, ... in the pass.
  const TokenTree* TreeToPrune() const;
  int base() const { return base_; }
  int forecast_rows() const { return TreeForecastsNow().rows(); }   // Those of its tree, behind it.
  const Pruning& pruning() const { return options_.text.prune; }
  PruneGate& prune_gate() { return gate_; }
  // For each node of it with children, what may come after it.
  std::vector<CandidateSet> Candidates() const { return options_.text.speculator->Candidates(*tree_); }
  // Nodes that are not `kept` (PruneTree) count as if they had not been drafted; their rows are appended to `dropped`, ascending.
  void Prune(absl::Span<const int> kept, std::vector<int>& dropped);
  // Appends the rows of the pass that may get logits, by their numbers in the pass.
  void AddWanted(std::vector<int>& wanted) const;
  // Those that it wants logits of now, at most `most`, ascending; none: it has all it needs.
  absl::Span<const int> WantsLogits(int most);
  // How many of TopTokensOf each row it wants logits of are needed, too; 0: none.
  int wants_top() const;
  // Before Give of these logits: the first token that it chooses from them is chosen now. Any thread, beside others of other streams.
  void ChooseAhead(TensorView<const float> logits);
  // The logits it wanted: [rows, vocabulary], and `top` of each if that was needed. Chooses tokens and shows them. An error is this
  // stream's alone. The core need not be held: this looks at nothing of the cache, which other threads may use meanwhile.
  absl::Status Give(TensorView<const float> logits, absl::Span<TopTokens> top);
  // Once it wants no more: the forecasts of the node that its text has come to, of which it wants so many likeliest tokens each; none: it
  // wants nothing. And these, one for each row.
  absl::Span<const int> WantsAhead();
  int wants_top_ahead() const;
  void GiveAhead(absl::Span<TopTokens> top);

  // After the pass: keeps what came true, or is as it was before if the pass failed. An ended text is released by the owner.
  void Settle(const absl::Status& pass, const StepTime& time);

  // Whether its last token is chosen: it is to be ended.
  bool finished() const { return next_.has_value() && next_->last; }
  void SetReason(FinishReason reason) { result_.reason = reason; }
  // Ends the text: shows what was held back, unless there is an error, and calls on_end.
  void End(const absl::Status& status);
  const Generation& result() const { return result_; }
  Generation TakeResult() { return std::move(result_); }
  // The text as the cache has it, for whoever goes on from it; null if it waits. REQUIRES: the text is its own.
  std::unique_ptr<CachedText> TakeText();
  // Those that the last token was chosen from, which come after the last token of text(); they lie where they were given. Empty: unknown,
  // since a pass failed in its logits.
  absl::Span<const float> last_logits() const { return last_logits_; }
  // Tells the speculator of the text so far, once. Where Start began the text that is done after the prompt.
  void BeginSpeculation();
  // See CachedText::Abandon.
  void Abandon();
  // True the first time: it was told that it waits.
  bool TellWaits();

 private:
  Stream(EngineCore& core, StreamOptions options, Sampler sampler);
  Speculator* speculator() const { return options_.text.speculator; }
  void PlanLearning();
  absl::Status Choose(absl::Span<const float> logits, const DrawnChildren* drawn = nullptr);
  // Which of the logits that it wants now are those of a node of the tree; kNone: none.
  int PlaceOf(int node) const;
  // What was drawn for the place after a node of the tree; null: nothing, or the rule does not ask.
  const DrawnChildren* DrawnAfter(int node) const;
  absl::Status GiveTree(TensorView<const float> logits, absl::Span<TopTokens> top);
  absl::Status GiveChunk(TensorView<const float> logits, absl::Span<TopTokens> top);
  void SettleTree(const absl::Status& pass, const StepTime& time);
  void SettleChunk(const absl::Status& pass);
  // Tells the listener which rows are text now: the text's tokens from `first` on, one for each.
  void TellKept(int first, absl::Span<const int> rows);
  bool IsGone(int node) const { return !gone_.empty() && gone_[static_cast<size_t>(node)]; }
  // Those of the tree that was placed.
  TreeForecasts TreeForecastsNow() const;
  // Appends their rows, of nodes that are gone or of the others.
  void AddRowsOfForecasts(bool gone, std::vector<int>& rows) const;
  int64_t RowsLeft() const;   // Those of the tree and its forecasts.
  // Whether the text went where a pruned node was.
  bool LostByPruning(const Verdict& verdict) const;

  EngineCore& core_;
  StreamOptions options_;
  const Sampler sampler_;
  Generation result_;
  std::unique_ptr<TextWriter> writer_;
  std::vector<TokenId> tokens_;              // While it waits.
  std::unique_ptr<CachedText> own_text_;     // Null: it waits, or goes on in another's.
  CachedText* text_ = nullptr;               // Null: it waits.
  std::optional<Choice> next_;               // Chosen, and not part of the text so far.
  absl::Span<const float> last_logits_;
  bool started_ = false, ended_ = false, told_waits_ = false, speculates_ = false;

  // Its part of the pass under way: a chunk of the prompt, or a tree.
  int base_ = 0;                             // The number of its first row there.
  int chunk_ = 0;                            // Tokens of the chunk; 0: none.
  int chunk_begin_ = 0;                      // The place of its first token in the text.
  bool chunk_chooses_ = false;               // A token is chosen after its last one.
  std::vector<int> wanted_;                  // Rows of the chunk that get logits, by their numbers in the pass.
  std::optional<TokenTree> draft_, tree_;    // Uncut, and what of it was placed.
  LogitsPlan plan_;
  Verification verification_;
  bool pruned_ = false;                      // It was asked whether nodes go,
  std::vector<bool> gone_;                   // and these did, by node; empty: none.
  PruneGate gate_;
  bool failed_ = false;                      // No token could be chosen.
  std::vector<int> asked_;                   // Rows of the pass.
  size_t given_ = 0;                         // Rows of wanted_, or nodes of the tree, the first ones.
  std::vector<TopTokens> top_;               // By node.
  int last_node_ = TokenTree::kNone;         // From whose logits the last token was chosen,
  std::vector<TopTokens> ahead_;             // and what its forecasts say.

  // What a drafter learns from the prompt (prompt.h): places in it, ascending, and what the model said after each token so far.
  std::vector<int> learn_;
  std::vector<TopTokens> prompt_top_;
  int prompt_first_ = 0;                     // prompt_top_ begins with this token.
};

}  // namespace tessera
