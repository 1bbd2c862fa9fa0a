#include "tessera/base/aligned_buffer.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/backed_bytes.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

absl::Status Example(int64_t bytes) {
  ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
  float* values = buffer.as<float>();
  values[0] = 1.5f;
  RETURN_IF_ERROR(buffer.PrepareForDevices());
  bool slower = buffer.LargePageBytes() < buffer.size();
  EXPECT_EQ(values[0], 1.5f) << slower;
  RETURN_IF_ERROR(buffer.GiveBack(/*offset=*/0, buffer.size()));
  return absl::OkStatus();
}

TEST(AlignedBuffer, HeaderExample) { EXPECT_TRUE(Example(64).ok()); }

TEST(AlignedBuffer, IsZeroedAndAlignedAtEverySizeAroundAPage) {
  for (int64_t bytes : {int64_t{1}, int64_t{4095}, int64_t{4096}, int64_t{4097}, 2 * kMiB - 1, 2 * kMiB, 2 * kMiB + 1, 5 * kMiB}) {
    const absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Allocate(bytes);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    EXPECT_EQ(buffer->size(), bytes);
    EXPECT_EQ(buffer->bytes().size(), static_cast<size_t>(bytes));
    const int64_t alignment = bytes >= 2 * kMiB ? 2 * kMiB : AlignedBuffer::kAlignment;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % alignment, 0u) << bytes;
    EXPECT_TRUE(std::all_of(buffer->bytes().begin(), buffer->bytes().end(), [](std::byte b) { return b == std::byte{0}; }));
    std::fill(buffer->bytes().begin(), buffer->bytes().end(), std::byte{0xFF});  // Every byte can be written.
  }
}

TEST(AlignedBuffer, ZeroBytesGiveAnEmptyBuffer) {
  const absl::StatusOr<AlignedBuffer> buffer = AlignedBuffer::Allocate(0);
  ASSERT_TRUE(buffer.ok());
  EXPECT_EQ(buffer->data(), nullptr);
  EXPECT_TRUE(buffer->bytes().empty());
}

TEST(AlignedBuffer, ImpossibleSizesAreErrorsThatNameThem) {
  const absl::Status negative = AlignedBuffer::Allocate(-5).status();
  EXPECT_TRUE(absl::IsInvalidArgument(negative));
  EXPECT_NE(negative.ToString().find("-5"), std::string::npos);
  const absl::Status huge = AlignedBuffer::Allocate(int64_t{1} << 60).status();
  EXPECT_TRUE(absl::IsResourceExhausted(huge)) << huge;
  EXPECT_NE(huge.ToString().find("1152921504606846976"), std::string::npos) << huge;
  EXPECT_FALSE(AlignedBuffer::Allocate(std::numeric_limits<int64_t>::max()).ok());
  const absl::Status weights = AlignedBuffer::Allocate(int64_t{1} << 60, AlignedBuffer::Pages::kLarge, "weights").status();
  EXPECT_EQ(weights.message(), absl::StrCat("weights: ", huge.message()));
}

TEST(AlignedBuffer, MovingHandsTheMemoryOnAndLeavesAnEmptyBuffer) {
  AlignedBuffer a = *AlignedBuffer::Allocate(100), b = *AlignedBuffer::Allocate(3 * kMiB);
  std::byte* const data = a.data();
  data[99] = std::byte{7};
  b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.size(), 100);
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(a.size(), 0);
  AlignedBuffer& same = b;
  b = std::move(same);
  EXPECT_EQ(b.data(), data);
  const AlignedBuffer c(std::move(b));
  EXPECT_EQ(c.data()[99], std::byte{7});
}

