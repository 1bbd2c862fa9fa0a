// A sequence that is being generated, as a state machine. A stream chooses and places the rows of the next pass, takes logits, and keeps
// the accepted tokens. A stream runs no pass: a Stepper (stepper.h) runs one pass for many streams.
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
// A stream generates the same sequence alone and in passes with other rows.
//
// Threads: the thread that drives the stream.
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

// Describes the sequence to generate.
struct StreamOptions {
  std::vector<TokenId> prompt = {};               // Tokens to continue: at least one.
  SamplingOptions sampling = {};
  GenerateOptions text = {};                      // Limits, stop rules, callbacks, and a speculator for this stream alone.
  const LoraAdapter* adapter = nullptr;           // Must outlive the stream. Null: the model without an adapter.
  const std::atomic<bool>* cancel = nullptr;      // True ends the stream with kCancelled after the pass under way. Null: never.
  TextQueue* output = nullptr;                  // Receives the text, too; a full queue pauses the stream. Must outlive the stream.
  // Called at most once, if the sequence does not fit into the cache next to the others and waits. On the driving thread, as on_end.
  std::function<void()> on_wait = nullptr;
  // Called once, at the end, with the result or the first error.
  std::function<void(const absl::StatusOr<Generation>& result)> on_end = nullptr;
};

// A sequence that is being generated.
class Stream {
 public:
  // Returns a stream that waits, with nothing in the cache. After an error the options are unchanged.
  //
  // InvalidArgument for:
  // - A prompt without tokens, or a prompt token outside the vocabulary.
  // - A first token (GenerateOptions::first) outside the vocabulary.
  // - An adapter of another model.
  // - Impossible pruning: a rule out of range, a predictor of another model, or no speculator.
  // - Pruning or a listener where the engine switches graphs.
  //
  // ResourceExhausted (limited by context) if the prompt leaves no room. Otherwise the errors of Sampler::Create.
  static absl::StatusOr<std::unique_ptr<Stream>> Create(EngineCore& core, StreamOptions&& options);
  // Returns a stream that continues `text`. The caller owns `text`, which must outlive the stream. `logits`, [vocabulary], are the logits
  // after the last token. The stream's first token is chosen already. The prompt and the sampling of `options` are not used. The caller
  // calls BeginSpeculation afterwards. Errors: InvalidArgument for pruning and a first token, as in Create; the error of choosing.
  static absl::StatusOr<std::unique_ptr<Stream>> Continue(EngineCore& core, CachedText& text, absl::Span<const float> logits,
                                                          const Sampler& sampler, StreamOptions options);
  ~Stream();

  // Starts from `begun`, a cached sequence that holds a prefix of this one: at most all tokens except the last. Null: starts with no cached
  // token.
  void Start(std::unique_ptr<CachedText> begun);
  // Preempts the stream: gives up its cache entries, so that the stream waits for Start again. No token is lost.
  void Preempt();
  bool waits() const { return text_ == nullptr; }
  bool ended() const { return ended_; }
  // Returns whether the reader is behind. A paused stream is to have no tree in the next pass.
  bool paused() const;

  const StreamOptions& options() const { return options_; }
  // Tokens of the prompt and the generated sequence, except the token chosen last. Valid in every state.
  absl::Span<const TokenId> tokens() const { return text_ == nullptr ? tokens_ : text_->tokens(); }
  // Returns tokens() and the token chosen last.
  std::vector<TokenId> AllTokens() const;
  // The sequence in the cache. REQUIRES: the stream neither waits nor has ended.
  const CachedText& text() const { return *text_; }
  // Tokens to be computed before the next token can be chosen; 0: a tree is next. REQUIRES: as text().
  int pending() const { return text_->length() - text_->held(); }

  // Returns the uncut draft for the next pass: the root alone, or the root and the tokens that a speculator proposes below. The last call
  // before a pass counts. REQUIRES: pending() is 0.
  const TokenTree& Draft(const TreeRoom& room);
  // Returns how that draft may be cut.
  TreeToCut ToCut(const TokenTree& draft) const;
  // Adds forecasts to the chosen part of the draft, if the speculator has forecasts and as far as forecasts pay. Nodes may be removed to
  // make room for forecasts. rows: all rows of this stream.
  void AddForecasts(int rows, RowChoice& choice) const;

