#include "tessera/model/files/file_type.h"

#include <gtest/gtest.h>

#include "tessera/model/files/gguf_writer.h"

namespace tessera {
namespace {

TEST(FileType, HeaderExample) {
  GgufWriter writer;
  writer.Number("general.file_type", FileTypeOf(BlockFormat::kQ4_0));   // 2
  EXPECT_TRUE(writer.FileSize().ok());
  EXPECT_EQ(FileTypeOf(BlockFormat::kQ4_0), 2u);
}

// llama.cpp's numbers: LLAMA_FTYPE_MOSTLY_...
TEST(FileType, NumbersMatchLlamaCpp) {
  EXPECT_EQ(FileTypeOf(BlockFormat::kF32), 0u);
  EXPECT_EQ(FileTypeOf(BlockFormat::kF16), 1u);
  EXPECT_EQ(FileTypeOf(BlockFormat::kQ8_0), 7u);
  EXPECT_EQ(FileTypeOf(BlockFormat::kQ4_K), 14u);
  EXPECT_EQ(FileTypeOf(BlockFormat::kBF16), 32u);
}

}  // namespace
}  // namespace tessera
