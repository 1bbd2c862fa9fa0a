// Sums that are remembered: a file that is the same is not read again, and another one with the same name, size and time of writing is.
#include "tessera/base/known_sum.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tessera/base/file.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class KnownSum : public testing::Test {
 protected:
  // The one record that there is.
  std::string Record() const {
    std::string path;
    for (const auto& file : std::filesystem::directory_iterator(sums_)) path = file.path().string();
    return path;
  }

  const TemporaryFolder folder_;
  const std::string sums_ = folder_.Path("sums");
  const std::string old_ = GoldenPath("tiny/llama.gguf");   // Nobody changes it while this runs.
};

TEST_F(KnownSum, HeaderExample) {
  const Sha256Sum sum = Must(KnownSha256OfFile(old_, sums_));
  EXPECT_EQ(sum, Must(Sha256OfFile(old_)));
  EXPECT_EQ(Must(KnownSha256OfFile(old_, sums_)), sum);
}

TEST_F(KnownSum, AFileThatIsTheSameIsNotReadAgain) {
  const Sha256Sum sum = Must(KnownSha256OfFile(old_, sums_)), other = Sha256Of("other");
  const std::string text = Must(ReadFileToString(Record(), 1000));
  Must(WriteFileAtomically(Record(), absl::StrReplaceAll(text, {{sum.Hex(), other.Hex()}})));
  EXPECT_EQ(Must(KnownSha256OfFile(old_, sums_)), other) << "the record's";
  for (const std::string& wrong : {std::string("x"), absl::StrCat("size 1", text), text + "\n", text.substr(0, text.size() - 2)}) {
    Must(WriteFileAtomically(Record(), wrong));
    EXPECT_EQ(Must(KnownSha256OfFile(old_, sums_)), sum) << wrong;
  }
}

TEST_F(KnownSum, AnotherFileOfTheSameNameSizeAndTimeOfWritingIsRead) {
  const std::string path = folder_.Path("model.gguf");
  const auto write = [&](const std::string& bytes, std::filesystem::file_time_type time) {
    Must(WriteFileAtomically(path, bytes));
    std::filesystem::last_write_time(path, time);
  };
  const auto hour_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  write("one", hour_ago);
  EXPECT_EQ(Must(KnownSha256OfFile(path, sums_)), Sha256Of("one"));
  write("two", hour_ago);
  EXPECT_EQ(Must(KnownSha256OfFile(path, sums_)), Sha256Of("two"));
  EXPECT_FALSE(std::filesystem::exists(sums_)) << "both changed a moment ago: another change may have the same time";
}

TEST_F(KnownSum, NeedsNoFolder) {
  EXPECT_EQ(Must(KnownSha256OfFile(old_, "/proc/none")), Must(Sha256OfFile(old_)));
  EXPECT_TRUE(absl::IsNotFound(KnownSha256OfFile(folder_.Path("none"), sums_).status()));
}

}  // namespace
}  // namespace tessera
