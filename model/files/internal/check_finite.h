// Refuses a tensor's bytes if a value is NaN or infinite: one such value would turn every logit into NaN.
//
//   RETURN_IF_ERROR(CheckFinite(file, tensor, /*begin=*/0, bytes));
//
// Thread-safe (pure function).
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "tessera/model/files/gguf.h"

namespace tessera {

// begin: the place of `bytes`, whole blocks, in the tensor. Returns InvalidArgument with file, tensor, block and byte of the first wrong
// value.
absl::Status CheckFinite(const GgufFile& file, const GgufTensor& tensor, int64_t begin, absl::Span<const std::byte> bytes);

}  // namespace tessera
