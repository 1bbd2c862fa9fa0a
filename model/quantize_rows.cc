#include "tessera/model/quantize_rows.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"
#include "tessera/quant/finite_blocks.h"

namespace tessera {
namespace {

constexpr int64_t kPieceValues = 1 << 20;  // Rounded before they are appended.

absl::Status CheckScales(const RowsToQuantize& matrix, absl::Span<const std::byte> blocks, int64_t first_row, int64_t row_bytes) {
  const BlockFormatInfo& format = InfoOf(matrix.format);
  const NotFiniteBlocks bad = FindNotFinite(format.format, blocks);
  if (bad.count == 0) return absl::OkStatus();
  const int64_t row = first_row + bad.first * format.bytes_per_block / row_bytes;
  return absl::InvalidArgumentError(absl::StrCat(matrix.name, ": row ", row, ": found numbers too large for ", format.name,
                                                 ", expected those that its FP16 scales can hold"));
}

}  // namespace

absl::Status QuantizeRows(const RowsToQuantize& matrix, ThreadPool& pool, absl::FunctionRef<absl::Status(Share part, float* out)> fill,
                          GgufWriter::Append append) {
  const BlockFormatInfo& format = InfoOf(matrix.format);
  const int64_t columns = matrix.columns, row_bytes = columns / format.values_per_block * format.bytes_per_block;
  const int64_t most_rows = std::clamp<int64_t>(kPieceValues / columns, 1, matrix.rows);
  std::vector<std::byte> piece(most_rows * row_bytes);
  std::vector<float> values(most_rows * columns);
  std::vector<absl::Status> filled(pool.threads());
  for (int64_t begin = 0; begin < matrix.rows; begin += most_rows) {
    const int64_t rows = std::min(most_rows, matrix.rows - begin);
    pool.Run([&](int worker) {
      const Share share = ShareOf(rows, worker, pool.threads());
      if (share.begin == share.end) return;
      float* own = &values[share.begin * columns];
      filled[worker] = fill({begin + share.begin, begin + share.end}, own);
      if (filled[worker].ok()) format.quantize(own, (share.end - share.begin) * columns, &piece[share.begin * row_bytes]);
    });
    for (const absl::Status& status : filled) RETURN_IF_ERROR(status);
    const absl::Span<const std::byte> blocks = absl::MakeConstSpan(piece).first(rows * row_bytes);
    RETURN_IF_ERROR(CheckScales(matrix, blocks, begin, row_bytes));
    RETURN_IF_ERROR(append(blocks));
  }
  return absl::OkStatus();
}

}  // namespace tessera
