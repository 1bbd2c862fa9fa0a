// Llama models of random weights: for timing, where only shapes and formats count, and for tests of large files.
//
//   ASSIGN_OR_RETURN(const RandomShape shape, RandomShapeByName("1b"));
//   const RandomModel model({.shape = shape, .format = BlockFormat::kQ4_0, .head_format = BlockFormat::kQ8_0, .seed = 7});
//   RETURN_IF_ERROR(model.Write("random.gguf", pool, progress));
//
// A weight is close to normal with a deviation of 1 / sqrt(inputs), so that activations keep their size from layer to layer. Each weight is
// a function of seed, tensor and place: the same file on every machine, with any number of threads. Memory does not grow with the model.
// Thread-compatible.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/gguf_writer.h"

namespace tessera {

struct RandomShape {
  const char* name;
  int width;
  int layers;
  int heads;
  int kv_heads;
  int head_size;
  int feed_forward;
  int vocabulary;
  bool tied_head;      // The embedding table is also the head.
};

// Returns the shape named `name`. NotFound, with the known names, for another name.
absl::StatusOr<RandomShape> RandomShapeByName(absl::string_view name);

// Returns a number from random bits, close to a normal variable with mean 0 and variance 1. The same on every machine.
float NearNormal(uint64_t bits);

class RandomModel {
 public:
  struct Options {
    RandomShape shape;
    BlockFormat format = BlockFormat::kQ4_0;        // Format of the layers' matrices.
    BlockFormat head_format = BlockFormat::kQ4_0;   // Format of embedding table and head.
    uint64_t seed = 0;
  };
  explicit RandomModel(const Options& options);

  int64_t parameters() const { return parameters_; }
  absl::StatusOr<int64_t> FileSize() const { return writer_.FileSize(); }
  // Writes the model as a GGUF file. Returns the errors of GgufWriter::Write.
  absl::Status Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress = nullptr) const;

 private:
  struct Tensor {
    std::string name;
    BlockFormat format;
    int64_t columns;
    int64_t rows;
    float mean;
    float deviation;
  };
  void PutMetadata();
  void AddNorm(const std::string& name);
  void AddMatrix(const std::string& name, BlockFormat format, int64_t in_features, int64_t out_features);
  void AddLayer(int layer);
  void Fill(int tensor, Share part, float* out) const;
  absl::Status AppendTensor(int tensor, ThreadPool& pool, GgufWriter::Append append) const;

  Options options_;
  GgufWriter writer_;
  std::vector<Tensor> tensors_;
  int64_t parameters_ = 0;
};

}  // namespace tessera
