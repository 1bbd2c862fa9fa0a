// Writes a copy of a GGUF model with matrices in other block formats, for example with a smaller head, of which each token reads less.
//
//   ASSIGN_OR_RETURN(const WeightRecipe recipe, WeightRecipe::Parse("Q4_0,ffn_down=Q8_0,head=Q4_1"));
//   ASSIGN_OR_RETURN(const QuantizedModel model, QuantizedModel::Plan(*file, recipe));        // From a GgufFile.
//   RETURN_IF_ERROR(model.Write("smaller.gguf", pool, progress));
//
// The recipe says which form each matrix takes (weight_recipe.h); GGUF files hold block formats, but not all of them
// (BlockFormatInfo::in_gguf), and no tiles. Matrices that have the wanted format already, and all other tensors, keep their bytes. Those
// that change no text and are in a format that is not read, of which not even the size is known, are left out (left_out). Metadata is kept,
// too: general.file_type becomes that of the format which most weights of the layers have, if a layer changes, and keys of alignment and
// parts go; a split model becomes one file. Numbers are dequantized from the old format and quantized to the new one (BlockFormatInfo);
// with statistics (importance.h) formats that search their scales weigh errors by how large inputs are. The bytes do not depend on the
// number of threads. Memory does not grow with the model. Thread-compatible.
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
  // `file` must outlive the result. Errors: InvalidArgument (file, tensor, found, expected) if rows are not whole blocks of a format nor
  // of the one that takes its place (FormatForRows), or GGUF files cannot hold a form of the recipe; if the recipe has a rule for what the
  // model does not have; also if the model could not be run, by its configuration or its tensors: its copy would be refused as well.
  static absl::StatusOr<QuantizedModel> Plan(const GgufFile& file, const WeightRecipe& recipe);

  // The first form that the recipe gives a matrix of the file and that no GGUF file can hold: "int4-tile", "T2". Empty: there is none.
  // The errors of ReadModelConfig.
  static absl::StatusOr<std::string> NotInGguf(const GgufFile& file, const WeightRecipe& recipe);

  absl::StatusOr<int64_t> FileSize() const { return writer_.FileSize(); }
  int changed() const;  // Tensors that get another format.
  std::vector<std::string> left_out() const;  // Names of tensors.
  BlockFormat FormatOf(absl::string_view tensor) const;  // In the copy. REQUIRES: the file has the tensor.

  // Errors: those of GgufWriter::Write and GgufFile::Read; InvalidArgument (file, tensor, place) for numbers that are not finite or that
  // FP16 cannot hold (quantize_numbers.h), and (file, tensor, found, expected) for statistics of another number of inputs. `path` is then
  // unchanged. importance: of the model's matrices; those that it does not know, and formats without a search, are as without. Null: none.
  absl::Status Write(const std::string& path, ThreadPool& pool, const GgufWriter::Progress& progress = nullptr,
                     const Importance* importance = nullptr) const;

 private:
  explicit QuantizedModel(const GgufFile& file) : file_(&file) {}
  std::optional<uint32_t> FileType() const;
  absl::Status Append(int tensor, ThreadPool& pool, const Importance* importance, GgufWriter::Append append) const;

  const GgufFile* file_;
  GgufWriter writer_;
  std::vector<BlockFormat> formats_;  // New formats of the file's tensors, in its order.
};

}  // namespace tessera
