// Writes a copy of a GGUF model with matrices in other block formats, for example with a smaller head, so that each token reads fewer
// bytes.
//
//   ASSIGN_OR_RETURN(const WeightRecipe recipe, WeightRecipe::Parse("Q4_0,ffn_down=Q8_0,head=Q4_1"));
//   ASSIGN_OR_RETURN(const QuantizedModel model, QuantizedModel::Plan(*file, recipe));        // From a GgufFile.
//   RETURN_IF_ERROR(model.Write("smaller.gguf", pool, progress));
//
// The recipe gives each matrix a form (weight_recipe.h). GGUF files hold block formats, though not all (BlockFormatInfo::in_gguf), and no
// tiles. Matrices that already have the wanted format, and all other tensors, keep their bytes. Tensors that change no text and have an
// unread format, with unknown size, are left out (left_out). Metadata is kept, with two exceptions. If a layer changes, general.file_type
// becomes the number of the format that most weights of the layers have. Keys of alignment and parts are dropped: a split model becomes one
// file. Numbers are dequantized from the old format and quantized to the new format (BlockFormatInfo). With statistics (importance.h),
// formats that search scales weigh errors by the size of inputs. The bytes do not depend on the number of threads. Memory does not grow
// with the model. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/gguf_writer.h"
#include "tessera/model/files/importance.h"
#include "tessera/model/files/weight_recipe.h"

namespace tessera {

class QuantizedModel {
 public:
  // `file` must outlive the result. Returns InvalidArgument (file, tensor, found, expected) if rows are whole blocks neither of a format
  // nor of its replacement (FormatForRows), or if GGUF files cannot hold a form of the recipe. Also if the recipe has a rule for a part
  // that the model does not have. Also if the model could not be run, by its configuration or tensors: the copy would be refused as well.
  static absl::StatusOr<QuantizedModel> Plan(const GgufFile& file, const WeightRecipe& recipe);

  // Returns the first form of the recipe for a matrix of the file that no GGUF file can hold: "int4-tile", "T2". Empty: all forms can be
  // held. Returns the errors of ReadModelConfig.
  static absl::StatusOr<std::string> NotInGguf(const GgufFile& file, const WeightRecipe& recipe);

  absl::StatusOr<int64_t> FileSize() const { return writer_.FileSize(); }
  int changed() const;  // Tensors with another format in the copy.
  std::vector<std::string> left_out() const;  // Names of tensors.
  BlockFormat FormatOf(absl::string_view tensor) const;  // Returns the format in the copy. REQUIRES: the file has the tensor.

  // Writes the copy. Returns the errors of GgufWriter::Write and GgufFile::Read; InvalidArgument (file, tensor, place) for numbers that are
  // not finite or that FP16 cannot hold (quantize_numbers.h). Returns InvalidArgument (file, tensor, found, expected) for statistics with
  // another number of inputs. After an error `path` is unchanged. importance: statistics of the model's matrices. Matrices without
  // statistics, and formats without a search, are quantized as without importance. Null: none.
  absl::Status Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress = nullptr,
                     const Importance* importance = nullptr) const;

 private:
  explicit QuantizedModel(const GgufFile& file) : file_(&file) {}
  std::optional<uint32_t> FileType() const;
  absl::Status Append(int tensor, ThreadPool& pool, const Importance* importance, GgufWriter::Append append) const;

  const GgufFile* file_;
  GgufWriter writer_;
  std::vector<BlockFormat> formats_;  // New formats of the file's tensors, in the file's order.
};

}  // namespace tessera
