#include "tessera/model/files/internal/check_finite.h"

#include "absl/strings/str_cat.h"
#include "tessera/quant/finite_blocks.h"

namespace tessera {

absl::Status CheckFinite(const GgufFile& file, const GgufTensor& tensor, int64_t begin, absl::Span<const std::byte> bytes) {
  const NotFiniteBlocks bad = FindNotFinite(tensor.format->format, bytes);
  if (bad.count == 0) return absl::OkStatus();
  const int64_t block = begin / tensor.format->bytes_per_block + bad.first;
  return absl::InvalidArgumentError(absl::StrCat(file.PathOf(tensor), ": tensor ", tensor.name, ": ", tensor.format->name,
                                                 tensor.format->values_per_block == 1 ? " value " : " block ", block, " at byte ",
                                                 tensor.offset + block * tensor.format->bytes_per_block,
                                                 ": found a NaN or an infinity, expected finite numbers"));
}

}  // namespace tessera
