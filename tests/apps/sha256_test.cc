// SHA-256 of texts and files: the standard's own examples, files around the size of a part, and the form of a hash.
#include "tessera/apps/show/sha256.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/base/file.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, HeaderExample) {
  EXPECT_EQ(Sha256Of("abc"), kAbc);
  const TemporaryFolder folder;
  Must(WriteFileAtomically(folder.Path("model.gguf"), "abc"));
  const std::string hash = Must(Sha256OfFile(folder.Path("model.gguf")));
  EXPECT_EQ(hash, kAbc);
  EXPECT_TRUE(IsSha256(hash));
}

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(Sha256Of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
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

TEST(Sha256, HasA64DigitForm) {
  EXPECT_TRUE(IsSha256(kAbc));
  for (const std::string& other : {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'A'), std::string(64, 'g')}) {
    EXPECT_FALSE(IsSha256(other)) << other;
  }
}

}  // namespace
}  // namespace tessera
