#include "tessera/quant/block_format.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/half.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

using Bytes = std::vector<std::byte>;

Bytes FromHex(const std::string& hex) {
  Bytes bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// A line of blocks.jsonl, of either direction.
struct GoldenBlock {
  const BlockFormatInfo* format;
  Bytes bytes;
  std::vector<float> values;
};

// The values of a line: as numbers, or as the bits of FP32 in hex.
std::vector<float> ValuesOf(const nlohmann::json& json) {
  if (json.contains("values")) return json["values"].get<std::vector<float>>();
  const Bytes bits = FromHex(json["bits"]);
  std::vector<float> values(bits.size() / sizeof(float));
  std::memcpy(values.data(), bits.data(), bits.size());
  return values;
}

// kind is "format" (bytes -> values) or "quantize" (values -> bytes).
std::vector<GoldenBlock> ReadGolden(const char* kind) {
  std::vector<GoldenBlock> blocks;
  for (const char* file : {"blocks.jsonl", "read_only_blocks.jsonl"}) {
    std::ifstream in(TESSERA_SOURCE_DIR "/tests/golden/" + std::string(file));
    for (std::string line; std::getline(in, line);) {
      const nlohmann::json json = nlohmann::json::parse(line);
      if (!json.contains(kind)) continue;
      const std::string name = json[kind];
      blocks.push_back({BlockFormatByName(name).value(), FromHex(json["bytes"]), ValuesOf(json)});
    }
  }
  return blocks;
}

absl::StatusOr<std::vector<float>> ReadBlock(const Bytes& block_bytes) {
  ASSIGN_OR_RETURN(const BlockFormatInfo* format, BlockFormatByName("Q4_1"));
  std::vector<float> values(format->values_per_block);
  format->dequantize(block_bytes.data(), format->values_per_block, values.data());
  return values;
}

TEST(BlockFormat, HeaderExample) {
  Bytes block(20);
  block[1] = std::byte{0x3c};  // d = 1
  block[3] = std::byte{0x40};  // m = 2
  block[4] = std::byte{0x53};  // value 0 has code 3, value 16 code 5
  absl::StatusOr<std::vector<float>> values = ReadBlock(block);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[0], 5);
  EXPECT_EQ((*values)[16], 7);
  EXPECT_EQ((*values)[31], 2);
}

TEST(BlockFormat, DequantizesGoldenBlocksToTheLastBit) {
  std::map<std::string, int> seen;
  for (const GoldenBlock& golden : ReadGolden("format")) {
    SCOPED_TRACE(golden.format->name);
    ++seen[golden.format->name];
    ASSERT_EQ(golden.values.size(), static_cast<size_t>(golden.format->values_per_block));
    ASSERT_EQ(golden.bytes.size(), static_cast<size_t>(golden.format->bytes_per_block));
    std::vector<float> values(golden.values.size());
    golden.format->dequantize(golden.bytes.data(), golden.format->values_per_block, values.data());
    for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(BitsOf(values[i]), BitsOf(golden.values[i])) << "value " << i;
  }
  const std::map<std::string, int> all = {{"Q4_0", 6}, {"Q4_1", 6}, {"Q5_0", 6}, {"Q5_1", 6}, {"Q8_0", 6}, {"Q2_K", 6},
                                          {"Q3_K", 6}, {"Q4_K", 6}, {"Q5_K", 6}, {"Q6_K", 6}, {"IQ4_NL", 6},
                                          {"IQ1_S", 2}, {"IQ1_M", 2}, {"IQ2_XXS", 2}, {"IQ2_XS", 2}, {"IQ2_S", 2}, {"IQ3_XXS", 2},
                                          {"IQ3_S", 2}, {"IQ4_XS", 2}, {"TQ1_0", 2}, {"TQ2_0", 2}, {"MXFP4", 2}, {"NVFP4", 2}};
  EXPECT_EQ(seen, all);
}

TEST(BlockFormat, QuantizesGoldenValuesToTheSameBytes) {
  std::map<std::string, int> seen;
  for (const GoldenBlock& golden : ReadGolden("quantize")) {
    SCOPED_TRACE(golden.format->name);
    ++seen[golden.format->name];
    Bytes bytes(golden.bytes.size());
    golden.format->quantize(golden.values.data(), static_cast<int64_t>(golden.values.size()), bytes.data());
    EXPECT_EQ(bytes, golden.bytes);
  }
  const std::map<std::string, int> all = {{"Q4_0", 4}, {"Q4_1", 4}, {"Q5_0", 4}, {"Q5_1", 4}, {"Q8_0", 4}};
  EXPECT_EQ(seen, all);
}

