// A draft head of the EAGLE-3 kind (Li et al. 2025): one decoder layer that writes tokens ahead from what some of the model's layers have
// made of the text, with a vocabulary of its own. scripts/train/eagle_head.py trains one.
//
//   ASSIGN_OR_RETURN(const std::shared_ptr<const EagleHead> head, EagleHead::Open("eagle.safetensors", model.config()));
//   EagleMemory memory;                                                           // of one text
//   RETURN_IF_ERROR(head->Fuse(states, features, pool, memory));                  // [rows, 3 width] to [rows, width]
//   RETURN_IF_ERROR(head->Run({{.embedding = e, .feature = f, .position = 7, .prefix = memory.slots()}}, memory, out, pool));
//   RETURN_IF_ERROR(head->Logits(out, logits, pool, memory));                     // [rows, head->shape().vocabulary]
//   const TokenId token = head->TokenOf(best);                                    // of the model
//
// A row has a token's embedding e and the feature of the token before it: what the model's layers have made of that one, fused. Row t
// (token t + 1, feature t, position t) says what comes after token t + 1:
//
//   g = feature;  x = [norm(e), norm(g)];  h = g + O attention(Q x, K x, V x);  out = h + mlp(norm(h));  logits = H norm(out)
//
// For tokens further ahead, out stands for the feature that the model has not computed yet. Queries and keys turn by halves.
//
// The file is of the public layout: fc.weight [width, layers x width], midlayer.* (q, k and v of 2 width inputs), norm.weight,
// lm_head.weight [vocabulary, width], d2t and t2d, which say which token of the model is which of the head's (d2t: how much is to be added
// to the head's number), and perhaps embed_tokens.weight, which is then used in place of the model's. Its configuration is FILE.json or, in
// its folder, config.json; a folder may be named, too, with model.safetensors in it. Numbers keep the file's 16 or 32 bits; arithmetic is
// FP32, with the same bits on every machine. A row's bits do not depend on the rows beside it.
//
// Both files are hostile until checked: every size against the model and the tensors, every number. Tensors that are not used are refused,
// and so are keys, but for those of which it is known that they change nothing (names, special tokens, how it was trained and stored); null
// is as good as absent. Errors are InvalidArgument with file, field or tensor, found and expected; NotFound for a missing file; those of
// SafetensorsFile. Threads: a head is constant; a memory belongs to one thread, and so does its pool.
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
  // Whose states are fused, ascending: what so many layers of the model have made of a token (Pass::Hidden), 0 to all of them.
  std::vector<int> layers = {};
  friend bool operator==(const EagleShape&, const EagleShape&) = default;

  int queries() const { return heads * head_size; }
  int keys() const { return kv_heads * head_size; }
  int fused() const { return static_cast<int>(layers.size()) * width; }
};

// Keys and values of the rows of one text, in slots, and memory to compute in.
class EagleMemory {
 public:
  int slots() const { return slots_; }
  // Forgets the rows from slot `slots` on. REQUIRES: 0 <= slots <= slots().
  void Truncate(int slots);
  // Forgets the first `count` rows: others move to lower slots. REQUIRES: 0 <= count <= slots().
  void EraseFirst(int count);
  int64_t bytes() const;   // Keys and values, not what is computed in.

 private:
  friend class EagleHead;
  // Numbers that are not kept from one call to the next.
  struct Work {
    std::vector<float> input, queries, keys, values, mixed, added, normed, gate, up, scores, cos_sin;
    MatMulScratch scratch;
  };
  int slots_ = 0;
  int width_ = 0;                      // Numbers that a slot has in either.
  std::vector<float> keys_, values_;   // [slots][width_]
  Work work_;
};

class EagleHead {
 public:
  static constexpr int kMostFused = 8;      // Layers.

  // path: the tensors, or the folder that holds them as model.safetensors. target: the model whose head it is.
  static absl::StatusOr<std::shared_ptr<const EagleHead>> Open(const std::string& path, const ModelConfig& target);
  // The same of a file that is open, and of its configuration's text, which messages call `source`.
  static absl::StatusOr<std::shared_ptr<const EagleHead>> Read(const SafetensorsFile& file, absl::string_view configuration,
                                                               absl::string_view source, const ModelConfig& target);
  ~EagleHead();

  const EagleShape& shape() const { return shape_; }
  int64_t bytes() const;   // Memory of its numbers.

  // The model's token for one of the head's. REQUIRES: 0 <= entry < shape().vocabulary.
  TokenId TokenOf(int entry) const { return tokens_[static_cast<size_t>(entry)]; }

  // Whether it has embeddings of its own, which are to be used then; that of a token: [width]. REQUIRES: the model has the token.
  bool has_embeddings() const;
  void Embed(TokenId token, float* out) const;

  // states: [rows, fused()], of each row those of shape().layers one after another. features: [rows, width].
  absl::Status Fuse(TensorView<const float> states, TensorView<float> features, ThreadPool& pool, EagleMemory& memory) const;

  struct Row {
    const float* embedding = nullptr;       // [width]
    const float* feature = nullptr;         // [width]
    int position = 0;                       // At least 0.
    int prefix = 0;                         // It attends to the slots before this one,
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