  // Appends the stream's rows of the next pass: the next `count` pending tokens, or the chosen part of the draft. After an error of the
  // cache nothing is placed. REQUIRES: room was made in the cache.
  absl::Status PlaceChunk(int count, std::vector<PassRow>& rows);
  absl::Status PlaceTree(const RowChoice& choice, std::vector<PassRow>& rows);
  // Returns, half-way through the pass, the placed tree if the tree might be pruned; null if there is no tree, or none to prune. The tree's
  // rows are base(), base() + 1, ... in the pass.
  const TokenTree* TreeToPrune() const;
  int base() const { return base_; }
  int forecast_rows() const { return TreeForecastsNow().rows(); }   // Rows of the tree's forecasts, which follow the tree's rows.
  const Pruning& pruning() const { return options_.text.prune; }
  PruneGate& prune_gate() { return gate_; }
  // Returns the tokens that may follow each node with children.
  std::vector<CandidateSet> Candidates() const { return options_.text.speculator->Candidates(*tree_); }
  // Treats the nodes that are not `kept` (PruneTree) as if never drafted. Appends the rows of these nodes to `dropped`, ascending.
  void Prune(absl::Span<const int> kept, std::vector<int>& dropped);
  // Appends the rows of the pass that may get logits, as row numbers of the pass.
  void AddWanted(std::vector<int>& wanted) const;
  // Returns the rows that need logits now, at most `most`, ascending. Empty: the stream needs no more logits.
  absl::Span<const int> WantsLogits(int most);
  // Returns how many of TopTokensOf each of these rows needs, too; 0: none.
  int wants_top() const;
  // Chooses now the first token that Give would choose from these logits. To be called before Give of the same logits. Threads: any, at the
  // same time as calls on other streams.
  void ChooseAhead(TensorView<const float> logits);
  // Takes the logits of the rows from WantsLogits: [rows, vocabulary], and `top` of each row if wants_top() is above 0. Chooses tokens and
  // shows them. An error concerns this stream alone. The core need not be held: the call reads nothing of the cache, so other threads may
  // use the cache meanwhile.
  absl::Status Give(TensorView<const float> logits, absl::Span<TopTokens> top);
  // Returns, once the stream needs no more logits, the forecast rows of the node that the sequence has reached. Empty: the stream needs
  // none. wants_top_ahead() is the number of likeliest tokens needed for each of these rows. GiveAhead takes the tokens, one entry per row.
  absl::Span<const int> WantsAhead();
  int wants_top_ahead() const;
  void GiveAhead(absl::Span<TopTokens> top);

  // Ends the pass: keeps the accepted tokens. If the pass failed, the stream is as before the pass, or keeps the tokens chosen before the
  // failure. The owner releases an ended stream.
  void Settle(const absl::Status& pass, const StepTime& time);

  // Returns whether the last token is chosen, so that the caller is to call End.
  bool finished() const { return next_.has_value() && next_->last; }
  void SetReason(FinishReason reason) { result_.reason = reason; }
  // Ends the stream: shows the text held back, unless `status` is an error, and calls on_end.
  void End(const absl::Status& status);
  const Generation& result() const { return result_; }
  Generation TakeResult() { return std::move(result_); }
  // Returns the sequence as the cache holds it, for a caller that continues the sequence. Null if the stream waits. REQUIRES: the stream
  // owns the sequence.
  std::unique_ptr<CachedText> TakeText();
  // The logits that the last token was chosen from: the logits after the last token of text(). The memory belongs to the caller that gave
  // these logits. Empty: unknown, since a pass failed in its logits.
  absl::Span<const float> last_logits() const { return last_logits_; }
  // Tells the speculator the sequence so far, once. A stream that began with Start does this after the prompt.
  void BeginSpeculation();
  // See CachedText::Abandon.
  void Abandon();
  // Calls on_wait, the first time only. Returns whether this was the first time.
  bool TellWaits();