TEST(BlockFormat, ManyBlocksAreReadOneAfterTheOther) {
  std::map<const BlockFormatInfo*, std::pair<Bytes, std::vector<float>>> joined;
  for (const GoldenBlock& golden : ReadGolden("format")) {
    auto& [bytes, values] = joined[golden.format];
    bytes.insert(bytes.end(), golden.bytes.begin(), golden.bytes.end());
    values.insert(values.end(), golden.values.begin(), golden.values.end());
  }
  for (const auto& [format, golden] : joined) {
    std::vector<float> values(golden.second.size() + 1, 77.f);
    format->dequantize(golden.first.data(), static_cast<int64_t>(golden.second.size()), values.data());
    EXPECT_EQ(values.back(), 77.f) << format->name << " wrote past its values";
    values.pop_back();
    EXPECT_EQ(values, golden.second) << format->name;
  }
}

TEST(BlockFormat, PlainFloatsKeepEveryRepresentableValue) {
  const std::vector<float> exact = {0.f, -0.f, 1.f, -2.5f, 65280.f, 0.00390625f, INFINITY, -INFINITY};  // fit in all three
  for (BlockFormat format : {BlockFormat::kF32, BlockFormat::kF16, BlockFormat::kBF16}) {
    const BlockFormatInfo& info = InfoOf(format);
    Bytes bytes(1 + exact.size() * info.bytes_per_block);  // Read and written at an odd address.
    std::vector<float> values(exact.size());
    info.quantize(exact.data(), static_cast<int64_t>(exact.size()), bytes.data() + 1);
    info.dequantize(bytes.data() + 1, static_cast<int64_t>(exact.size()), values.data());
    for (size_t i = 0; i < exact.size(); ++i) EXPECT_EQ(BitsOf(values[i]), BitsOf(exact[i])) << info.name << " value " << i;
  }
}

TEST(BlockFormat, PlainFloatsAreLittleEndian) {
  const float value = 1.00390625f;  // F32 3f808000, F16 3c04, BF16 3f80 (a tie, rounded to even)
  Bytes bytes(4);
  InfoOf(BlockFormat::kF32).quantize(&value, 1, bytes.data());
  EXPECT_EQ(bytes, FromHex("0080803f"));
  InfoOf(BlockFormat::kF16).quantize(&value, 1, bytes.data());
  EXPECT_EQ(bytes, FromHex("043c803f"));
  InfoOf(BlockFormat::kBF16).quantize(&value, 1, bytes.data());
  EXPECT_EQ(bytes, FromHex("803f803f"));
}

TEST(BlockFormat, QuantizingABlockOfZerosGivesZeros) {
  const std::vector<float> zeros(256, 0.f);
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (info.quantize == nullptr) continue;
    Bytes bytes(info.bytes_per_block);
    std::vector<float> values(info.values_per_block, 1.f);
    info.quantize(zeros.data(), info.values_per_block, bytes.data());
    info.dequantize(bytes.data(), info.values_per_block, values.data());
    for (float value : values) EXPECT_EQ(value, 0.f) << info.name;
  }
}

// Numbers whose scale, or the scale's inverse, is no number: the bytes say little, but nothing undefined may happen
// (the sanitizers watch) and the neighbours of the block stay as they were.
TEST(BlockFormat, QuantizingNumbersWithoutAScaleIsDefined) {
  const float kLargest = std::numeric_limits<float>::max(), kSmallest = std::numeric_limits<float>::denorm_min();
  for (float odd : {NAN, INFINITY, -INFINITY, kLargest, -kLargest, kSmallest, -kSmallest}) {
    std::vector<float> in(256, 0.5f);
    in[3] = odd;
    for (const BlockFormatInfo& info : AllBlockFormats()) {
      if (info.quantize == nullptr) continue;
      for (const std::vector<float>& values : {in, std::vector<float>(256, odd)}) {
        Bytes bytes(info.bytes_per_block + 1, std::byte{0x5a});
        info.quantize(values.data(), info.values_per_block, bytes.data());
        EXPECT_EQ(bytes.back(), std::byte{0x5a}) << info.name << " of " << odd;
      }
    }
  }
}

