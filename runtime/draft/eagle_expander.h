// A draft head of the EAGLE-3 kind (model/eagle_head.h) as a draft: it writes ahead from what the model's layers have made of the text.
//
//   ASSIGN_OR_RETURN(const auto head, EagleHead::Open("eagle.safetensors", engine->config()));
//   auto expander = std::make_unique<EagleExpander>(head, EagleExpander::OptionsFor(CoreOf(*engine)));
//   LayerListener* const listener = expander.get();              // to be told of the text's passes, from the prompt's on (a speculator's
//                                                                // listener is told by AppendPrompt, Generate and steppers)
//   ExpandingDrafter drafter(std::move(expander), std::move(policy), {});
//
// Text: the row of a token is computed from what the model's own passes told of the token before it, once, when the root of a tree is
// expanded for which it is needed. Trees: below the root a row is computed from what the head made of its parent. Their keys and values
// leave its memory at the commit, and tokens that became text get rows from what the model's pass has told since: better than those of
// the draft, and the only ones that count from then on.
//
// What was not told is not known. A text whose beginning was read without a listener (a session from a file, a prompt whose beginning the
// cache held) has rows from the first token on that was told of, at the positions that they have in the text. As long as the token before
// the root is unknown, nothing is proposed. So drafts may be worse, and the text is the same. The head sees about the last `most_tokens` of
// a text.
//
// Threads: as a Drafter and a LayerListener, both on the thread that drives the model's passes, between them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/base/clock.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/timeline.h"
#include "tessera/model/eagle_head.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/layer_states.h"
#include "tessera/runtime/engine/loaded_model.h"
#include "tessera/spec/costs/cost_profile.h"
#include "tessera/spec/trees/expander.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

// Writes the model's embeddings of tokens, as its first layer takes them: [tokens.size(), width].
using TokenEmbeddings = std::function<absl::Status(absl::Span<const TokenId> tokens, TensorView<float> out)>;
// Those of a model whose weights are loaded, and which must outlive the result. Its errors are those of the weights' source. REQUIRES, at
// each call: no pass is under way, and tokens are of the vocabulary.
TokenEmbeddings EmbeddingsOf(const LoadedModel& model);

class EagleExpander : public Expander, public LayerListener {
 public:
  static constexpr char kName[] = "eagle";
  static constexpr int kMostTokens = 2048;   // For which published heads are trained.
  struct Options {
    TokenEmbeddings embeddings = nullptr;    // Not needed by a head that has its own.
    ThreadPool* pool = nullptr;              // The model's: they take turns. Must outlive it.
    int most_tokens = kMostTokens;           // At least 1.
    const Clock* clock = nullptr;            // By which its passes are timed. Null: the real one. Must outlive it.
    Timeline* timeline = nullptr;            // What it computes is recorded there (Zone::kDraft). Null: it is not. Must outlive it.
  };
  // For the engine's model, whose core must outlive the result.
  static Options OptionsFor(const EngineCore& core);

  // REQUIRES: a head, a pool, and embeddings from one side.
  EagleExpander(std::shared_ptr<const EagleHead> head, Options options);

  absl::string_view name() const override { return kName; }
  absl::Status Begin(absl::Span<const TokenId> text) override;
  absl::StatusOr<std::vector<TopTokens>> Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) override;
  absl::Status Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) override;
  double Seconds(int rows) const override { return costs_.PassSeconds({.rows = rows}); }
  LayerListener* listener() override { return this; }
  int64_t bytes() const override;   // The head's included, which others may share.
  // The most that so many tokens take, without the head.
  static int64_t MostBytes(const EagleShape& shape, int most_tokens);

  absl::Span<const int> layers() const override { return head_->shape().layers; }
  void BeginPass(int rows) override;
  void Take(int index, int row, absl::Span<const float> state) override;
  void EndPass(int first, absl::Span<const TokenId> tokens, absl::Span<const int> rows) override;

  // For tests and reports: rows computed so far, the text's and those of trees, and how many of the text are in its memory.
  int64_t text_rows() const { return text_rows_; }
  int64_t tree_rows() const { return tree_rows_; }
  int held() const { return static_cast<int>(rows_.size()); }

 private:
  struct Token { int index = 0; TokenId token = 0; };    // In the text.
  struct Node { int slot = 0; int parent = 0; };         // In the tree; the root's children have the root as parent.

  int Root() const { return static_cast<int>(text_.size()) - 1; }
  bool KnowsRoot() const { return !rows_.empty() && rows_.back().index == Root(); }
  const float* FeatureOf(int index) const;               // Null: not known.
  void ForgetFeatures(int before);                       // Those of tokens before this one.
  absl::Status ComputeText();
  absl::Status ComputeSome(int first, int end);          // Rows of tokens of the text. REQUIRES: the features before them are known.
  absl::Status ComputeNodes(const TokenTree& tree, absl::Span<const int> nodes);
  std::vector<int> PathOf(int node) const;               // Slots from the root's child to the node, which is not the root.
  absl::Status Run(absl::Span<const TokenId> tokens, absl::Span<EagleHead::Row> rows, std::vector<float>& out);
  const float* OutOf(int node) const;                    // Null: the node was not expanded.
  absl::StatusOr<std::vector<TopTokens>> Say(absl::Span<const int> nodes, int most);
  TopTokens Likeliest(absl::Span<const float> logits, int most) const;
  void ForgetTree();
  void ForgetOtherText();                                // Features of tokens that text_ does not have.

  const std::shared_ptr<const EagleHead> head_;
  const Options options_;
  const Clock& clock_;
  const int64_t width_;

  std::vector<TokenId> text_;
  EagleMemory memory_;
  std::vector<Token> rows_;               // The text's, in slots 0, 1, ...: ascending indices, perhaps not all.
  std::vector<float> last_out_;           // What came of the last of them: [width].
  std::unordered_map<int, Node> nodes_;  // The tree's, but for the root, in the slots behind,
  std::vector<float> outs_;               // and what came of them: [slot - rows_.size()][width].

  int features_begin_ = 0;                // Tokens features_begin_, features_begin_ + 1, ... are known:
  std::vector<TokenId> feature_tokens_;   // which they are,
  std::vector<float> features_;           // and what the model made of them, fused: [..][width].

  std::vector<float> told_;               // In the pass under way: [row][fused()].
  CostProfile costs_;
  int64_t text_rows_ = 0, tree_rows_ = 0;

  std::vector<float> embedded_, logits_, new_outs_;   // Not kept from one call to the next.
};

}  // namespace tessera
