#include "tessera/storage/internal/block_checker.h"

#include <algorithm>

#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kMostDrain = 50'000'000;  // Nanoseconds. Ending a streamer, or a request, waits so long.

}  // namespace

absl::Status BlockChecker::Check(int64_t offset, absl::Span<const std::byte> bytes) {
  const int unit = file_.UnitAt(offset);
  const int64_t begin = offset - file_.UnitOffset(unit), block = file_.FirstBlock(unit) + begin / kTsrBlockBytes;
  const bool whole = begin % kTsrBlockBytes == 0 &&
                     static_cast<int64_t>(bytes.size()) == std::min(kTsrBlockBytes, file_.StoredBytes(unit) - begin);
  if (!whole || policy_ == VerifyPolicy::kNever || (policy_ == VerifyPolicy::kFirst && verified_[block])) return absl::OkStatus();
  RETURN_IF_ERROR(file_.CheckBlock(block, bytes));
  verified_[block] = true;
  return absl::OkStatus();
}

std::string BlockChecker::Describe(int64_t offset) const {
  const int unit = file_.UnitAt(offset);
  return file_.Describe(unit, offset - file_.UnitOffset(unit));
}

bool BlockChecker::Trusts(int unit, int64_t block_of_unit) const {
  if (policy_ == VerifyPolicy::kFirst) return verified_[file_.FirstBlock(unit) + block_of_unit];
  return policy_ == VerifyPolicy::kNever;
}

BlockReader::Options CheckedReads(BlockChecker& checker, int64_t read_bytes) {
  return {.block_bytes = read_bytes,
          .check_bytes = kTsrBlockBytes,
          .check = [&checker](int64_t offset, absl::Span<const std::byte> block) { return checker.Check(offset, block); },
          .describe = [&checker](int64_t offset) { return checker.Describe(offset); },
          .most_drain_nanos = kMostDrain};
}

}  // namespace tessera