TEST(BlockFormat, QuantizingErrsByNoMoreThanItsStep) {
  std::vector<float> in(32);
  for (int i = 0; i < 32; ++i) in[i] = static_cast<float>(i * 37 % 32 - 11) / 8;  // -11/8 .. 20/8
  // A step is the range over the codes; rounding errs by half of one. Q4_0 and Q5_0 may err by a whole one at the end opposite to
  // the largest value, where a code is missing. The scale's rounding to FP16 adds 2^-11 of the value.
  const std::map<BlockFormat, float> worst = {{BlockFormat::kQ4_0, 2.5f / 8},
                                              {BlockFormat::kQ4_1, 31.f / 8 / 15 / 2},
                                              {BlockFormat::kQ5_0, 2.5f / 16},
                                              {BlockFormat::kQ5_1, 31.f / 8 / 31 / 2},
                                              {BlockFormat::kQ8_0, 2.5f / 127 / 2}};
  for (const auto& [format, bound] : worst) {
    const BlockFormatInfo& info = InfoOf(format);
    Bytes bytes(info.bytes_per_block);
    std::vector<float> out(32);
    info.quantize(in.data(), 32, bytes.data());
    info.dequantize(bytes.data(), 32, out.data());
    for (int i = 0; i < 32; ++i) EXPECT_NEAR(out[i], in[i], bound + 2.5f / 1024) << info.name << " value " << i;
  }
}

TEST(BlockFormat, TheTableIsInTheOrderOfTheEnum) {
  int index = 0;
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    EXPECT_EQ(static_cast<int>(info.format), index++);
    EXPECT_EQ(&InfoOf(info.format), &info);
    EXPECT_EQ(BlockFormatByName(info.name).value(), &info);
    if (!info.in_gguf()) continue;
    EXPECT_EQ(BlockFormatByGgufType(info.gguf_type).value(), &info);
  }
  EXPECT_EQ(index, kBlockFormats);
}

TEST(BlockFormat, UnknownNameListsTheKnownOnes) {
  EXPECT_EQ(BlockFormatByName("q4_0").status(),
            absl::NotFoundError("block format \"q4_0\" is not supported; "
                                "supported: F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ1_S, "
                                "IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ4_XS, TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0, Q2_0, "
                                "T2, T3"));
}

TEST(BlockFormat, ReadOnlyFormatsNameTheWrittenFormats) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    EXPECT_EQ(CheckWritten(info.format).ok(), info.quantize != nullptr) << info.name;
    EXPECT_EQ(info.quantize != nullptr, info.format <= BlockFormat::kIQ4_NL || info.format >= BlockFormat::kT2) << info.name;
  }
  EXPECT_EQ(CheckWritten(BlockFormat::kTQ1_0),
            absl::InvalidArgumentError("found TQ1_0, which is only read; expected one of F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, "
                                       "Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, T2, T3"));
}

TEST(BlockFormat, AFormatOutsideGgufIsFoundOnlyByNameAndRefusedForGguf) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    EXPECT_EQ(info.in_gguf(), info.format < BlockFormat::kT2) << info.name;
    EXPECT_EQ(CheckInGguf(info.format).ok(), info.in_gguf()) << info.name;
  }
  EXPECT_EQ(CheckInGguf(BlockFormat::kT2), absl::InvalidArgumentError("T2: GGUF has no such type; expected a .tsr output"));
  EXPECT_EQ(BlockFormatByName("T3").value(), &InfoOf(BlockFormat::kT3));
  EXPECT_EQ(BlockFormatByGgufType(kNoGgufType).status().code(), absl::StatusCode::kNotFound);
}

// A scale of 1; all codes 0 but one.
TEST(BlockFormat, BitsOfT2AndT3LieWhereTheirFileSays) {
  Bytes two(10), three(14);
  two[1] = three[1] = std::byte{0x3c};
  two[2 + 2] = std::byte{3 << 6};           // Value 26 is the last of byte 2: 91.
  three[2 + 1] = std::byte{2 << 2};         // Value 9 is the second of byte 1: code 2 ...
  three[2 + 8 + 1] = std::byte{1 << 1};     // ... and with its third bit 6: 65.
  std::vector<float> twos(32), threes(32);
  InfoOf(BlockFormat::kT2).dequantize(two.data(), 32, twos.data());
  InfoOf(BlockFormat::kT3).dequantize(three.data(), 32, threes.data());
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(twos[i], i == 26 ? 91 : -128) << i;
    EXPECT_EQ(threes[i], i == 9 ? 65 : -128) << i;
  }
}

