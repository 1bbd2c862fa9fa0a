#include "tessera/quant/internal/panels/panel_format.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/random.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/tests/fakes/random_blocks.h"

namespace tessera {
namespace {

TEST(PanelFormat, HeaderExample) {
  const int64_t in_features = 64, row_bytes = BytesOfRows(BlockFormat::kQ4_0, 1, in_features).value();
  const int rows = 7, lane = 5;
  const std::vector<std::byte> gguf_rows = RandomBlocks(BlockFormat::kQ4_0, rows * in_features, 1);
  std::vector<std::byte> bytes(PanelBytes(BlockFormat::kQ4_0, in_features));
  std::vector<float> values(in_features), expected(in_features);
  std::byte* panel = bytes.data();
  float* out = values.data();
  const PanelFormat& format = PanelFormatOf(BlockFormat::kQ4_0);
  format.pack(gguf_rows.data(), row_bytes, rows, in_features, panel);
  format.read_row(panel, lane, in_features, out);
  InfoOf(BlockFormat::kQ4_0).dequantize(gguf_rows.data() + lane * row_bytes, in_features, expected.data());
  EXPECT_EQ(values, expected);
}

TEST(PanelFormat, PlainFloatsAloneAreUsedWithoutRounding) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    EXPECT_EQ(PanelFormatOf(info.format).float_activations, info.values_per_block == 1) << info.name;
    EXPECT_EQ(PanelFormatOf(info.format).inputs_per_block, info.values_per_block) << info.name;
    EXPECT_EQ(PanelBytes(info.format, 512), 512 / info.values_per_block * PanelFormatOf(info.format).bytes_per_block)
        << info.name;
  }
}

TEST(PanelFormat, OutputsWithoutARowAreZero) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const std::vector<std::byte> gguf = RandomBlocks(info.format, 3 * 256, 2);
    std::vector<std::byte> panel(PanelBytes(info.format, 256), std::byte{0xff});
    PanelFormatOf(info.format).pack(gguf.data(), static_cast<int64_t>(gguf.size()) / 3, 3, 256, panel.data());
    std::vector<float> row(256);
    for (int lane = 3; lane < 32; ++lane) {
      PanelFormatOf(info.format).read_row(panel.data(), lane, 256, row.data());
      for (float value : row) ASSERT_EQ(value, 0.0f) << info.name << " lane " << lane;
    }
  }
}

// The layout is a file format: a pack made elsewhere must mean the same. So no format's bytes may ever change: what is hashed (FNV-1a)
// are 70 rows of 512 random weights.
TEST(PanelFormat, BytesAreFixedForEver) {
  const std::map<std::string, uint64_t> hashes = {
      {"F32", 0x9973a9a754bb88aa},  {"F16", 0x81334af011a49be6},  {"BF16", 0x81334af011a49be6},  {"Q4_0", 0x1df9096f985a1c68},
      {"Q4_1", 0xbc99abef77a5333b}, {"Q5_0", 0xf09fa5fb7effd8c3}, {"Q5_1", 0x026adba89fc587d4},  {"Q8_0", 0xe95ab41a6bccfd16},
      {"Q2_K", 0x1cd40b5fa0492479}, {"Q3_K", 0x57888a547a6a50a1}, {"Q4_K", 0x206c90a90593e5ee},  {"Q5_K", 0x095da2c4edfa21ea},
      {"Q6_K", 0x80ff4e9b97e3c23b}, {"IQ4_NL", 0x1df9096f985a1c68},
      {"IQ1_S", 0x8623a3b975e840eb}, {"IQ1_M", 0xe51dbc25898f8607}, {"IQ2_XXS", 0x09e7df993dda25de},
      {"IQ2_XS", 0xfc09a833aaf857ab}, {"IQ2_S", 0x11ca32c28c65dd45}, {"IQ3_XXS", 0xb937b5f96725761a},
      {"IQ3_S", 0x1d8d57b3be83f92d}, {"IQ4_XS", 0xb94d4a2f003523a0}, {"TQ1_0", 0x652e54380f248f65},
      {"TQ2_0", 0xfb46c3469f131890}, {"MXFP4", 0xb21bb48c42e592c2}, {"NVFP4", 0xee42bdf56c664e8b},
      {"Q1_0", 0x908fa9fd6d4cca63}, {"Q2_0", 0x5bc6ecc64dfa7874},
      {"T2", 0x9b615acc53623ba1}, {"T3", 0xee73ef9595c84cb6}};
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    std::vector<std::byte> gguf(BytesOfRows(info.format, 70, 512).value()), packed(3 * PanelBytes(info.format, 512));
    SeededRandom random(7);
    for (std::byte& byte : gguf) byte = static_cast<std::byte>(random.Next());
    ASSERT_EQ(PackedMatrix::Pack({"w", info.format, 70, 512}, gguf, absl::MakeSpan(packed)), absl::OkStatus());
    uint64_t hash = 0xcbf29ce484222325;
    for (std::byte byte : packed) hash = (hash ^ std::to_integer<uint64_t>(byte)) * 0x100000001b3;
    EXPECT_EQ(hash, hashes.at(info.name)) << info.name;
  }
}

// One weight set in a panel lights exactly these bytes.
TEST(PanelFormat, QuadsLieWhereTheHeaderSays) {
  std::vector<std::byte> gguf(32 * 34);     // Q8_0: 32 rows of one block.
  constexpr int kOutput = 21, kInput = 14;  // Tile 1, lane 5; quad 3, element 2.
  gguf[kOutput * 34 + 2 + kInput] = std::byte{5};
  std::vector<std::byte> panel(1088);
  PanelFormatOf(BlockFormat::kQ8_0).pack(gguf.data(), 34, 32, 32, panel.data());
  for (int at = 0; at < 1024; ++at) {
    ASSERT_EQ(static_cast<int>(panel[at]), at == 1 * 512 + 64 * 3 + 4 * 5 + 2 ? 133 : 128) << "byte " << at;
  }
}

}  // namespace
}  // namespace tessera
