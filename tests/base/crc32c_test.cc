#include "tessera/base/crc32c.h"

#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "tessera/base/random.h"

namespace tessera {
namespace {

absl::Span<const std::byte> BytesOf(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// The definition: the remainder, bit by bit.
uint32_t BitwiseCrc32c(absl::Span<const std::byte> bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? (crc >> 1) ^ 0x82F63B78 : crc >> 1;
  }
  return ~crc;
}

std::vector<std::byte> RandomBytes(size_t size, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Below(256));
  return bytes;
}

TEST(Crc32c, HeaderExample) {
  const std::string bytes = "12345", more = "6789";
  uint32_t crc = Crc32c(BytesOf(bytes));
  crc = Crc32c(BytesOf(more), crc);
  EXPECT_EQ(crc, 0xE3069283);
}

// RFC 3720, B.4.
TEST(Crc32c, AgreesWithThePublishedVectors) {
  std::string ascending(32, '\0'), descending(32, '\0');
  std::iota(ascending.begin(), ascending.end(), 0);
  std::iota(descending.rbegin(), descending.rend(), 0);
  const unsigned char read_command[48] = {0x01, 0xC0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 4, 0,
                                          0, 0, 0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0};
  const std::pair<std::string, uint32_t> vectors[] = {
      {"", 0}, {std::string(32, '\0'), 0x8A9136AA}, {std::string(32, '\xFF'), 0x62A8AB43}, {ascending, 0x46DD794E},
      {descending, 0x113FDB5C}, {std::string(reinterpret_cast<const char*>(read_command), 48), 0xD9963A56}};
  for (const auto& [bytes, crc] : vectors) {
    EXPECT_EQ(Crc32c(BytesOf(bytes)), crc);
    EXPECT_EQ(BitwiseCrc32c(BytesOf(bytes)), crc);
    for (const Crc32cPath& path : SupportedCrc32cPaths()) EXPECT_EQ(path.crc(BytesOf(bytes), 0), crc) << path.name;
  }
}

TEST(Crc32c, TheSlowestPathIsThePortable) { EXPECT_STREQ(SupportedCrc32cPaths().front().name, "portable"); }

// Lengths around words, lanes and windows, at every alignment.
TEST(Crc32c, EveryPathGivesTheRemainderForEveryLength) {
  const std::vector<std::byte> bytes = RandomBytes(7'000, 1);
  for (size_t size = 0; size <= 6'900; size += size < 2'000 ? 1 : 5) {
    const absl::Span<const std::byte> part = absl::MakeConstSpan(bytes).subspan(size % 67, size);
    const uint32_t expected = BitwiseCrc32c(part);
    for (const Crc32cPath& path : SupportedCrc32cPaths()) {
      ASSERT_EQ(path.crc(part, 0), expected) << path.name << ": " << size << " bytes from " << size % 67;
    }
  }
}

TEST(Crc32c, EveryPathGoesOnFromAnyRemainder) {
  const std::vector<std::byte> bytes = RandomBytes(100'000, 2);
  SeededRandom random(3);
  for (int i = 0; i < 300; ++i) {
    const size_t begin = random.Below(50'000), size = random.Below(i % 2 == 0 ? 3'000 : 50'000);
    const uint32_t before = static_cast<uint32_t>(random.Below(uint64_t{1} << 32));
    const absl::Span<const std::byte> part = absl::MakeConstSpan(bytes).subspan(begin, size);
    const uint32_t expected = SupportedCrc32cPaths().front().crc(part, before);
    for (const Crc32cPath& path : SupportedCrc32cPaths()) {
      ASSERT_EQ(path.crc(part, before), expected) << path.name << ": " << size << " bytes from " << begin << " after " << before;
    }
  }
}

TEST(Crc32c, SplitBytesHaveTheSumOfTheWhole) {
  const std::vector<std::byte> bytes = RandomBytes(50'000, 4);
  const absl::Span<const std::byte> all = absl::MakeConstSpan(bytes);
  for (const Crc32cPath& path : SupportedCrc32cPaths()) {
    for (size_t cut : {0, 1, 100, 12'288, 20'001, 50'000}) {
      EXPECT_EQ(path.crc(all.subspan(cut), path.crc(all.first(cut), 0)), Crc32c(all)) << path.name << ": " << cut;
    }
  }
}

}  // namespace
}  // namespace tessera