 private:
  Stream(EngineCore& core, StreamOptions options, Sampler sampler);
  Speculator* speculator() const { return options_.text.speculator; }
  void PlanLearning();
  absl::Status Choose(absl::Span<const float> logits, const DrawnChildren* drawn = nullptr);
  // Returns the place of a node's logits among the rows that WantsLogits returned last; kNone: not among these rows.
  int PlaceOf(int node) const;
  // Returns the children drawn after a node of the tree. Null: none was drawn, or the draft rule needs none.
  const DrawnChildren* DrawnAfter(int node) const;
  absl::Status GiveTree(TensorView<const float> logits, absl::Span<TopTokens> top);
  absl::Status GiveChunk(TensorView<const float> logits, absl::Span<TopTokens> top);
  void SettleTree(const absl::Status& pass, const StepTime& time);
  void SettleChunk(const absl::Status& pass);
  // Tells the listener which rows are part of the sequence now: the tokens from `first` on, one per row.
  void TellKept(int first, absl::Span<const int> rows);
  bool IsGone(int node) const { return !gone_.empty() && gone_[static_cast<size_t>(node)]; }
  // Returns the forecasts of the placed tree.
  TreeForecasts TreeForecastsNow() const;
  // Appends the rows of forecasts of dropped nodes (`gone`) or of the other nodes.
  void AddRowsOfForecasts(bool gone, std::vector<int>& rows) const;
  int64_t RowsLeft() const;   // Rows of the tree and its forecasts that were not dropped.
  // Returns whether the sequence went to a pruned node.
  bool LostByPruning(const Verdict& verdict) const;

  EngineCore& core_;
  StreamOptions options_;
  const Sampler sampler_;
  Generation result_;
  std::unique_ptr<TextWriter> writer_;
  std::vector<TokenId> tokens_;              // While the stream waits.
  std::unique_ptr<CachedText> own_text_;     // Null: the stream waits, or continues the caller's sequence.
  CachedText* text_ = nullptr;               // Null: the stream waits.
  std::optional<Choice> next_;               // Chosen, and not yet part of the sequence.
  absl::Span<const float> last_logits_;
  bool started_ = false, ended_ = false, told_waits_ = false, speculates_ = false;

  // The stream's part of the pass under way: a chunk of the prompt, or a tree.
  int base_ = 0;                             // The pass's number of the first row.
  int chunk_ = 0;                            // Tokens of the chunk; 0: no chunk.
  int chunk_begin_ = 0;                      // The chunk's first position in the sequence.
  bool chunk_chooses_ = false;               // True: a token is chosen after the chunk's last token.
  std::vector<int> wanted_;                  // Rows of the chunk that get logits, as numbers in the pass.
  std::optional<TokenTree> draft_, tree_;    // The uncut draft, and the part that was placed.
  LogitsPlan plan_;
  Verification verification_;
  bool pruned_ = false;                      // True: Prune was called for the tree.
  std::vector<bool> gone_;                   // Dropped nodes of the tree, by node; empty: none.
  PruneGate gate_;
  bool failed_ = false;                      // No token could be chosen.
  std::vector<int> asked_;                   // The rows that WantsLogits or WantsAhead returned last.
  size_t given_ = 0;                         // Number of rows of wanted_, or of nodes of the tree, with given logits.
  std::vector<TopTokens> top_;               // By node.
  int last_node_ = TokenTree::kNone;         // The node whose logits the last token was chosen from.
  std::vector<TopTokens> ahead_;             // Likeliest tokens of that node's forecasts.

  // Input to a drafter that learns from the prompt (prompt.h): positions in the prompt, ascending, and the model's likeliest tokens after
  // each token so far.
  std::vector<int> learn_;
  std::vector<TopTokens> prompt_top_;
  int prompt_first_ = 0;                     // prompt_top_ begins with this token's entry.
};

}  // namespace tessera
