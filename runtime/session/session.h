// One sequence of tokens, and what the model expects next.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine->NewSession());
//   RETURN_IF_ERROR(session->Append(engine->tokenizer().Encode("Once upon a time", {.add_bos = true})));
//   absl::Span<const float> next = session->logits();                       // after the last token
//   ASSIGN_OR_RETURN(std::unique_ptr<Session> other, session->Fork(3));     // goes on after the first three tokens, none computed again
//
// A session keeps alive what it needs of its engine, which may end before it.
// Threads: one at a time for all sessions of an engine. A call during another thread's is FailedPrecondition (found, expected) and changes
// nothing; the other call is not disturbed. Calls that cannot fail, the destructor among them, wait until the
// pass under way lets them in: between two rounds of its logits, or when it ends.
// Memory: where it ends within a call (std::bad_alloc), that call is ResourceExhausted, and all sessions of the engine are lost: each call
// that can fail is so from then on. Go on with another engine.
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
  const LoraAdapter* adapter() const { return options_.adapter; }   // As its options have it; null: none.

  // Appends tokens and computes the logits after the last. ResourceExhausted (found, context) if they do not fit, InvalidArgument for a
  // token outside the vocabulary (which, found, expected), or the first error of a pass; the sequence is then as it was.
  absl::Status Append(absl::Span<const TokenId> tokens);

  // The same, giving the logits after every token: on_logits(index in `tokens`, [vocabulary]), in order, valid during the call. Its error
  // ends the call, and is treated like one of a pass. FailedPrecondition if it makes a pass of another session of this engine.
  using LogitsVisitor = std::function<absl::Status(int index, absl::Span<const float> logits)>;
  absl::Status AppendEach(absl::Span<const TokenId> tokens, const LogitsVisitor& on_logits);
  // The same, giving the logits after some tokens only. REQUIRES: `indices` ascend, and are of `tokens`.
  absl::Status AppendSome(absl::Span<const TokenId> tokens, absl::Span<const int> indices, const LogitsVisitor& on_logits);
  // Rows of logits that these two hold at once, at least: 32 MiB at a vocabulary of 262,144.
  static constexpr int kLogitRows = kSessionLogitRows;

  // Told from now on what layers make of this session's tokens (layer_states.h), but for those that Generate computes (GenerateOptions) and
  // for trees, of which it is told that nothing is kept. Must outlive the session, or be taken back: null, nobody, as at first. An engine
  // that switches graphs tells nothing. Other sessions, forks among them, have their own.
  void SetListener(LayerListener* listener) { listener_ = listener; }
  LayerListener* listener() const { return listener_; }

  // A pass over a draft: the tree's root and nodes come after the sequence, each after its ancestors. The sequence is as it was until Keep;
  // before that nothing but TreeLogits may be called. InvalidArgument if a token is outside the vocabulary (which, found, expected) or
  // there are more nodes than a pass has rows, ResourceExhausted if they do not fit (TreeRoom), or the first error of the pass. REQUIRES:
  // no tree is waiting for Keep.
  absl::Status PassTree(const TokenTree& tree);
  // Most nodes, the root included, of the next PassTree, and how deep they may be: what is left of the context, of a pass, and of the cache
  // beside other sessions. At least 1 unless the context is full.
  int TreeRoom() const;
  // Logits of nodes of the tree, in the order given, until Keep. logits: [nodes.size(), vocabulary]. FailedPrecondition if another session
  // has made a pass since PassTree.
  absl::Status TreeLogits(absl::Span<const int> nodes, TensorView<float> logits);
  // Ends the tree: `path`, the root and nodes below it, is text now, and nothing of it is computed again; the rest is gone. An empty path
  // keeps nothing. `logits`, if not empty, are those of the path's last node. REQUIRES: each node is a child of the one before.
  void Keep(absl::Span<const int> path, absl::Span<const float> logits);

  // After the last token appended or kept: [vocabulary], valid until the next call. Empty if they are not known.
  absl::Span<const float> logits() const { return has_logits_ ? logits_ : absl::Span<const float>(); }

  // Forgets all but the first `length` tokens. Where layers have a sliding window, the keys and values before what is forgotten may be
  // gone: then the next Append computes the remaining tokens once more, from the first, and gives the bits it always gives. What the
  // engine's last pass added can be forgotten without that and, with one session, as many tokens as a pass has rows. An Append of no tokens
  // does that work and nothing else. REQUIRES: 0 <= length <= length().
  void Truncate(int length);

  // A session that begins with the first `length` tokens of this one and shares their keys and values, which copies nothing. It has the
  // logits of this session if `length` is length(), none otherwise. Where a sliding window has lost what comes before `length`, its next
  // Append computes the tokens once more, as after Truncate. It has this session's adapter. InvalidArgument (found, expected) unless
  // 0 <= length <= length(), and for options with another adapter. REQUIRES: no tree is waiting for Keep.
  absl::StatusOr<std::unique_ptr<Session>> Fork(int length, const SessionOptions& options = {}) const;

 private:
  friend class Engine;
  friend class GenerateLoop;   // decode_loop.cc: writes on in the session's own text.
  friend EngineCore& CoreOf(const Session& session);
  friend absl::Status SaveSession(const Session& session, const std::string& path, absl::string_view notes);
  friend absl::StatusOr<LoadedSession> LoadSession(Engine& engine, const std::string& path, const SessionOptions& options);
  Session(std::shared_ptr<EngineCore> core, std::unique_ptr<CachedText> text, const SessionOptions& options);
  absl::Status CheckTokens(absl::Span<const TokenId> tokens) const;
  // Runs one pass over `tokens` (at most the row capacity), which become part of the sequence, even if the pass fails. Logits may be asked
  // of the `wanted` ones.
  absl::Status AppendPass(absl::Span<const TokenId> tokens, absl::Span<const int> wanted);
  // The same for the next tokens that are part of it already and that the cache has not.
  absl::Status RunPass(int count, absl::Span<const int> wanted);
  // A pass of rows_, of which some are wanted, or all.
  absl::Status RunRows(std::optional<absl::Span<const int>> wanted);
  // That of passes; null: nobody.
  LayerListener* Told() const;
  // The pass is over: its first `count` rows are the text's tokens from `first` on.
  void TellKept(int first, int count) const;
  // Logits of rows of this session's last pass.
  absl::Status ComputeLogits(absl::Span<const int> rows, TensorView<float> logits);
  // What PassTree and Keep do where memory lasts.
  absl::Status PassNodes(const TokenTree& tree);
  absl::Status KeepNodes(absl::Span<const int> path);
  // Gives the cache what it lacks of the sequence.
  absl::Status Restore();
  // Tokens of the sequence that the cache has, none if it cannot go on after them.
  absl::StatusOr<int> HeldLength();
  absl::Status AppendParts(absl::Span<const TokenId> tokens);
  absl::Status AppendSomePart(absl::Span<const TokenId> tokens, absl::Span<const int> indices, const LogitsVisitor& on_logits);
  // Drops the tokens from `length` on, and what the cache has of them.
  void Shorten(int length);
  // Returns `status`; if it is an error, the sequence is cut to `length` first. The logits of what is left are still there.
  absl::Status OrUndo(int length, const absl::Status& status);

  const std::shared_ptr<EngineCore> core_;
  const SessionOptions options_;
  LayerListener* listener_ = nullptr;
  const std::unique_ptr<CachedText> text_;   // A tree that is placed in it waits for Keep.
  HiddenRows last_pass_;                     // Rows of this session's last pass.
  std::vector<float> logits_buffer_;
  absl::Span<const float> logits_;
  bool has_logits_ = false;
  std::vector<PassRow> rows_;                // Kept between passes to spare allocations.
};

}  // namespace tessera
