// One sequence of tokens, with the model's logits for the next token.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine->NewSession());
//   RETURN_IF_ERROR(session->Append(engine->tokenizer().Encode("Once upon a time", {.add_bos = true})));
//   absl::Span<const float> next = session->logits();                       // after the last token
//   ASSIGN_OR_RETURN(std::unique_ptr<Session> other, session->Fork(3));     // goes on after the first three tokens, none computed again
//
// Lifetime: a session keeps the state alive that it shares with the engine; the engine may end before the session.
// Threads: one at a time for all sessions of an engine. A call during another thread's call is FailedPrecondition (found, expected) and
// changes nothing; the other call is not disturbed. Calls that cannot fail, including the destructor, wait until the pass under way lets
// them in: between two rounds of the pass's logits, or when the pass ends.
// Errors: if memory runs out within a call (std::bad_alloc), the call is ResourceExhausted, and all sessions of the engine are lost. All
// later calls that can fail are ResourceExhausted. Continue with another engine.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/token.h"
#include "tessera/model/hidden_rows.h"
#include "tessera/model/lora.h"
#include "tessera/model/pass.h"
#include "tessera/runtime/engine/cached_text.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/spec/trees/token_tree.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

class Engine;
class EngineCore;
class LayerListener;
struct LoadedSession;

class Session {
 public:
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Tokens of the sequence so far.
  int length() const { return text_->length(); }
  absl::Span<const TokenId> tokens() const { return text_->tokens(); }
  const LoraAdapter* adapter() const { return options_.adapter; }   // SessionOptions::adapter; null: none.

  // Appends tokens and computes the logits after the last token. ResourceExhausted (found, context) if the tokens do not fit.
  // InvalidArgument for a token outside the vocabulary (which, found, expected). Also returns the first error of a pass. After an error the
  // sequence is as before.
  absl::Status Append(absl::Span<const TokenId> tokens);

  // Appends tokens like Append, and gives the logits after every token: on_logits(index in `tokens`, [vocabulary]), in order, valid during
  // the call. An error of on_logits ends the call and is treated like the error of a pass. FailedPrecondition if on_logits makes a pass of
  // another session of this engine.
  using LogitsVisitor = std::function<absl::Status(int index, absl::Span<const float> logits)>;
  absl::Status AppendEach(absl::Span<const TokenId> tokens, const LogitsVisitor& on_logits);
  // Appends tokens like AppendEach, with the logits after the tokens `indices` only. REQUIRES: `indices` ascend and are indices of
  // `tokens`.
  absl::Status AppendSome(absl::Span<const TokenId> tokens, absl::Span<const int> indices, const LogitsVisitor& on_logits);
  // Rows of logits that AppendEach and AppendSome hold at once, at least: 32 MiB at a vocabulary of 262,144.
  static constexpr int kLogitRows = kSessionLogitRows;

  // Sets the listener, which from now on gets the hidden states of this session's tokens (layer_states.h). Tokens that Generate computes
  // have a listener of their own (GenerateOptions). After the pass of a tree the listener is told that no row is kept. The listener must
  // outlive the session or be replaced. Null: no listener, as at first. An engine that switches graphs gives no states. Other sessions,
  // including forks, have other listeners.
  void SetListener(LayerListener* listener) { listener_ = listener; }
  LayerListener* listener() const { return listener_; }

  // Runs a pass over a draft tree. The tree's root follows the sequence, and each node follows its ancestors. The sequence stays unchanged
  // until Keep. Before Keep only TreeLogits may be called. InvalidArgument if a token is outside the vocabulary (which, found, expected),
  // or if there are more nodes than rows of a pass. ResourceExhausted if the nodes do not fit (TreeRoom). Also returns the first error of
  // the pass. REQUIRES: no tree is waiting for Keep.
  absl::Status PassTree(const TokenTree& tree);
  // Returns the most nodes, including the root, of the next PassTree, which is also the greatest depth. The bounds are the rest of the
  // context, the rows of a pass, and the cache's room next to other sessions. At least 1 unless the context is full.
  int TreeRoom() const;
  // Computes the logits of the tree's `nodes`, in the order given; allowed until Keep. logits: [nodes.size(), vocabulary].
  // FailedPrecondition if another session has made a pass since PassTree.
  absl::Status TreeLogits(absl::Span<const int> nodes, TensorView<float> logits);
  // Ends the tree. Commits `path`, the root and nodes below, to the sequence; no committed token is computed again. The other nodes are
  // dropped. An empty path commits nothing. `logits`, if not empty, are the logits of the path's last node. REQUIRES: each node is a child
  // of the node before.
  void Keep(absl::Span<const int> path, absl::Span<const float> logits);