TEST(AlignedBuffer, PreparedForDevicesABufferIsBackedBeforeUse) {
  for (const AlignedBuffer::Pages pages : {AlignedBuffer::Pages::kLarge, AlignedBuffer::Pages::kSmall}) {
    AlignedBuffer buffer = *AlignedBuffer::Allocate(6 * kMiB, pages);
    EXPECT_EQ(BackedBytes(buffer.bytes()), 0);
    ASSERT_EQ(buffer.PrepareForDevices(), absl::OkStatus());
    EXPECT_EQ(BackedBytes(buffer.bytes()), 6 * kMiB);
    EXPECT_TRUE(std::all_of(buffer.bytes().begin(), buffer.bytes().end(), [](std::byte b) { return b == std::byte{0}; }));
  }
  AlignedBuffer empty;
  EXPECT_EQ(empty.PrepareForDevices(), absl::OkStatus());
  EXPECT_EQ(empty.LargePageBytes(), 0);
}

TEST(AlignedBuffer, GivesWholePagesOfAPartBackAndKeepsTheRest) {
  AlignedBuffer buffer = *AlignedBuffer::Allocate(6 * kMiB);
  std::fill(buffer.bytes().begin(), buffer.bytes().end(), std::byte{7});
  const int64_t page = sysconf(_SC_PAGESIZE), begin = kMiB - 1, end = 4 * kMiB + 1;  // Parts of a page on both sides.
  EXPECT_EQ(buffer.GiveBack(begin, end - begin), absl::OkStatus());
  EXPECT_EQ(BackedBytes(buffer.bytes()), 3 * kMiB);
  EXPECT_EQ(buffer.GiveBack(5 * kMiB + 1, page), absl::OkStatus());  // No whole page.
  EXPECT_EQ(BackedBytes(buffer.bytes()), 3 * kMiB);
  for (int64_t i = 0; i < buffer.size(); ++i) {
    ASSERT_EQ(buffer.data()[i], i < kMiB || i >= 4 * kMiB ? std::byte{7} : std::byte{0}) << i;
  }
}

TEST(AlignedBuffer, SaysThatLockedMemoryStays) {
  if (kSanitized) GTEST_SKIP() << "sanitizers ignore mlock";
  AlignedBuffer buffer = *AlignedBuffer::Allocate(kMiB);
  buffer.data()[0] = std::byte{7};
  if (mlock(buffer.data(), 4096) != 0) GTEST_SKIP() << "this system locks no memory for us";
  const absl::Status status = buffer.GiveBack(0, 4096);
  EXPECT_TRUE(absl::IsUnavailable(status) && absl::StrContains(status.message(), "cannot give 4096 bytes back")) << status;
  EXPECT_EQ(buffer.data()[0], std::byte{7});
}

TEST(AlignedBuffer, PreparingKeepsTheContents) {
  AlignedBuffer buffer = *AlignedBuffer::Allocate(100);
  buffer.data()[99] = std::byte{7};
  ASSERT_EQ(buffer.PrepareForDevices(), absl::OkStatus());
  EXPECT_EQ(buffer.data()[99], std::byte{7});
}

TEST(AlignedBuffer, OnlySmallPagesWhereSmallPagesWereAskedFor) {
  AlignedBuffer buffer = *AlignedBuffer::Allocate(8 * kMiB, AlignedBuffer::Pages::kSmall);
  ASSERT_EQ(buffer.PrepareForDevices(), absl::OkStatus());
  EXPECT_EQ(buffer.LargePageBytes(), 0);
}

// Sees what a forked child has of the buffer: nothing, so a touch is a fault.
TEST(AlignedBuffer, PreparedForDevicesABufferIsAbsentInForkedChildren) {
  if (kThreadSanitized) GTEST_SKIP() << "the sanitizer may put memory of its own where the child has none";
  AlignedBuffer buffer = *AlignedBuffer::Allocate(2 * kMiB);
  ASSERT_EQ(buffer.PrepareForDevices(), absl::OkStatus());
  const pid_t child = fork();
  if (child == 0) {
    unsigned char backed;
    _exit(mincore(buffer.data(), 4096, &backed) != 0 && errno == ENOMEM ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tessera
