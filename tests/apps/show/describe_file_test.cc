#include "tessera/apps/show/describe_file.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/gguf_builder.h"

namespace tessera {
namespace {

class DescribeFile : public testing::Test {
 protected:
  const GgufFile& Parse(GgufBuilder builder) {
    bytes_ = builder.Build();
    file_ = *GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()}, "m.gguf");
    return *file_;
  }

 private:
  std::string bytes_;
  std::unique_ptr<GgufFile> file_;
};

TEST_F(DescribeFile, HeaderExample) {
  EXPECT_EQ(FileText(Parse(GgufBuilder().Number<uint32_t>("a.b", 7).Tensor("t", {1}, 0, "1234"))),
            "m.gguf: GGUF version 3, 100 B, 1 metadata entries, 1 tensors\n\n"
            "key  type    value\n"
            "---  ------  -----\n"
            "a.b  UINT32  7\n\n"
            "tensor  shape  format  bytes  offset\n"
            "------  -----  ------  -----  ------\n"
            "t       1      F32         4      96\n");
}

TEST_F(DescribeFile, TensorsThatAreNotReadAreNamed) {
  const GgufFile& file = Parse(GgufBuilder().Tensor("t", {1}, 0, "1234").Tensor("blk.0.attn_rot_embd", {1}, /*gguf_type=*/99, "1234"));
  EXPECT_TRUE(absl::StrContains(FileText(file), ", 2 tensors\n"));
  EXPECT_TRUE(absl::StrContains(FileText(file), "\nblk.0.attn_rot_embd         not read"));
  const JsonValue json = *JsonValue::Parse(FileJson(file));
  EXPECT_EQ((*json.Array("tensors")).size(), 1);
  EXPECT_EQ(*(*json.Array("unread_tensors")).AsStrings(), std::vector<std::string>{"blk.0.attn_rot_embd"});
}

// A key may have 65,535 bytes: the text has the beginning of it, and no other line is padded to its length.
TEST_F(DescribeFile, OneLongKeyCostsNoMoreThanALine) {
  const std::string longest(65'535, 'k');
  GgufBuilder builder;
  for (int i = 0; i < 1000; ++i) builder.Number<uint8_t>(absl::StrCat("n", i), 1);
  const size_t without = FileText(Parse(builder)).size();
  builder.Number<uint8_t>(longest, 1);
  const std::string text = FileText(Parse(builder));
  EXPECT_TRUE(absl::StrContains(text, "\n" + longest.substr(0, 72) + "... (65535 bytes)  UINT8  1\n"));
  EXPECT_LE(text.size(), without + 1003 * 100);
  EXPECT_TRUE(absl::StrContains(FileJson(Parse(builder)), longest));  // Whole, for programs.
}

TEST(PiecesText, WarnsOfMoreThanOneForEach64MiBAndOne) {
  const auto text = [](int64_t mib, int64_t pieces) { return PiecesText("m.tsr", {.file_bytes = mib << 20, .extents = pieces}); };
  EXPECT_EQ(text(256, 5), "");
  EXPECT_EQ(text(256, 6),
            "m.tsr: found 6 pieces on the disk, expected at most 5: streaming from it may be slow; free some room there and pack "
            "again\n");
  EXPECT_EQ(text(1, 1), "");
  EXPECT_NE(text(1, 2), "");
  EXPECT_EQ(text(256, -1), "") << "a disk that does not tell";
}

}  // namespace
}  // namespace tessera
