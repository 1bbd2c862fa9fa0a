#include "tessera/storage/internal/verify_direct.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/block_device.h"

namespace tessera {
namespace {

std::string Shown(int64_t result) {
  return result < 0 ? std::strerror(static_cast<int>(-result)) : absl::StrCat(result, " bytes");
}

absl::Status VerifyBlock(int64_t offset, absl::Span<std::byte> expected, absl::Span<std::byte> found, ReadBytes direct,
                         ReadBytes plain) {
  const int64_t plain_bytes = plain(offset, expected);
  std::transform(expected.begin(), expected.end(), found.begin(), [](std::byte byte) { return ~byte; });
  const int64_t direct_bytes = direct(offset, found);
  if (plain_bytes < 0 || direct_bytes != plain_bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("at byte ", offset, ": ", Shown(direct_bytes), " with O_DIRECT, ", Shown(plain_bytes), " without"));
  }
  const auto different = std::mismatch(expected.begin(), expected.begin() + plain_bytes, found.begin()).first - expected.begin();
  if (different != plain_bytes) {
    return absl::FailedPreconditionError(absl::StrCat("byte ", offset + different, " is another with O_DIRECT than without"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyDirect(int64_t file_size, ReadBytes direct, ReadBytes plain) {
  if (file_size == 0) return absl::OkStatus();
  constexpr int64_t kBlock = BlockDevice::kAlignment;
  ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(2 * kBlock));
  const absl::Span<std::byte> expected = buffer.bytes().first(kBlock), found = buffer.bytes().last(kBlock);
  const int64_t last = (file_size - 1) / kBlock;
  for (const int64_t block : {int64_t{0}, last / 2, last}) {
    RETURN_IF_ERROR(VerifyBlock(block * kBlock, expected, found, direct, plain));
  }
  return absl::OkStatus();
}

}  // namespace tessera
