// Reports the matrices of a model that was written in other forms: the bytes of each matrix, and the distance of its weights to the model's
// weights.
//
//   std::vector<WrittenMatrix> matrices = MatricesOf(config, [&](absl::string_view tensor) { return quantized.FormatOf(tensor); });
//   RETURN_IF_ERROR(MeasureErrors(*file, *copy, pool, progress, absl::MakeSpan(matrices)));          // Both GgufFile.
//   for (const WrittenMatrix& matrix : matrices) Show(matrix.tensor, matrix.form, matrix.RelativeError());
//
// Errors are measured by reading both files back, with all threads: the file's actual contents count, not the intended contents. Errors do
// not depend on the number of threads, and memory does not grow with the model. Threads: thread-compatible.
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
  int64_t padding = 0;       // Bytes that hold no weight: panels and tiles are 32 outputs wide, tiles 32 inputs long.
  bool measured = false;     // The sums are known.
  double squared_errors = 0; // The sum of (w' - w)^2 over all weights,
  double squares = 0;        // and the sum of w^2.

  double BitsPerWeight() const;
  // The root of squared_errors / squares; 0 if both are 0.
  double RelativeError() const;
};

// Returns the matrices that the configuration needs, in the order of AllNeeds. format: returns the format of each matrix, by name, in the
// GGUF file that holds the matrices. REQUIRES: rows are whole blocks of the format.
std::vector<WrittenMatrix> MatricesOf(const ModelConfig& config, absl::FunctionRef<BlockFormat(absl::string_view tensor)> format);
// Returns the matrices of a packed file.
std::vector<WrittenMatrix> MatricesOf(const ModelConfig& config, const WeightLayout& layout);

using ErrorProgress = std::function<void(int64_t done, int64_t total)>;  // Bytes of the written file's matrices, or units.

// Measures the errors of a GGUF file. copy: the written file. Returns InvalidArgument (file, tensor, found, expected) if a file lacks a
// matrix, or has a matrix with another number of weights; the errors of GgufFile::Read and CheckUnchanged. After an error the matrices are
// as before.
absl::Status MeasureErrors(const GgufFile& model, const GgufFile& copy, ThreadPool& pool, const ErrorProgress& progress,
                           absl::Span<WrittenMatrix> matrices);

// Measures the errors of a packed file. packed: a file with the layout's units, else InvalidArgument. Compares every checksum. progress:
// called on this thread. Also returns the errors of TsrReader::ReadUnit and of opening a matrix. REQUIRES: the layout was planned from
// `model`.
absl::Status MeasureErrors(const GgufFile& model, const TsrReader& packed, const WeightLayout& layout, ThreadPool& pool,
                           const ErrorProgress& progress, absl::Span<WrittenMatrix> matrices);

// Measures the errors of units in memory. source: the layout's units, as an engine has the units. REQUIRES: no other caller acquires leases
// meanwhile.
absl::Status MeasureErrors(const GgufFile& model, WeightSource& source, const WeightLayout& layout, ThreadPool& pool,
                           const ErrorProgress& progress, absl::Span<WrittenMatrix> matrices);

}  // namespace tessera
