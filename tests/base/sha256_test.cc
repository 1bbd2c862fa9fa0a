// SHA-256: the standard's own vectors, and paths that agree for every length.
#include "tessera/base/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/file.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

std::vector<std::byte> RandomBytes(size_t size, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Below(256));
  return bytes;
}

TEST(Sha256, HeaderExample) {
  Sha256 hash;
  hash.Add("abc");
  const Sha256Sum sum = hash.Take();
  EXPECT_EQ(sum.Hex(), kAbc);
  EXPECT_FALSE(sum.empty());
  EXPECT_TRUE(Sha256Sum().empty());
}

// FIPS 180-4's examples, as NIST publishes them.
TEST(Sha256, AgreesWithThePublishedVectors) {
  EXPECT_EQ(Sha256Of("").Hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").Hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Of(std::string(1'000'000, 'a')).Hex(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, EveryPathAgreesOnOneAndManyBlocks) {
  EXPECT_STREQ(SupportedSha256Paths().front().name, "portable");
  const std::vector<std::byte> bytes = RandomBytes(64 * 40 + 16, 1);
  for (size_t count = 0; count <= 40; ++count) {
    for (const size_t from : {0, 1, 3, 16}) {
      std::array<uint32_t, 8> expected = {1, 2, 3, 4, 5, 6, 7, 8};
      const std::array<uint32_t, 8> begin = expected;
      SupportedSha256Paths().front().add_blocks(expected, bytes.data() + from, count);
      for (const Sha256Path& path : SupportedSha256Paths()) {
        std::array<uint32_t, 8> state = begin;
        path.add_blocks(state, bytes.data() + from, count);
        EXPECT_EQ(state, expected) << path.name << ": " << count << " blocks from " << from;
      }
    }
  }
}

// Every length up to some blocks, and every way to cut it in two.
TEST(Sha256, SplitBytesHaveTheSumOfTheWhole) {
  const std::vector<std::byte> bytes = RandomBytes(200, 2);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const absl::Span<const std::byte> part = absl::MakeConstSpan(bytes).first(size);
    const Sha256Sum expected = Sha256Of(part);
    for (size_t cut = 0; cut <= size; ++cut) {
      Sha256 hash;
      hash.Add(part.first(cut));
      hash.Add(part.subspan(cut));
      ASSERT_EQ(hash.Take(), expected) << size << " bytes, cut at " << cut;
    }
  }
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const TemporaryFolder folder;
  for (const size_t size : {size_t{0}, size_t{3}, size_t{1} << 20, (size_t{1} << 20) + 1}) {
    const std::string bytes(size, 'x');
    Must(WriteFileAtomically(folder.Path("file"), bytes));
    EXPECT_EQ(Must(Sha256OfFile(folder.Path("file"))), Sha256Of(bytes)) << size;
  }
  EXPECT_TRUE(absl::IsNotFound(Sha256OfFile(folder.Path("none")).status()));
}

TEST(Sha256, IsReadFrom64DigitsAlone) {
  EXPECT_EQ(Sha256Sum::Parse(kAbc), Sha256Of("abc"));
  for (const std::string& other : {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'A'), std::string(64, 'g')}) {
    EXPECT_FALSE(Sha256Sum::Parse(other).has_value()) << other;
  }
}

TEST(Sha256, LengthsKeepTextsApart) {
  const auto sum = [](absl::string_view a, absl::string_view b) {
    Sha256 hash;
    hash.AddSized(a);
    hash.AddSized(b);
    return hash.Take();
  };
  EXPECT_NE(sum("ab", "c"), sum("a", "bc"));
  EXPECT_EQ(sum("ab", "c"), Sha256Of(absl::string_view("\2\0\0\0\0\0\0\0ab\1\0\0\0\0\0\0\0c", 19)));
}

}  // namespace
}  // namespace tessera