  // Returns the logits after the last token appended or kept: [vocabulary], valid until the next call. Empty if the logits are unknown.
  absl::Span<const float> logits() const { return has_logits_ ? logits_ : absl::Span<const float>(); }

  // Forgets all tokens except the first `length`. In layers with a sliding window, the keys and values before the forgotten tokens may be
  // lost. The next Append then computes the remaining tokens once more, from the first, with the same bits as always. No token is computed
  // again if the forgotten tokens were added by the engine's last pass or, with one session, are at most as many as a pass has rows. An
  // Append of no tokens only computes the remaining tokens. REQUIRES: 0 <= length <= length().
  void Truncate(int length);

  // Returns a session that begins with the first `length` tokens of this session and shares their keys and values, without a copy. The fork
  // has the logits of this session if `length` is length(), else none. If a sliding window has lost entries before `length`, the fork's
  // next Append computes the tokens once more, as after Truncate. The fork has this session's adapter. InvalidArgument (found, expected)
  // unless 0 <= length <= length(), and for options with another adapter. REQUIRES: no tree is waiting for Keep.
  absl::StatusOr<std::unique_ptr<Session>> Fork(int length, const SessionOptions& options = {}) const;

 private:
  friend class Engine;
  friend class GenerateLoop;   // decode_loop.cc: appends to the session's own text.
  friend EngineCore& CoreOf(const Session& session);
  friend absl::Status SaveSession(const Session& session, const std::string& path, absl::string_view notes);
  friend absl::StatusOr<LoadedSession> LoadSession(Engine& engine, const std::string& path, const SessionOptions& options);
  Session(std::shared_ptr<EngineCore> core, std::unique_ptr<CachedText> text, const SessionOptions& options);
  absl::Status CheckTokens(absl::Span<const TokenId> tokens) const;
  // Runs one pass over `tokens` (at most the row capacity). The tokens become part of the sequence even if the pass fails. Logits can be
  // computed only of the `wanted` tokens.
  absl::Status AppendPass(absl::Span<const TokenId> tokens, absl::Span<const int> wanted);
  // Runs one pass over the next `count` tokens that the sequence has and the cache lacks.
  absl::Status RunPass(int count, absl::Span<const int> wanted);
  // Runs a pass over rows_. Logits can be computed of the `wanted` rows; nullopt: of all rows.
  absl::Status RunRows(std::optional<absl::Span<const int>> wanted);
  // Returns the listener of passes; null: none.
  LayerListener* Told() const;
  // Tells the listener that the pass is over: its first `count` rows are the sequence's tokens from `first` on.
  void TellKept(int first, int count) const;
  // Computes the logits of rows of this session's last pass.
  absl::Status ComputeLogits(absl::Span<const int> rows, TensorView<float> logits);
  // The bodies of PassTree and Keep, called by Guarded.
  absl::Status PassNodes(const TokenTree& tree);
  absl::Status KeepNodes(absl::Span<const int> path);
  // Computes the sequence's tokens that the cache lacks.
  absl::Status Restore();
  // Returns the tokens of the sequence that the cache holds; 0 if the cache cannot continue after them.
  absl::StatusOr<int> HeldLength();
  absl::Status AppendParts(absl::Span<const TokenId> tokens);
  absl::Status AppendSomePart(absl::Span<const TokenId> tokens, absl::Span<const int> indices, const LogitsVisitor& on_logits);
  // Drops the tokens from `length` on, with their cache entries.
  void Shorten(int length);
  // Returns `status`. For an error, first cuts the sequence to `length`. The logits of the remaining sequence are still there.
  absl::Status OrUndo(int length, const absl::Status& status);

  const std::shared_ptr<EngineCore> core_;
  const SessionOptions options_;
  LayerListener* listener_ = nullptr;
  const std::unique_ptr<CachedText> text_;   // A placed tree waits for Keep.
  HiddenRows last_pass_;                     // Rows of this session's last pass.
  std::vector<float> logits_buffer_;
  absl::Span<const float> logits_;
  bool has_logits_ = false;
  std::vector<PassRow> rows_;                // Kept between passes to spare allocations.
};

}  // namespace tessera
