// Drafts with an EAGLE-3 draft head (model/eagle_head.h), which drafts from hidden states of the model's layers.
//
//   ASSIGN_OR_RETURN(const auto head, EagleHead::Open("eagle.safetensors", engine->config()));
//   auto expander = std::make_unique<EagleExpander>(head, EagleExpander::OptionsFor(CoreOf(*engine)));
//   LayerListener* const listener = expander.get();              // to be told of the text's passes, from the prompt's on (a speculator's
//                                                                // listener is told by AppendPrompt, Generate and steppers)
//   ExpandingDrafter drafter(std::move(expander), std::move(policy), {});
//
// Sequence: the row of a token is computed from the model's hidden states of the token before. Each such row is computed once, when the
// expansion of a tree's root needs the row.
//
// Trees: below the root, a row is computed from the head's output for the node's parent. At the commit, the keys and values of the tree
// leave the head's memory. Accepted tokens then get rows from the hidden states of the model's pass. These rows are better than the draft's
// rows, and alone count from then on.
//
// Unknown hidden states: a prefix may be read without a listener (a session from a file, or a prompt prefix found in the cache). Rows then
// begin at the first token with known hidden states, at the token's position in the sequence. Nothing is proposed while the token before
// the root is unknown. So drafts may be worse, but the generated sequence is the same. The head sees about the last `most_tokens` tokens of
// a sequence.
//
// Threads: as a Drafter and a LayerListener. Both run on the thread that drives the model's passes, between the passes.
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

// Writes the model's token embeddings, as the input of the first layer: [tokens.size(), width].
using TokenEmbeddings = std::function<absl::Status(absl::Span<const TokenId> tokens, TensorView<float> out)>;
// Returns the embeddings of a model with loaded weights. The model must outlive the result. A call returns the errors of the weights'
// source. REQUIRES, at each call: no pass is under way, and the tokens are in the vocabulary.
TokenEmbeddings EmbeddingsOf(const LoadedModel& model);

// Expands draft trees with an EAGLE-3 head.
class EagleExpander : public Expander, public LayerListener {
 public:
  static constexpr char kName[] = "eagle";
  static constexpr int kMostTokens = 2048;   // The length that published heads are trained for.
  struct Options {
    TokenEmbeddings embeddings = nullptr;    // Not needed by a head with own embeddings.
    ThreadPool* pool = nullptr;              // The model's pool; model and head take turns. Must outlive the expander.
    int most_tokens = kMostTokens;           // At least 1.
    const Clock* clock = nullptr;            // Times the head's passes. Null: the real clock. Must outlive the expander.
    // Records the head's work (Zone::kDraft). Null: nothing is recorded. Must outlive the expander.
    Timeline* timeline = nullptr;
  };
  // Returns options for the engine's model. The core must outlive the result.
  static Options OptionsFor(const EngineCore& core);

  // REQUIRES: a head, a pool, and embeddings from one side.
  EagleExpander(std::shared_ptr<const EagleHead> head, Options options);

  absl::string_view name() const override { return kName; }
  absl::Status Begin(absl::Span<const TokenId> text) override;
  absl::StatusOr<std::vector<TopTokens>> Expand(const TokenTree& tree, absl::Span<const int> nodes, int most) override;
  absl::Status Commit(const TokenTree& tree, absl::Span<const TokenId> emitted) override;
  double Seconds(int rows) const override { return costs_.PassSeconds({.rows = rows}); }
  LayerListener* listener() override { return this; }
  int64_t bytes() const override;   // Includes the head, which other expanders may share.
  // Returns the most bytes for `most_tokens` tokens, without the head.
  static int64_t MostBytes(const EagleShape& shape, int most_tokens);

  absl::Span<const int> layers() const override { return head_->shape().layers; }
  void BeginPass(int rows) override;
  void Take(int index, int row, absl::Span<const float> state) override;
  void EndPass(int first, absl::Span<const TokenId> tokens, absl::Span<const int> rows) override;

  // For tests and reports: rows computed so far for the sequence and for trees, and rows of the sequence now in memory.
  int64_t text_rows() const { return text_rows_; }
  int64_t tree_rows() const { return tree_rows_; }
  int held() const { return static_cast<int>(rows_.size()); }

 private:
  struct Token { int index = 0; TokenId token = 0; };    // In the sequence.
  struct Node { int slot = 0; int parent = 0; };         // In the tree; children of the root have the root as parent.

  int Root() const { return static_cast<int>(text_.size()) - 1; }
  bool KnowsRoot() const { return !rows_.empty() && rows_.back().index == Root(); }
  const float* FeatureOf(int index) const;               // Null: not known.
  void ForgetFeatures(int before);                       // Drops the features of tokens before this token.
  absl::Status ComputeText();
  absl::Status ComputeSome(int first, int end);          // Rows of sequence tokens. REQUIRES: features before are known.
  absl::Status ComputeNodes(const TokenTree& tree, absl::Span<const int> nodes);
  std::vector<int> PathOf(int node) const;               // Slots from the root's child to `node`. REQUIRES: not the root.
  absl::Status Run(absl::Span<const TokenId> tokens, absl::Span<EagleHead::Row> rows, std::vector<float>& out);
  const float* OutOf(int node) const;                    // Null: the node was not expanded.
  absl::StatusOr<std::vector<TopTokens>> Say(absl::Span<const int> nodes, int most);
  TopTokens Likeliest(absl::Span<const float> logits, int most) const;
  void ForgetTree();
  void ForgetOtherText();                                // Drops features of tokens that are not in text_.

  const std::shared_ptr<const EagleHead> head_;
  const Options options_;
  const Clock& clock_;
  const int64_t width_;

  std::vector<TokenId> text_;
  EagleMemory memory_;
  std::vector<Token> rows_;               // The sequence's rows, in slots 0, 1, ...: ascending indices, perhaps with gaps.
  std::vector<float> last_out_;           // Output of the last of rows_: [width].
  std::unordered_map<int, Node> nodes_;  // The tree's nodes without the root. Slots follow rows_.
  std::vector<float> outs_;               // Outputs of the tree's nodes: [slot - rows_.size()][width].

  int features_begin_ = 0;                // The first token with known features.
  std::vector<TokenId> feature_tokens_;   // The tokens features_begin_, features_begin_ + 1, ...
  std::vector<float> features_;           // Fused hidden states of feature_tokens_: [..][width].

  std::vector<float> told_;               // Hidden states of the pass under way: [row][fused()].
  CostProfile costs_;
  int64_t text_rows_ = 0, tree_rows_ = 0;

  std::vector<float> embedded_, logits_, new_outs_;   // Scratch memory of one call.
};

}  // namespace tessera
