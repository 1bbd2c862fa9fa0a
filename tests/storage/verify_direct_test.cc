// Direct reads that are wrong in one place, or say something else than plain ones.
#include "tessera/storage/internal/verify_direct.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/storage/block_device.h"
#include "tessera/tests/fakes/memory_device.h"
#include "tessera/tests/fakes/random_file.h"

namespace tessera {
namespace {

constexpr int64_t kBlock = BlockDevice::kAlignment, kFile = 9 * kBlock + 100;

class VerifyDirectTest : public testing::Test {
 protected:
  int64_t Plain(int64_t offset, absl::Span<std::byte> out) {
    read_.insert(offset);
    return disk_.ReadPlain(offset, out);
  }

  // What is found if direct reads at `offset` go by lie(out) and others are right.
  template <typename Lie>
  absl::Status WithLieAt(int64_t offset, const Lie& lie) {
    const auto plain = [&](int64_t at, absl::Span<std::byte> out) { return Plain(at, out); };
    const auto direct = [&](int64_t at, absl::Span<std::byte> out) { return at == offset ? lie(out) : Plain(at, out); };
    return VerifyDirect(kFile, direct, plain);
  }

  MemoryDevice disk_{RandomBytes(kFile, /*seed=*/61)};
  std::set<int64_t> read_;
};

TEST_F(VerifyDirectTest, LooksAtTheFirstTheMiddleAndTheLastBlock) {
  EXPECT_EQ(WithLieAt(-1, [](absl::Span<std::byte>) { return int64_t{0}; }), absl::OkStatus());
  EXPECT_EQ(read_, (std::set<int64_t>{0, 4 * kBlock, 9 * kBlock}));
}

TEST_F(VerifyDirectTest, AnUnfilledBufferIsSeenAtAnyPlace) {
  for (const int64_t offset : {int64_t{0}, 4 * kBlock, 9 * kBlock}) {
    const int64_t there = std::min(kBlock, kFile - offset);
    EXPECT_EQ(WithLieAt(offset, [&](absl::Span<std::byte>) { return there; }).message(),
              absl::StrCat("byte ", offset, " is another with O_DIRECT than without"));
  }
}

TEST_F(VerifyDirectTest, ASingleByteLeftAloneIsSeen) {
  const auto all_but_one = [&](absl::Span<std::byte> out) {
    const std::byte before = out[1234];
    const int64_t got = Plain(4 * kBlock, out);
    out[1234] = before;
    return got;
  };
  EXPECT_EQ(WithLieAt(4 * kBlock, all_but_one).message(), "byte 17618 is another with O_DIRECT than without");
}

TEST_F(VerifyDirectTest, AnotherCountOrAnErrorIsSeen) {
  EXPECT_EQ(WithLieAt(0, [](absl::Span<std::byte>) { return int64_t{512}; }).message(),
            "at byte 0: 512 bytes with O_DIRECT, 4096 bytes without");
  EXPECT_EQ(WithLieAt(4 * kBlock, [](absl::Span<std::byte>) { return int64_t{-EINVAL}; }).message(),
            "at byte 16384: Invalid argument with O_DIRECT, 4096 bytes without");
}

TEST_F(VerifyDirectTest, OfAnEmptyFileNothingIsRead) {
  const auto never = [](int64_t, absl::Span<std::byte>) -> int64_t {
    ADD_FAILURE() << "read";
    return -1;
  };
  EXPECT_EQ(VerifyDirect(0, never, never), absl::OkStatus());
}

}  // namespace
}  // namespace tessera
