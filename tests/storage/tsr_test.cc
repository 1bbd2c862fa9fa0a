#include "tessera/storage/tsr.h"

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

absl::StatusOr<bool> Example(const std::string& path, const std::vector<std::byte>& config_bytes) {
  const TsrUnit unit = {.bytes = 4096, .entries = {{"blk.0.attn_q.weight", /*offset=*/0, /*bytes=*/4000}}};
  const TsrContents contents = {.layout = "my-layout-1", .units = {unit}, .attachments = {{"config", config_bytes}}};
  RETURN_IF_ERROR(WriteTsrSample(path, {contents, {std::vector<std::byte>(4096)}}));
  ASSIGN_OR_RETURN(const bool packed, IsTsrFile(path));
  return packed;
}

TEST(Tsr, HeaderExample) {
  const TemporaryFolder folder;
  EXPECT_TRUE(*Example(folder.Path("model.tsr"), {}));
}

TEST(Tsr, IsToldByItsFirstBytesNotItsName) {
  const TemporaryFolder folder;
  ASSERT_EQ(WriteTsrSample(folder.Path("model.gguf"), MakeTsrSample({100})), absl::OkStatus());
  EXPECT_TRUE(*IsTsrFile(folder.Path("model.gguf")));
  for (const std::string contents : {"", "GGUF", "\x89TSR\r\n\x1a", "\x89TSR\n\x1a\nxxxxxxxxxxxx"}) {
    ASSERT_EQ(WriteFileAtomically(folder.Path("model.tsr"), contents), absl::OkStatus());
    EXPECT_FALSE(*IsTsrFile(folder.Path("model.tsr"))) << contents;
  }
  EXPECT_TRUE(absl::IsNotFound(IsTsrFile(folder.Path("none")).status()));
}

TEST(Tsr, EachFileHasItsOwnUuid) {
  const TsrUuid one = RandomTsrUuid();
  EXPECT_NE(one, RandomTsrUuid());
  const std::string text = FormatTsrUuid(one);
  ASSERT_EQ(text.size(), 36u);
  EXPECT_EQ(text[14], '4') << text;  // RFC 4122: the version, and the variant behind it.
  EXPECT_NE(std::string("89ab").find(text[19]), std::string::npos) << text;
  EXPECT_EQ(FormatTsrUuid(kSampleUuid), "01020304-0000-0000-0000-000000000000");
}

}  // namespace
}  // namespace tessera
