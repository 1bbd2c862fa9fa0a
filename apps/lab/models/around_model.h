// A large model around a small model: the same tokenizer and the same logits, in a file of a given shape's size. So speculation is measured
// on real text at real size.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> small, GgufFile::Open("small.gguf"));
//   ASSIGN_OR_RETURN(const AroundModel model, AroundModel::Plan(*small, *RandomShapeByName("4b"), /*seed=*/0));
//   RETURN_IF_ERROR(model.Write("large.gguf", pool, progress));
//
// Why the logits are the same, with n inputs in the small model and N in the large one:
// - A row of hidden states is the small model's row and N - n zeros. Nothing writes to the zeros, since all other rows of attn_output,
//   ffn_down and the embedding table are zero.
// - RMSNorm divides by sqrt(sum of squares / N + epsilon'). With epsilon' = epsilon n/N the divisor is sqrt(n/N) times the small model's
//   divisor. Norm weights of sqrt(n/N) times the small model's compensate for the factor.
// - Other weights that are multiplied by the zeros do not matter, and are random. Heads and feed-forward rows beyond the small model's
//   compute values that attn_output and ffn_down multiply by zero. A group of query heads has as many heads as in the small model, so each
//   head keeps the same keys and values. The size of a head, and so the rotation, stay.
// - More layers lie evenly between the small model's. The new layers' attn_output and ffn_down are zero, so new layers add nothing. All
//   other weights of new layers are random.
// Blocks of weights are copied unchanged, so each matrix keeps its format. Activations are rounded to 8 bits in groups of 32 inputs
// (docs/numerics.md). The groups are the small model's groups; further groups add exact zeros to each sum. So on the fast path only the
// norms differ, by the rounding of sqrt(n/N). Now and then a value is rounded to the neighbouring value. If N/n is a power of four nothing
// is rounded, and logits have the same bits.
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tessera/apps/bench/models/random_model.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/gguf_writer.h"
#include "tessera/model/files/tensor_names.h"

namespace tessera {

class AroundModel {
 public:
  // Plans a model. `file` must outlive the result. Width, layers, feed-forward rows and heads of keys and values become the shape's; a
  // model with more heads keeps its own number of heads. The vocabulary is the model's. Returns the errors of QuantizedModel::Plan for a
  // model that could not be run. InvalidArgument (file, found, expected) for another architecture than llama, layers with a sliding window,
  // a model that is larger than the shape, and a format that is only read.
  static absl::StatusOr<AroundModel> Plan(const GgufFile& file, const RandomShape& shape, uint64_t seed);

  const ModelConfig& config() const { return config_; }   // The large model's.
  int64_t parameters() const { return parameters_; }
  absl::StatusOr<int64_t> FileSize() const { return writer_.FileSize(); }
  // Writes the large model. Memory does not grow with the model. The same seed gives the same file, with any number of threads. Returns the
  // errors of GgufWriter::Write and GgufFile::Read.
  absl::Status Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress = nullptr) const;

  // Returns the small model's layer that `layer` copies; nullopt: a new layer. REQUIRES: 0 <= layer < layers, 1 <= small <= layers.
  static std::optional<int> SmallLayer(int layer, int layers, int small);

 private:
  struct Tensor {
    std::string name;
    BlockFormat format;
    int64_t columns, rows;
    const GgufTensor* source;               // Null: the whole tensor is new.
    int64_t source_columns, source_rows;    // 0 if the whole tensor is new.
    bool vector;
    bool zero;                              // New numbers are zero, or else random:
    float mean, deviation;
    float factor;                           // For copied numbers of a vector.
  };
  class Joint;   // Joins the small model's blocks with new blocks.

  AroundModel(const GgufFile& file, ModelConfig config, uint64_t seed) : file_(&file), config_(std::move(config)), seed_(seed) {}
  void PutMetadata(const ModelConfig& small, const RandomShape& shape);
  absl::Status AddTensors(const ModelConfig& small);
  absl::Status AddLayer(const ModelConfig& small, int layer);
  absl::Status Add(const TensorNeed& need, const TensorNeed& small, bool is_new);
  absl::StatusOr<std::vector<float>> ScaledNumbers(const Tensor& tensor) const;
  void Fill(int index, absl::Span<const float> known, Share part, float* out) const;
  absl::Status AppendTensor(int index, ThreadPool& pool, GgufWriter::Append append) const;

  const GgufFile* file_;
  ModelConfig config_;
  uint64_t seed_;
  float norm_factor_ = 1;
  GgufWriter writer_;
  std::vector<Tensor> tensors_;
  int64_t parameters_ = 0;
};

}  // namespace tessera
