// Writes a copy of a GGUF model that computes the same, with weights on no quantization scheme's grid, to compare schemes fairly.
//
//   ASSIGN_OR_RETURN(const OffGridModel model, OffGridModel::Plan(*file, /*seed=*/1));        // From a GgufFile.
//   RETURN_IF_ERROR(model.Write("off_grid.gguf", pool, progress));
//
// A quantized model holds numbers that its own scheme keeps without error, and that other schemes do not. Three changes keep the function
// of a layer but move all weights, except the weights of the head, the embedding table and attn_output:
//
//   attn_norm.weight is folded into the columns of attn_q, attn_k and attn_v, ffn_norm.weight into those of ffn_gate and ffn_up: the
//     norms become ones
//   the inner channels of the feed-forward part change places: rows of ffn_gate and ffn_up with their biases, columns of ffn_down
//   each of them is rescaled: row i of ffn_up, and its bias, times s, column i of ffn_down divided by s, for an s from 4/5 to 5/4
//
// Permutation and factors depend on the seed, which gives the same file on every machine; factors are log-uniform. Changed tensors become
// FP32, rounded once, and all others keep their bytes. general.file_type becomes the number of FP32; other metadata is as in
// QuantizedModel. Logits therefore agree up to FP32 rounding. A LoRA adapter of the model does not fit the copy. Memory does not grow with
// the model. Thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/gguf_writer.h"

namespace tessera {

class OffGridModel {
 public:
  // `file` must outlive the result. Returns InvalidArgument (file, tensor, found, expected) if the model could not be run, or if a layer
  // has a tensor for which the changes are undefined.
  static absl::StatusOr<OffGridModel> Plan(const GgufFile& file, uint64_t seed);

  absl::StatusOr<int64_t> FileSize() const { return writer_.FileSize(); }
  int changed() const;  // Tensors with other numbers.
  std::vector<std::string> left_out() const;  // Names of tensors, as in QuantizedModel.
  BlockFormat FormatOf(absl::string_view tensor) const;  // Returns the format in the copy. REQUIRES: the file has the tensor.

  // Writes the copy. Returns the errors of GgufWriter::Write and GgufFile::Read; InvalidArgument (file, tensor, place, found, expected) for
  // numbers that are not finite, or become larger than FP32 can hold. After an error `path` is unchanged.
  absl::Status Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress = nullptr) const;

 private:
  // The role of a tensor in the changes.
  enum class Role : uint8_t { kKept, kNorm, kAfterAttentionNorm, kGate, kUp, kDown, kGateBias, kUpBias };
  struct Place {
    Role role = Role::kKept;
    int layer = 0;
  };
  struct Change;

  OffGridModel(const GgufFile& file, uint64_t seed) : file_(&file), seed_(seed) {}
  static absl::StatusOr<Role> RoleOf(const std::string& label, const std::string& place);
  absl::StatusOr<std::vector<float>> ReadVector(const std::string& name) const;
  absl::StatusOr<Change> ChangeOf(const Place& place) const;
  absl::Status Append(int tensor, ThreadPool& pool, GgufWriter::Append append) const;
  absl::Status AppendVector(const GgufTensor& tensor, const Change& change, GgufWriter::Append append) const;
  absl::Status AppendMatrix(const GgufTensor& tensor, const Change& change, ThreadPool& pool, GgufWriter::Append append) const;
  absl::Status ChangeRows(const GgufTensor& tensor, const Change& change, Share rows, float* out) const;

  const GgufFile* file_;
  uint64_t seed_;
  int64_t channels_ = 0;        // Inner channels of the feed-forward part.
  GgufWriter writer_;
  std::vector<Place> places_;   // For each of the file's tensors, in the file's order.
};

}  // namespace tessera
