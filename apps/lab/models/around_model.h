// A large model around a small one: the same tokenizer and the same logits, in a file as large as a shape says. So speculation is measured
// on real text at real size.
//
//   ASSIGN_OR_RETURN(const std::unique_ptr<GgufFile> small, GgufFile::Open("small.gguf"));
//   ASSIGN_OR_RETURN(const AroundModel model, AroundModel::Plan(*small, *RandomShapeByName("4b"), /*seed=*/0));
//   RETURN_IF_ERROR(model.Write("large.gguf", pool, progress));
//
// Why the logits are the same, with n inputs in the small model and N in the large one:
// - A row of hidden states is that of the small model and N - n zeros: nothing writes there, since all other rows of attn_output, ffn_down
//   and the embedding table are zero.
// - RMSNorm divides by sqrt(sum of squares / N + epsilon'). With epsilon' = epsilon n/N that is sqrt(n/N) times the small model's divisor;
//   norm weights that are sqrt(n/N) times the small model's make up for it.
// - Other weights that meet those zeros do not matter, and are random. Heads and feed-forward rows beyond the small model's compute
//   something that attn_output and ffn_down multiply by zero. A group of query heads has as many as in the small model, so its heads keep
//   their keys and values; the size of a head, and so its rotation, stay.
// - More layers lie evenly between the small model's. Their attn_output and ffn_down are zero, so they add nothing; all else in them is
//   random.
// Blocks of weights are copied as they are, so each matrix keeps its format. Activations are rounded to 8 bits in groups of 32 inputs
// (docs/numerics.md), which are those of the small model; further groups add exact zeros to each sum. So on the fast path only the norms
// differ, by the rounding of sqrt(n/N), and a value is now and then rounded to its neighbour. Where N/n is a power of four nothing is
// rounded, and logits have the same bits.
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
  // `file` must outlive the result. Width, layers, feed-forward rows and heads of keys and values become those of the shape, if the model
  // does not have more heads; the vocabulary is the model's. Errors: those of QuantizedModel::Plan, which a model that could not be run
  // has; InvalidArgument (file, found, expected) for another architecture than llama, layers with a sliding window, a model that is larger
  // than the shape, and a format that is only read.
  static absl::StatusOr<AroundModel> Plan(const GgufFile& file, const RandomShape& shape, uint64_t seed);

  const ModelConfig& config() const { return config_; }   // The large model's.
  int64_t parameters() const { return parameters_; }
  absl::StatusOr<int64_t> FileSize() const { return writer_.FileSize(); }
  // Memory does not grow with the model. The same seed gives the same file, whatever the threads. Errors: those of GgufWriter::Write and
  // GgufFile::Read.
  absl::Status Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress = nullptr) const;

  // The layer of the small model that this one is; nullopt: a new one. REQUIRES: 0 <= layer < layers, 1 <= small <= layers.
  static std::optional<int> SmallLayer(int layer, int layers, int small);

 private:
  struct Tensor {
    std::string name;
    BlockFormat format;
    int64_t columns, rows;
    const GgufTensor* source;               // Null: all of it is new.
    int64_t source_columns, source_rows;    // 0 where all is new.
    bool vector;
    bool zero;                              // What is new, or else random:
    float mean, deviation;
    float factor;                           // For the numbers of a vector that are not new.
  };
  class Joint;   // Puts the small model's blocks into those that are made.

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
