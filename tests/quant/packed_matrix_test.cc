#include "tessera/quant/packed_matrix.h"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/random_blocks.h"

namespace tessera {
namespace {

// Packs into memory without a spare byte.
AlignedBuffer Packed(const MatrixSpec& spec, absl::Span<const std::byte> gguf) {
  AlignedBuffer buffer = AlignedBuffer::Allocate(PackedMatrix::BytesFor(spec).value()).value();
  EXPECT_EQ(PackedMatrix::Pack(spec, gguf, buffer.bytes()), absl::OkStatus());
  return buffer;
}

// Numbers of 512 columns: two K blocks, so that the second one counts, too.
constexpr int64_t kColumns = 512;

TEST(PackedMatrix, HeaderExample) {
  const std::vector<std::byte> gguf_bytes = RandomBlocks(BlockFormat::kQ4_1, 1536 * 576, 1);
  const auto pack_and_open = [&]() -> absl::Status {
    MatrixSpec spec = {"blk.0.ffn_up.weight", BlockFormat::kQ4_1, /*out_features=*/1536, /*in_features=*/576};
    ASSIGN_OR_RETURN(int64_t bytes, PackedMatrix::BytesFor(spec));
    ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::Allocate(bytes));
    RETURN_IF_ERROR(PackedMatrix::Pack(spec, gguf_bytes, buffer.bytes()));
    ASSIGN_OR_RETURN(PackedMatrix matrix, PackedMatrix::Open(spec, buffer.bytes()));
    EXPECT_EQ(matrix.panels(), 48);
    EXPECT_EQ(bytes, 1536 * 576 / 32 * 20);  // As in the file: 5 bits per weight.
    return absl::OkStatus();
  };
  EXPECT_EQ(pack_and_open(), absl::OkStatus());
}

TEST(PackedMatrix, ReadsEveryRowBackToTheLastBit) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    for (int64_t rows : {1, 31, 32, 33, 70}) {
      SCOPED_TRACE(std::string(info.name) + " " + std::to_string(rows));
      const MatrixSpec spec = {"w", info.format, rows, kColumns};
      const std::vector<std::byte> gguf = WildBlocks(info.format, rows * kColumns, 2);
      std::vector<float> expected(rows * kColumns), found(kColumns);
      info.dequantize(gguf.data(), rows * kColumns, expected.data());
      const AlignedBuffer buffer = Packed(spec, gguf);
      const PackedMatrix matrix = PackedMatrix::Open(spec, buffer.bytes()).value();
      for (int64_t row = 0; row < rows; ++row) {
        matrix.ReadRow(row, found.data());
        ASSERT_EQ(std::memcmp(found.data(), &expected[row * kColumns], kColumns * sizeof(float)), 0) << "row " << row;
      }
    }
  }
}

// What the K formats cannot hold: rows of SmolLM2 and of Gemma 3, which are no multiples of 256.
TEST(PackedMatrix, FewBitsFitRowsOfAnyNumberOfGroups) {
  for (const BlockFormat format : {BlockFormat::kT2, BlockFormat::kT3}) {
    for (const int64_t columns : {32, 576, 640}) {
      const MatrixSpec spec = {"w", format, 33, columns};
      const std::vector<std::byte> blocks = WildBlocks(format, 33 * columns, 6);
      std::vector<float> expected(33 * columns), found(columns);
      InfoOf(format).dequantize(blocks.data(), 33 * columns, expected.data());
      const AlignedBuffer buffer = Packed(spec, blocks);
      const PackedMatrix matrix = PackedMatrix::Open(spec, buffer.bytes()).value();
      for (int64_t row = 0; row < 33; ++row) {
        matrix.ReadRow(row, found.data());
        ASSERT_EQ(std::memcmp(found.data(), &expected[row * columns], columns * sizeof(float)), 0) << columns << " row " << row;
      }
    }
  }
}

