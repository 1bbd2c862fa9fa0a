// Writes a copy of a GGUF model with matrices in other block formats, for example with a smaller head, of which each token reads less.
//
//   ASSIGN_OR_RETURN(const QuantizedModel model, QuantizedModel::Plan(*file, {.head = BlockFormat::kQ4_1}));   // From a GgufFile.
//   RETURN_IF_ERROR(model.Write("smaller.gguf", pool, progress));
//
// Matrices are those of the head (token_embd.weight, and output.weight where there is one) and seven of each layer: attn_q, attn_k, attn_v,
// attn_output, ffn_gate, ffn_up, ffn_down. Matrices that have the wanted format already, and all other tensors, keep their bytes. Those
// that change no text and are in a format that is not read, of which not even the size is known, are left out (left_out). Metadata is kept,
// too: general.file_type becomes that of the layers' format, and keys of alignment and parts go; a split model becomes one file. Numbers
// are dequantized from the old format and quantized to the new one (BlockFormatInfo). The bytes do not depend on the number of threads.
// Memory does not grow with the model. Thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/gguf_writer.h"

namespace tessera {

struct QuantizeFormats {
  std::optional<BlockFormat> layers = {}, head = {};  // None: as they are.
};

class QuantizedModel {
 public:
  // `file` must outlive the result. Errors: InvalidArgument (file, tensor, found, expected) if rows are not whole blocks of a format, or
  // the format is only read; also if the model could not be run, by its configuration or its tensors: its copy would be refused as well.
  static absl::StatusOr<QuantizedModel> Plan(const GgufFile& file, const QuantizeFormats& formats);

  absl::StatusOr<int64_t> FileSize() const { return writer_.FileSize(); }
  int changed() const;  // Tensors that get another format.
  std::vector<std::string> left_out() const;  // Names of tensors.

  // Errors: those of GgufWriter::Write and GgufFile::Read; InvalidArgument (file, tensor, place) for numbers that are not finite or that
  // FP16 cannot hold (quantize_numbers.h). `path` is then unchanged.
  absl::Status Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress = nullptr) const;

 private:
  explicit QuantizedModel(const GgufFile& file) : file_(&file) {}
  void PutMetadata(const QuantizeFormats& formats);
  absl::Status Append(int tensor, ThreadPool& pool, GgufWriter::Append append) const;
  absl::Status AppendAsItIs(const GgufTensor& tensor, GgufWriter::Append append) const;

  const GgufFile* file_;
  GgufWriter writer_;
  std::vector<BlockFormat> formats_;  // New formats of the file's tensors, in its order.
};

}  // namespace tessera