TEST(BlockFormat, UnsupportedGgufTypesAreNamedWithTheWayOut) {
  const std::string supported =
      " is not supported; supported: F32 (0), F16 (1), BF16 (30), Q4_0 (2), Q4_1 (3), Q5_0 (6), Q5_1 (7), Q8_0 (8), Q2_K (10), Q3_K (11), "
      "Q4_K (12), Q5_K (13), Q6_K (14), IQ4_NL (20), IQ1_S (19), IQ1_M (29), IQ2_XXS (16), IQ2_XS (17), IQ2_S (22), IQ3_XXS (18), "
      "IQ3_S (21), IQ4_XS (23), TQ1_0 (34), TQ2_0 (35), MXFP4 (39), NVFP4 (40), Q1_0 (41), Q2_0 (42)";
  const auto repacked = [](const std::string& name, const std::string& plain) {
    return name + ", repacked for one kind of processor and withdrawn: take the model in " + plain + ", which has the same weights";
  };
  const std::string again = ", withdrawn: take the model in another format, or convert it again";
  const std::string intermediate = ", a format of intermediate results: convert the model again, for example to Q8_0";
  const std::map<uint32_t, std::string> names = {
      {4, "Q4_2" + again}, {5, "Q4_3" + again}, {9, "Q8_1" + intermediate}, {15, "Q8_K" + intermediate},
      {24, "I8: integers, no weights"}, {25, "I16: integers, no weights"}, {26, "I32: integers, no weights"},
      {27, "I64: integers, no weights"}, {28, "F64: convert the model again, for example to F32"},
      {31, repacked("Q4_0_4_4", "Q4_0")}, {32, repacked("Q4_0_4_8", "Q4_0")}, {33, repacked("Q4_0_8_8", "Q4_0")},
      {36, repacked("IQ4_NL_4_4", "IQ4_NL")}, {37, repacked("IQ4_NL_4_8", "IQ4_NL")}, {38, repacked("IQ4_NL_8_8", "IQ4_NL")},
      {43, "unknown"}, {1000, "unknown"}, {UINT32_MAX, "unknown"}};
  int refused = 0;
  for (uint32_t type = 0; type <= 43; ++type) refused += BlockFormatByGgufType(type).ok() ? 0 : 1;
  EXPECT_EQ(refused, 16) << "each of them is named here";
  for (const auto& [type, name] : names) {
    EXPECT_EQ(BlockFormatByGgufType(type).status(),
              absl::NotFoundError("GGUF type " + std::to_string(type) + " (" + name + ")" + supported));
  }
}

TEST(BlockFormat, BytesOfRowsCountsWholeBlocks) {
  EXPECT_EQ(BytesOfRows(BlockFormat::kQ4_K, 3, 512).value(), 3 * 2 * 144);
  EXPECT_EQ(BytesOfRows(BlockFormat::kBF16, 3, 5).value(), 30);
  EXPECT_EQ(BytesOfRows(BlockFormat::kQ8_0, 0, 32).value(), 0);
  EXPECT_EQ(BytesOfRows(BlockFormat::kQ8_0, 2, 48).status(),
            absl::InvalidArgumentError("2 rows of 48 values in Q8_0: expected rows of whole blocks of 32"));
  EXPECT_EQ(BytesOfRows(BlockFormat::kF32, -1, 32).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(BytesOfRows(BlockFormat::kF32, 1, -32).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(BlockFormat, BytesOfRowsNeverWraps) {
  const int64_t kLargest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(BytesOfRows(BlockFormat::kF32, 1, kLargest / 4 + 1).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(BytesOfRows(BlockFormat::kF32, int64_t{1} << 32, int64_t{1} << 32).status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(BytesOfRows(BlockFormat::kQ4_0, 1, int64_t{1} << 62).value(), (int64_t{1} << 57) * 18);  // More values than bytes.
  EXPECT_EQ(BytesOfRows(BlockFormat::kF16, 1, kLargest / 2).value(), kLargest - 1);
}

}  // namespace
}  // namespace tessera
