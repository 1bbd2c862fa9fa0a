#include "tessera/base/shared_bytes.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(SharedBytes, HeaderExample) {
  std::vector<std::byte> read = {std::byte{1}, std::byte{2}};
  const auto keeper = std::make_shared<const int>(7);
  const std::byte* const address = read.data();
  const size_t size = read.size();
  size_t parsed = 0;
  const auto Parse = [&](absl::Span<const std::byte> some) { parsed += some.size(); };
  SharedBytes mapped({address, size}, keeper);
  Parse(mapped.span());
  SharedBytes bytes(std::move(read));
  Parse(bytes.span());
  EXPECT_EQ(parsed, 4u);
}

TEST(SharedBytes, AreKeptUntilTheLastCopyGoes) {
  const std::byte some[2] = {};
  auto keeper = std::make_shared<const int>(7);
  const std::weak_ptr<const int> watched = keeper;
  SharedBytes copy;
  {
    const SharedBytes bytes(some, std::move(keeper));
    copy = bytes;
  }
  EXPECT_EQ(copy.span().data(), some);
  EXPECT_FALSE(watched.expired());
  copy = SharedBytes();
  EXPECT_TRUE(watched.expired());
}

// As the vector's own bytes do when it is moved.
TEST(SharedBytes, OfAVectorStayAtTheirAddress) {
  std::vector<std::byte> vector(1000, std::byte{5});
  const std::byte* const address = vector.data();
  const SharedBytes bytes(std::move(vector)), copy = bytes;
  EXPECT_EQ(bytes.span().data(), address);
  EXPECT_EQ(copy.span().data(), address);
  EXPECT_TRUE(SharedBytes().span().empty());
}

}  // namespace
}  // namespace tessera