// Storage may cut a matrix anywhere between panels, and GGUF bytes may begin at any address.
TEST(PackedMatrix, PartsOfWholePanelsHaveTheBytesOfTheWhole) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    SCOPED_TRACE(info.name);
    std::vector<std::byte> gguf = WildBlocks(info.format, 100 * kColumns, 3);
    const AlignedBuffer whole = Packed({"w", info.format, 100, kColumns}, gguf);
    gguf.insert(gguf.begin(), std::byte{0});
    const int64_t row_bytes = BytesOfRows(info.format, 1, kColumns).value();
    int64_t offset = 0;
    for (const auto& [first, rows] : std::vector<std::pair<int64_t, int64_t>>{{0, 64}, {64, 32}, {96, 4}}) {
      const absl::Span<const std::byte> source(gguf.data() + 1 + first * row_bytes, rows * row_bytes);
      const AlignedBuffer part = Packed({"part", info.format, rows, kColumns}, source);
      EXPECT_EQ(std::memcmp(part.data(), whole.data() + offset, part.size()), 0) << "rows from " << first;
      offset += part.size();
    }
    EXPECT_EQ(offset, whole.size());
  }
}

TEST(PackedMatrix, PackingWritesEveryByte) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const MatrixSpec spec = {"w", info.format, 33, 256};
    const std::vector<std::byte> gguf = WildBlocks(info.format, 33 * 256, 4);
    std::vector<std::byte> zeros(PackedMatrix::BytesFor(spec).value()), ones(zeros.size(), std::byte{0xff});
    ASSERT_EQ(PackedMatrix::Pack(spec, gguf, absl::MakeSpan(zeros)), absl::OkStatus());
    ASSERT_EQ(PackedMatrix::Pack(spec, gguf, absl::MakeSpan(ones)), absl::OkStatus());
    EXPECT_EQ(zeros, ones) << info.name;
  }
}

TEST(PackedMatrix, SizesFollowTheLayout) {
  const auto bytes = [](BlockFormat format, int64_t out) { return PackedMatrix::BytesFor({"w", format, out, 256}).value(); };
  EXPECT_EQ(bytes(BlockFormat::kF32, 32), 32 * 256 * 4);
  EXPECT_EQ(bytes(BlockFormat::kF16, 32), 32 * 256 * 2);
  EXPECT_EQ(bytes(BlockFormat::kBF16, 32), 32 * 256 * 2);
  EXPECT_EQ(bytes(BlockFormat::kQ4_0, 32), 8 * 576);
  EXPECT_EQ(bytes(BlockFormat::kQ4_1, 32), 8 * 640);
  EXPECT_EQ(bytes(BlockFormat::kQ5_0, 32), 8 * 704);
  EXPECT_EQ(bytes(BlockFormat::kQ5_1, 32), 8 * 768);
  EXPECT_EQ(bytes(BlockFormat::kQ8_0, 32), 8 * 1088);
  EXPECT_EQ(bytes(BlockFormat::kQ2_K, 32), 2688);
  EXPECT_EQ(bytes(BlockFormat::kQ3_K, 32), 3648);
  EXPECT_EQ(bytes(BlockFormat::kQ4_K, 32), 4736);
  EXPECT_EQ(bytes(BlockFormat::kQ5_K, 32), 5760);
  EXPECT_EQ(bytes(BlockFormat::kQ6_K, 32), 6720);
  EXPECT_EQ(bytes(BlockFormat::kIQ4_NL, 32), 8 * 576);
  for (int format = static_cast<int>(BlockFormat::kIQ1_S); format <= static_cast<int>(BlockFormat::kIQ4_XS); ++format) {
    EXPECT_EQ(bytes(static_cast<BlockFormat>(format), 32), 4800) << InfoOf(static_cast<BlockFormat>(format)).name;
  }
  for (const BlockFormat format : {BlockFormat::kTQ1_0, BlockFormat::kTQ2_0}) EXPECT_EQ(bytes(format, 32), 2112);
  for (const BlockFormat format : {BlockFormat::kMXFP4, BlockFormat::kNVFP4}) EXPECT_EQ(bytes(format, 32), 8 * 640);
  for (const BlockFormat format : {BlockFormat::kQ1_0, BlockFormat::kQ2_0}) EXPECT_EQ(bytes(format, 32), 8 * 576);
  EXPECT_EQ(bytes(BlockFormat::kT2, 32), 8 * 320);  // 10 bytes for 32 weights, as in its blocks.
  EXPECT_EQ(bytes(BlockFormat::kT3, 32), 8 * 448);  // 14.
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    EXPECT_EQ(bytes(info.format, 1), bytes(info.format, 32)) << info.name;
    EXPECT_EQ(bytes(info.format, 33), 2 * bytes(info.format, 32)) << info.name;
    EXPECT_EQ(bytes(info.format, 32) % 64, 0) << info.name;
  }
}

