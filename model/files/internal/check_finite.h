// Refuses a tensor's bytes if a value is NaN or infinite: one of them would turn every logit into NaN.
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

// begin: where `bytes`, whole blocks, lie in the tensor. InvalidArgument names file, tensor, block and byte of the first wrong value.
absl::Status CheckFinite(const GgufFile& file, const GgufTensor& tensor, int64_t begin, absl::Span<const std::byte> bytes);

}  // namespace tessera
