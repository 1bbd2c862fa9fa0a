// Rounds the rows of a matrix into blocks with all threads and appends them to a file in order, some at a time.
//
//   const RowsToQuantize matrix = {"token_embd.weight", BlockFormat::kQ4_1, rows, columns};
//   RETURN_IF_ERROR(QuantizeRows(matrix, pool, [&](Share part, float* out) {
//     for (int64_t row = part.begin; row < part.end; ++row, out += columns) Fill(row, out);
//     return absl::OkStatus();
//   }, append));
//
// The bytes do not depend on the threads; memory does not grow with the matrix. Thread-compatible.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/gguf_writer.h"

namespace tessera {

struct RowsToQuantize {
  std::string name;  // For messages.
  BlockFormat format;
  int64_t rows;
  int64_t columns;   // A whole number of the format's blocks.
};

// fill: writes rows [part.begin, part.end), one behind the other; called by several threads at once. Errors: those of `fill` and
// `append`; InvalidArgument (name, row, found, expected) where a block's scale is beyond FP16.
absl::Status QuantizeRows(const RowsToQuantize& matrix, ThreadPool& pool, absl::FunctionRef<absl::Status(Share part, float* out)> fill,
                          GgufWriter::Append append);

}  // namespace tessera
