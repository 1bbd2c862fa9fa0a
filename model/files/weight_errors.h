// The matrices of a model that was written in other forms: how much each takes, and how far its weights are from the model's.
//
//   std::vector<WrittenMatrix> matrices = MatricesOf(config, [&](absl::string_view tensor) { return quantized.FormatOf(tensor); });
//   RETURN_IF_ERROR(MeasureErrors(*file, *copy, pool, progress, absl::MakeSpan(matrices)));          // Both GgufFile.
//   for (const WrittenMatrix& matrix : matrices) Show(matrix.tensor, matrix.form, matrix.RelativeError());
//
// Errors are measured by reading both files back, with all threads: of what is in the file, not of what should be there. They do not depend
// on the number of threads, and memory does not grow with the model. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/config.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/tsr_reader.h"
#include "tessera/storage/weight_source.h"

namespace tessera {

struct WrittenMatrix {
  std::string tensor = {};   // "blk.0.ffn_up.weight"
  std::string kind = {};     // "ffn_up.weight": the same for all layers.
  std::string form = {};     // "Q4_1", "int4-tile"
  int64_t weights = 0;
  int64_t bytes = 0;
  int64_t padding = 0;       // Bytes among them that hold no weight: panels and tiles are 32 outputs wide, tiles 32 inputs long.
  bool measured = false;     // The sums are known.
  double squared_errors = 0; // The sum of (w' - w)^2 over all weights,
  double squares = 0;        // and that of w^2.

  double BitsPerWeight() const;
  // The root of squared_errors / squares: 0 where both are 0.
  double RelativeError() const;
};

// Those that the configuration needs, in the order of AllNeeds. format: of each, by name, in a GGUF file that holds them. REQUIRES: rows
// are whole blocks of it.
std::vector<WrittenMatrix> MatricesOf(const ModelConfig& config, absl::FunctionRef<BlockFormat(absl::string_view tensor)> format);
// As they are in a packed file.
std::vector<WrittenMatrix> MatricesOf(const ModelConfig& config, const WeightLayout& layout);

using ErrorProgress = std::function<void(int64_t done, int64_t total)>;  // Bytes of the written file's matrices, or units.

// copy: the file that was written. InvalidArgument (file, tensor, found, expected) if a file does not have a matrix, or has it with another
// number of weights; the errors of GgufFile::Read and CheckUnchanged. The matrices are then as they were.
absl::Status MeasureErrors(const GgufFile& model, const GgufFile& copy, ThreadPool& pool, const ErrorProgress& progress,
                           absl::Span<WrittenMatrix> matrices);

// packed: a file with the layout's units, else InvalidArgument. Every checksum is compared. progress: called on this thread. Errors also
// those of TsrReader::ReadUnit and of opening a matrix. REQUIRES: the layout was planned from `model`.
absl::Status MeasureErrors(const GgufFile& model, const TsrReader& packed, const WeightLayout& layout, ThreadPool& pool,
                           const ErrorProgress& progress, absl::Span<WrittenMatrix> matrices);

// source: the layout's units, as an engine has them. REQUIRES: nobody else acquires leases meanwhile.
absl::Status MeasureErrors(const GgufFile& model, WeightSource& source, const WeightLayout& layout, ThreadPool& pool,
                           const ErrorProgress& progress, absl::Span<WrittenMatrix> matrices);

}  // namespace tessera
