// Finds out whether reads with O_DIRECT can be trusted. Some file systems (FUSE on Android) report a successful read and leave the buffer
// untouched.
//
//   RETURN_IF_ERROR(VerifyDirect(size, direct_read, plain_read));
//
// Reads a block at the beginning, in the middle and at the end of the file both ways. The buffer of the direct read is filled with the
// complement of the expected bytes, so a single byte that was not written shows. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"

namespace tessera {

// Returns the number of bytes read from the offset on, or -errno.
using ReadBytes = absl::FunctionRef<int64_t(int64_t offset, absl::Span<std::byte> out)>;

// FailedPrecondition with the offset and the fault. Nothing is read from an empty file.
absl::Status VerifyDirect(int64_t file_size, ReadBytes direct, ReadBytes plain);

}  // namespace tessera