TEST(PackedMatrix, RefusesShapesThatAreNone) {
  const auto error = [](BlockFormat format, int64_t out, int64_t in) {
    return PackedMatrix::BytesFor({"w", format, out, in}).status();
  };
  EXPECT_EQ(error(BlockFormat::kQ4_0, 0, 64),
            absl::InvalidArgumentError("w (Q4_0 0 x 64): out_features: found 0, expected >= 1"));
  EXPECT_EQ(error(BlockFormat::kF32, 3, -1), absl::InvalidArgumentError("w (F32 3 x -1): in_features: found -1, expected >= 1"));
  EXPECT_EQ(error(BlockFormat::kQ8_0, 3, 48),
            absl::InvalidArgumentError("w (Q8_0 3 x 48): in_features modulo 32: found 16, expected 0"));
  EXPECT_EQ(error(BlockFormat::kQ6_K, 3, 288),
            absl::InvalidArgumentError("w (Q6_K 3 x 288): in_features modulo 256: found 32, expected 0"));
}

// One row already takes a whole panel, so a size may overflow packed that does not in the file.
TEST(PackedMatrix, SizesNeverWrap) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  const auto code = [](BlockFormat format, int64_t out, int64_t in) {
    return PackedMatrix::BytesFor({"w", format, out, in}).status().code();
  };
  EXPECT_EQ(code(BlockFormat::kF32, 1, kLargest / 4), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code(BlockFormat::kF32, kLargest, 1), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(code(BlockFormat::kQ4_0, int64_t{1} << 40, int64_t{1} << 40), absl::StatusCode::kOutOfRange);
}

TEST(PackedMatrix, RefusesBytesOfAnotherSizeOrAddress) {
  const MatrixSpec spec = {"blk.1.attn_k.weight", BlockFormat::kQ4_1, 40, 64};
  const std::vector<std::byte> gguf = RandomBlocks(spec.format, 40 * 64, 5), shorter(gguf.begin(), gguf.end() - 1);
  AlignedBuffer buffer = AlignedBuffer::Allocate(2 * 2 * 640 + 64).value();
  const absl::Span<std::byte> packed = buffer.bytes().first(2 * 2 * 640);
  const std::string name = "blk.1.attn_k.weight (Q4_1 40 x 64): ";
  EXPECT_EQ(PackedMatrix::Pack(spec, shorter, packed),
            absl::InvalidArgumentError(name + "GGUF bytes: found 1599, expected 1600"));
  EXPECT_EQ(PackedMatrix::Pack(spec, gguf, packed.first(2496)),
            absl::InvalidArgumentError(name + "packed bytes: found 2496, expected 2560"));
  EXPECT_EQ(PackedMatrix::Open(spec, buffer.bytes()).status(),
            absl::InvalidArgumentError(name + "packed bytes: found 2624, expected 2560"));
  EXPECT_EQ(PackedMatrix::Open(spec, buffer.bytes().subspan(16, 2560)).status(),
            absl::InvalidArgumentError(name + "address modulo 64: found 16, expected 0"));
  EXPECT_EQ(PackedMatrix::Open(spec, packed).status(), absl::OkStatus());
}

}  // namespace
}  // namespace tessera
