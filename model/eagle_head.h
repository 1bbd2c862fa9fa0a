// A draft head of the EAGLE-3 kind (Li et al. 2025): one decoder layer that drafts tokens from the states of some of the model's layers.
// The head has its own vocabulary. scripts/train/eagle_head.py trains a head.
//
//   ASSIGN_OR_RETURN(const std::shared_ptr<const EagleHead> head, EagleHead::Open("eagle.safetensors", model.config()));
//   EagleMemory memory;                                                           // of one text
//   RETURN_IF_ERROR(head->Fuse(states, features, pool, memory));                  // [rows, 3 width] to [rows, width]
//   RETURN_IF_ERROR(head->Run({{.embedding = e, .feature = f, .position = 7, .prefix = memory.slots()}}, memory, out, pool));
//   RETURN_IF_ERROR(head->Logits(out, logits, pool, memory));                     // [rows, head->shape().vocabulary]
//   const TokenId token = head->TokenOf(best);                                    // of the model
//
// A row has a token's embedding e and the feature of the preceding token. The feature is the fusion of the model's states for the preceding
// token. Row t (token t + 1, feature t, position t) predicts the token behind token t + 1:
//
//   g = feature;  x = [norm(e), norm(g)];  h = g + O attention(Q x, K x, V x);  out = h + mlp(norm(h));  logits = H norm(out)
//
// For tokens further ahead, out replaces the feature that the model has not computed yet. Queries and keys turn by halves.
//
// The file has the public layout: fc.weight [width, layers x width], midlayer.* (q, k and v of 2 width inputs), norm.weight, lm_head.weight
// [vocabulary, width], d2t, t2d and perhaps embed_tokens.weight. d2t and t2d map the head's tokens to the model's tokens and back (d2t: the
// difference to add to the head's number). embed_tokens.weight, if present, replaces the model's embeddings. The configuration is FILE.json
// or, in the same folder, config.json. A folder with model.safetensors in it may be named, too. Numbers keep the file's 16 or 32 bits;
// arithmetic is FP32, with the same bits on every machine. A row's bits do not depend on the other rows.
//
// Both files are hostile until checked: every size against the model and the tensors, every number. Unused tensors are refused. So are
// unused keys, except keys known to change nothing (names, special tokens, training, storage). null counts as absent.
//
// Errors: InvalidArgument with file, field or tensor, found and expected; NotFound for a missing file; the errors of SafetensorsFile.
//
// Threads: a head is constant. A memory belongs to one thread, and so does the memory's pool.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/token.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/safetensors.h"
#include "tessera/quant/matmul.h"
#include "tessera/tensor/rope.h"
#include "tessera/tensor/tensor_view.h"

namespace tessera {

struct EagleWeights;   // internal/eagle_weights.h

struct EagleShape {
  int width = 0;                   // The model's.
  int heads = 0;
  int kv_heads = 0;
  int head_size = 0;
  int feed_forward = 0;
  int vocabulary = 0;              // The head's.
  float norm_epsilon = 0;
  double rope_base = 0;
  // The states that are fused, ascending. Entry n is a token's state after the first n layers of the model (Pass::Hidden): 0 to all layers.
  std::vector<int> layers = {};
  friend bool operator==(const EagleShape&, const EagleShape&) = default;

  int queries() const { return heads * head_size; }
  int keys() const { return kv_heads * head_size; }
  int fused() const { return static_cast<int>(layers.size()) * width; }
};

// Keys and values of one sequence's rows, in slots, and scratch memory.
class EagleMemory {
 public:
  int slots() const { return slots_; }
  // Forgets the rows from slot `slots` on. REQUIRES: 0 <= slots <= slots().
  void Truncate(int slots);
  // Forgets the first `count` rows. The other rows move to lower slots. REQUIRES: 0 <= count <= slots().
  void EraseFirst(int count);
  int64_t bytes() const;   // Keys and values, without scratch memory.

 private:
  friend class EagleHead;
  // Scratch numbers, not kept between calls.
  struct Work {
    std::vector<float> input, queries, keys, values, mixed, added, normed, gate, up, scores, cos_sin;
    MatMulScratch scratch;
  };
  int slots_ = 0;
  int width_ = 0;                      // Numbers per slot, in keys and in values.
  std::vector<float> keys_, values_;   // [slots][width_]
  Work work_;
};

class EagleHead {
 public:
  static constexpr int kMostFused = 8;      // Layers.

  // Opens a head. path: the tensors, or the folder that holds model.safetensors. target: the model that the head drafts for.
  static absl::StatusOr<std::shared_ptr<const EagleHead>> Open(const std::string& path, const ModelConfig& target);
  // Reads a head from an open file and the text of its configuration. Messages call the configuration `source`.
  static absl::StatusOr<std::shared_ptr<const EagleHead>> Read(const SafetensorsFile& file, absl::string_view configuration,
                                                               absl::string_view source, const ModelConfig& target);
  ~EagleHead();

  const EagleShape& shape() const { return shape_; }
  int64_t bytes() const;   // Memory of the head's numbers.

  // Returns the model's token for an entry of the head's vocabulary. REQUIRES: 0 <= entry < shape().vocabulary.
  TokenId TokenOf(int entry) const { return tokens_[static_cast<size_t>(entry)]; }

  // Returns true if the head has its own embeddings, which must then be used. Embed writes a token's embedding: [width]. REQUIRES: the
  // model has the token.
  bool has_embeddings() const;
  void Embed(TokenId token, float* out) const;

  // states: [rows, fused()], of each row those of shape().layers one after another. features: [rows, width].
  absl::Status Fuse(TensorView<const float> states, TensorView<float> features, ThreadPool& pool, EagleMemory& memory) const;

  struct Row {
    const float* embedding = nullptr;       // [width]
    const float* feature = nullptr;         // [width]
    int position = 0;                       // At least 0.
    int prefix = 0;                         // The row attends to the slots before this one,
    absl::Span<const int> path = {};        // to these, and to its own.
  };
  // Row r gets slot memory.slots() + r. out: [rows, width]. After an error the memory has the slots that it had.
  // REQUIRES: prefix and path name slots before the row's own; the memory is this head's alone.
  absl::Status Run(absl::Span<const Row> rows, EagleMemory& memory, TensorView<float> out, ThreadPool& pool) const;

  // out: as Run gave it, [rows, width]. logits: [rows, shape().vocabulary].
  absl::Status Logits(TensorView<const float> out, TensorView<float> logits, ThreadPool& pool, EagleMemory& memory) const;

 private:
  EagleHead(EagleShape shape, RopeTable rope, std::unique_ptr<EagleWeights> weights, std::vector<TokenId> tokens);
  absl::Status RunRows(absl::Span<const Row> rows, EagleMemory& memory, TensorView<float> out, ThreadPool& pool) const;
  absl::Status Project(absl::Span<const Row> rows, EagleMemory& memory, ThreadPool& pool) const;
  void Attend(absl::Span<const Row> rows, EagleMemory& memory, ThreadPool& pool) const;
  absl::Status FeedForward(EagleMemory& memory, TensorView<float> out, ThreadPool& pool) const;

  const EagleShape shape_;
  const RopeTable rope_;
  const std::unique_ptr<const EagleWeights> weights_;
  const std::vector<TokenId> tokens_;   // By entry.
};

}  // namespace tessera
