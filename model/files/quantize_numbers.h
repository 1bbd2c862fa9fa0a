// Quantizes a tensor's numbers with all threads and appends the blocks to a file in order, piece by piece.
//
//   const NumbersToQuantize numbers = {"token_embd.weight", BlockFormat::kQ4_1, rows * columns};
//   RETURN_IF_ERROR(QuantizeNumbers(numbers, pool, [&](Share part, float* out) {
//     for (int64_t i = part.begin; i < part.end; ++i) *out++ = NumberAt(i);          // Row by row.
//     return absl::OkStatus();
//   }, append));
//
// The bytes do not depend on the threads. Memory grows neither with the tensor nor with the tensor's rows. Threads: thread-compatible.
#pragma once

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/gguf_writer.h"

namespace tessera {

struct NumbersToQuantize {
  std::string name = {};  // For messages.
  BlockFormat format = BlockFormat::kF32;  // REQUIRES: a format that can be written (CheckWritten).
  int64_t count = 0;      // Whole blocks.
  // Weight of an error by input, for each number of a row. Empty: all equal. REQUIRES: the format has a search (BlockFormatInfo::search),
  // rows are whole blocks, importance is finite and not negative.
  absl::Span<const float> importance = {};
};

// Maximum numbers in memory at once. Each piece begins at a multiple of this number.
inline constexpr int64_t kQuantizedTogether = 1 << 20;

// Quantizes the numbers. fill: writes numbers [part.begin, part.end), a part of one piece; the part begins with a block of any format.
// Several threads call `fill` at once. Returns the errors of `fill` and `append`; InvalidArgument (name, place, found, expected) for a NaN,
// and for numbers larger than FP16 can hold, or larger than BF16 or FP32 can hold if that is the format.
absl::Status QuantizeNumbers(const NumbersToQuantize& numbers, ThreadPool& pool,
                             absl::FunctionRef<absl::Status(Share part, float* out)> fill, GgufWriter::Append append);

}  // namespace tessera
