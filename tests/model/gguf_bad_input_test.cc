// What happens to files that are not what they say: each is refused, with words that say where and why, and nothing is read
// outside them. Run under the address and undefined-behaviour sanitizers for the second half of that promise.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/model/gguf.h"
#include "tessera/tests/fakes/gguf_builder.h"

namespace tessera {
namespace {

constexpr uint64_t kLargest = ~uint64_t{0};
constexpr char kSupported[] =
    " is not supported; supported: F32 (0), F16 (1), BF16 (30), Q4_0 (2), Q4_1 (3), Q5_0 (6), Q5_1 (7), Q8_0 (8), Q2_K (10), Q3_K (11), "
    "Q4_K (12), Q5_K (13), Q6_K (14), IQ4_NL (20)";

GgufBuilder Small() {
  GgufBuilder builder;
  builder.String("name", "abc").Alignment(32).Numbers<bool>("flags", {true, false, true}).Strings("words", {"x", "", "yz"});
  builder.Numbers<float>("floats", {1, 2});
  builder.Tensor("a", {32, 2}, 0, std::string(256, 'a')).Tensor("b", {64}, 8, std::string(68, 'b'));
  return builder;
}

// The status of a file in memory that ends where `bytes` end: the sanitizers see a read past it.
absl::Status StatusOf(const std::string& bytes) {
  const auto exact = std::make_unique<std::byte[]>(bytes.size());
  std::memcpy(exact.get(), bytes.data(), bytes.size());
  return GgufFile::Parse({exact.get(), bytes.size()}, "m.gguf").status();
}

struct BadFile {
  std::function<void(GgufBuilder&)> spoil;
  std::string message;  // After "m.gguf: ".
};

void ExpectRefused(const std::vector<BadFile>& cases) {
  for (const BadFile& bad : cases) {
    GgufBuilder builder = Small();
    bad.spoil(builder);
    EXPECT_EQ(StatusOf(builder.Build()), absl::InvalidArgumentError("m.gguf: " + bad.message));
  }
}

TEST(GgufBadInput, TheSmallFileIsRightBeforeItIsSpoiled) {
  EXPECT_EQ(StatusOf(Small().Build()), absl::OkStatus());
}

TEST(GgufBadInput, HeaderSaysWhatItIs) {
  ExpectRefused({
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("magic", 0x46474D4C); },
       "magic at byte 0: found \"LMGF\", expected \"GGUF\""},
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("magic", 0x47475546); },
       "magic at byte 0: found \"FUGG\", a big-endian file, expected \"GGUF\" (little-endian)"},
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("magic", 0); },
       "magic at byte 0: found \"\\x00\\x00\\x00\\x00\", expected \"GGUF\""},
      {[](GgufBuilder& b) { b.Version(0); }, "version at byte 4: found 0, expected 2 or 3"},
      {[](GgufBuilder& b) { b.Version(1); },
       "version at byte 4: found 1, an early form with 32-bit lengths, expected 2 or 3; convert the model again"},
      {[](GgufBuilder& b) { b.Version(4); }, "version at byte 4: found 4, expected 2 or 3"},
      {[](GgufBuilder& b) { b.Version(0xffffffff); }, "version at byte 4: found 4294967295, expected 2 or 3"},
      {[](GgufBuilder& b) { b.Version(0x03000000); },
       "version at byte 4: found 50331648, a big-endian file of version 3, expected a little-endian file"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor_count", kLargest); },
       "tensor_count at byte 8: found 18446744073709551615, expected at most 18"
       " (596 bytes left, a tensor takes 33 or more)"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor_count", uint64_t{1} << 63); },
       "tensor_count at byte 8: found 9223372036854775808, expected at most 18 (596 bytes left, a tensor takes 33 or more)"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor_count", 3); },
       "tensor[2] name at byte 284: found a length of 7016996763659665408, expected 1 to 63"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata_count", kLargest); },
       "metadata_count at byte 16: found 18446744073709551615, expected at most 42"
       " (588 bytes left, an entry takes 14 or more)"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata_count", 100'000'000); },
       "metadata_count at byte 16: found 100000000, expected at most 42 (588 bytes left, an entry takes 14 or more)"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata_count", 6); },
       "tensor[0] name at byte 225: found a length of 562949953421312, expected 1 to 63"},
  });
}

TEST(GgufBadInput, KeysAreShortPrintableAndUnique) {
  ExpectRefused({
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata name key_length", 0); },
       "metadata[0] key at byte 24: found a length of 0, expected 1 to 65535"},
      {[](GgufBuilder& b) { b.Number<uint8_t>(std::string(65536, 'k'), 1); },
       "metadata[5] key at byte 210: found a length of 65536, expected 1 to 65535"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata name key_length", kLargest); },
       "metadata[0] key at byte 24: found a length of 18446744073709551615, expected 1 to 65535"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata name key_length", 60000); },
       "metadata[0] key at byte 32: the file is truncated: needs 60000 bytes, 580 left"},
      {[](GgufBuilder& b) { b.Number<uint8_t>("k\xff", 1); },
       "metadata[5] key at byte 218: found \"k\\xff\", expected printable UTF-8"},
      {[](GgufBuilder& b) { b.Number<uint8_t>("\xed\xa0\x80", 1); },
       "metadata[5] key at byte 218: found \"\\xed\\xa0\\x80\", expected printable UTF-8"},
      {[](GgufBuilder& b) { b.Number<uint8_t>(std::string("k\0k", 3), 1); },
       "metadata[5] key at byte 218: found \"k\\x00k\", expected printable UTF-8"},
      {[](GgufBuilder& b) { b.Number<uint8_t>("k\x1b[2J", 1); },
       "metadata[5] key at byte 218: found \"k\\x1b[2J\", expected printable UTF-8"},
      {[](GgufBuilder& b) { b.Number<uint8_t>("\xc2\x9b", 1); },
       "metadata[5] key at byte 218: found \"\\xc2\\x9b\", expected printable UTF-8"},
      {[](GgufBuilder& b) { b.String("name", "again"); },
       "metadata[5] key at byte 218: found \"name\" a second time, expected each key once"},
      {[](GgufBuilder& b) { b.Alignment(32); },
       "metadata[5] key at byte 218: found \"general.alignment\" a second time, expected each key once"},
  });
}

TEST(GgufBadInput, TypesAndCountsFitTheFile) {
  ExpectRefused({
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("metadata name type", 13); },
       "metadata \"name\" type at byte 36: found 13, expected 0 (UINT8) to 12 (FLOAT64)"},
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("metadata name type", 0xffffffff); },
       "metadata \"name\" type at byte 36: found 4294967295, expected 0 (UINT8) to 12 (FLOAT64)"},
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("metadata flags element_type", 13); },
       "metadata \"flags\" element_type at byte 101: found 13, expected 0 (UINT8) to 12 (FLOAT64)"},
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("metadata flags element_type", 9); },
       "metadata \"flags\" element_type at byte 101: found 9"
       " (ARRAY), expected any other type: nested arrays are not supported"},
      {[](GgufBuilder& b) { b.Array("array", GgufType::kArray, 1000000, std::string(64, '\0')); },
       "metadata \"array\" element_type at byte 227: found 9"
       " (ARRAY), expected any other type: nested arrays are not supported"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata floats count", kLargest); },
       "metadata \"floats\" count at byte 194: found 18446744073709551615, expected at most 102"
       " (410 bytes left, FLOAT32 takes 4)"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata floats count", uint64_t{1} << 62); },
       "metadata \"floats\" count at byte 194: found 4611686018427387904, expected at most 102"
       " (410 bytes left, FLOAT32 takes 4)"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata words count", uint64_t{1} << 61); },
       "metadata \"words\" count at byte 137: found 2305843009213693952, expected at most 58"
       " (467 bytes left, STRING takes 8 or more)"},
      {[](GgufBuilder& b) { b.Array("array", GgufType::kUint8, 1'000'000'000, ""); },
       "metadata \"array\" count at byte 231: found 1000000000, expected at most 405 (405 bytes left, UINT8 takes 1)"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata name value", uint64_t{1} << 63); },
       "metadata \"name\" value at byte 48: the file is truncated: needs 9223372036854775808 bytes, 564 left"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("metadata words value", kLargest); },
       "metadata \"words\" value[0] at byte 153: the file is truncated: needs 18446744073709551615 bytes, 459 left"},
      {[](GgufBuilder& b) { b.Array("array", GgufType::kString, 2, std::string(8, '\0') + std::string(8, '\x7f')); },
       "metadata \"array\" value[1] at byte 255: the file is truncated: needs 9187201950435737471 bytes, 421 left"},
      {[](GgufBuilder& b) { b.Corrupt<uint8_t>("metadata flags value", 2); },
       "metadata \"flags\" value[0] at byte 113: found 2, expected 0 or 1 for a BOOL"},
      {[](GgufBuilder& b) { b.Number<bool>("flag", true).Corrupt<uint8_t>("metadata flag value", 255); },
       "metadata \"flag\" value at byte 226: found 255, expected 0 or 1 for a BOOL"},
      {[](GgufBuilder& b) { b.Array("array", GgufType::kString, (1 << 23) - 2, std::string(size_t{8} << 23, '\0')); },
       "metadata \"array\" count at byte 231: found 8388606, expected at most 8388605"
       " (all arrays together may hold 8388608 strings)"},
  });
}

TEST(GgufBadInput, AlignmentIsAPowerOfTwoAsUint32) {
  const auto with = [](auto add) {
    return [add](GgufBuilder& b) {
      b = GgufBuilder();
      add(b);
      b.Tensor("a", {1}, 0, "1234");
    };
  };
  const std::string key = "general.alignment";
  ExpectRefused({
      {with([&](GgufBuilder& b) { b.Number<uint32_t>(key, 0); }),
       "metadata \"general.alignment\" value at byte 53: found 0, expected a power of two from 8 to 65536"},
      {with([&](GgufBuilder& b) { b.Number<uint32_t>(key, 3); }),
       "metadata \"general.alignment\" value at byte 53: found 3, expected a power of two from 8 to 65536"},
      {with([&](GgufBuilder& b) { b.Number<uint32_t>(key, 4); }),
       "metadata \"general.alignment\" value at byte 53: found 4, expected a power of two from 8 to 65536"},
      {with([&](GgufBuilder& b) { b.Number<uint32_t>(key, 131072); }),
       "metadata \"general.alignment\" value at byte 53: found 131072, expected a power of two from 8 to 65536"},
      {with([&](GgufBuilder& b) { b.Number<uint32_t>(key, 1u << 31); }),
       "metadata \"general.alignment\" value at byte 53: found 2147483648, expected a power of two from 8 to 65536"},
      {with([&](GgufBuilder& b) { b.Number<int32_t>(key, 32); }),
       "metadata \"general.alignment\" value at byte 53: found type INT32, expected UINT32"},
      {with([&](GgufBuilder& b) { b.Number<uint64_t>(key, 32); }),
       "metadata \"general.alignment\" value at byte 53: found type UINT64, expected UINT32"},
      {with([&](GgufBuilder& b) { b.String(key, "32"); }),
       "metadata \"general.alignment\" value at byte 53: found type STRING, expected UINT32"},
      {with([&](GgufBuilder& b) { b.Numbers<uint32_t>(key, {}); }),
       "metadata \"general.alignment\" value at byte 65: found type ARRAY, expected UINT32"},
  });
}

TEST(GgufBadInput, TensorNamesAreWithinBounds) {
  ExpectRefused({
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a name_length", 0); },
       "tensor[0] name at byte 210: found a length of 0, expected 1 to 63"},
      {[](GgufBuilder& b) { b.Tensor(std::string(64, 'n'), {1}, 0, "1234"); },
       "tensor[2] name at byte 284: found a length of 64, expected 1 to 63"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a name_length", kLargest); },
       "tensor[0] name at byte 210: found a length of 18446744073709551615, expected 1 to 63"},
      {[](GgufBuilder& b) { b.Tensor(std::string("n\0l", 3), {1}, 0, "1234"); },
       "tensor[2] name at byte 292: found \"n\\x00l\", expected printable UTF-8"},
      {[](GgufBuilder& b) { b.Tensor("a", {1}, 0, "1234"); },
       "tensor[2] name at byte 292: found \"a\" a second time, expected each name once"},
  });
}

TEST(GgufBadInput, DimensionsAreWithinBounds) {
  ExpectRefused({
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a n_dims", 0); },
       "tensor \"a\" n_dims at byte 219: found 0, expected 1 to 4"},
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a n_dims", 5); },
       "tensor \"a\" n_dims at byte 219: found 5, expected 1 to 4"},
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a n_dims", 0xffffffff); },
       "tensor \"a\" n_dims at byte 219: found 4294967295, expected 1 to 4"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a ne0", 0); },
       "tensor \"a\" ne[0] at byte 223: found 0, expected 1 to 9223372036854775807"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a ne1", 0); },
       "tensor \"a\" ne[1] at byte 231: found 0, expected 1 to 9223372036854775807"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a ne1", kLargest); },
       "tensor \"a\" ne[1] at byte 231: found 18446744073709551615, expected 1 to 9223372036854775807"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a ne0", uint64_t{1} << 63); },
       "tensor \"a\" ne[0] at byte 223: found 9223372036854775808, expected 1 to 9223372036854775807"},
  });
}

TEST(GgufBadInput, SizesThatOverflowAreRefused) {
  ExpectRefused({
      {[](GgufBuilder& b) { b.Tensor("c", {uint64_t{1} << 32, uint64_t{1} << 32}, 0, ""); },
       "tensor \"c\" shape at byte 293: size 4294967296 x 4294967296 does not fit in 63 bits"},
      {[](GgufBuilder& b) { b.Tensor("c", {kLargest >> 1, 2}, 24, ""); },
       std::string("tensor \"c\" type at byte 313: GGUF type 24 (I8)") + kSupported},
      {[](GgufBuilder& b) { b.Tensor("c", {kLargest >> 1, 2}, 30, ""); },
       "tensor \"c\" shape at byte 293: size 2 x 9223372036854775807 does not fit in 63 bits"},
      {[](GgufBuilder& b) { b.Tensor("c", {uint64_t{1} << 61}, 0, ""); },
       "tensor \"c\" shape at byte 293: size 2305843009213693952 x 4 does not fit in 63 bits"},
      {[](GgufBuilder& b) { b.Tensor("c", {kLargest / 4}, 0, ""); },
       "tensor \"c\" shape at byte 293: size 4611686018427387903 x 4 does not fit in 63 bits"},
      {[](GgufBuilder& b) { b.Tensor("c", {uint64_t{1} << 62, 2}, 2, ""); },
       "tensor \"c\" shape at byte 293: size 2 x 4611686018427387904 does not fit in 63 bits"},
      {[](GgufBuilder& b) { b.Tensor("c", {2, uint64_t{1} << 32, uint64_t{1} << 31, 1}, 0, ""); },
       "tensor \"c\" shape at byte 293: size 4294967296 x 2147483648 does not fit in 63 bits"},
      {[](GgufBuilder& b) { b.Tensor("c", {48}, 8, std::string(68, 'c')); },
       "tensor \"c\" shape at byte 293: 1 rows of 48 values in Q8_0: expected rows of whole blocks of 32"},
      {[](GgufBuilder& b) { b.Tensor("c", {32, 8}, 14, std::string(210, 'c')); },
       "tensor \"c\" shape at byte 293: 8 rows of 32 values in Q6_K: expected rows of whole blocks of 256"},
  });
}

TEST(GgufBadInput, UnsupportedTensorTypesAreNamed) {
  ExpectRefused({
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a type", 4); },
       std::string("tensor \"a\" type at byte 239: GGUF type 4 (unknown)") + kSupported},
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a type", 10); },
       std::string("tensor \"a\" type at byte 239: GGUF type 10 (Q2_K)") + kSupported},
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a type", 31); },
       std::string("tensor \"a\" type at byte 239: GGUF type 31 (unknown)") + kSupported},
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor a type", 0xffffffff); },
       std::string("tensor \"a\" type at byte 239: GGUF type 4294967295 (unknown)") + kSupported},
  });
}

TEST(GgufBadInput, TensorDataLiesApartInsideTheFile) {
  ExpectRefused({
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 257); },
       "tensor \"b\" offset at byte 276: found 257, expected a multiple of 32 within the file"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 264); },
       "tensor \"b\" offset at byte 276: found 264, expected a multiple of 32 within the file"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 0); },
       "tensor \"b\" data at byte 288: overlaps tensor \"a\", expected byte 544 or later"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 224); },
       "tensor \"b\" data at byte 512: overlaps tensor \"a\", expected byte 544 or later"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a offset", 256); },
       "tensor \"a\" data at byte 544: the file is truncated: needs 256 bytes, 68 left"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 288); },
       "tensor \"b\" data at byte 576: the file is truncated: needs 68 bytes, 36 left"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", 1 << 20); },
       "tensor \"b\" data at byte 1048864: the file is truncated: needs 68 bytes, 0 left"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", kLargest - 31); },
       "tensor \"b\" offset at byte 276: found 18446744073709551584, expected a multiple of 32 within the file"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor b offset", (uint64_t{1} << 63) - 32); },
       "tensor \"b\" data at byte 288: size 288 + 9223372036854775776 does not fit in 63 bits"},
      {[](GgufBuilder& b) { b.Corrupt<uint64_t>("tensor a ne1", 3); },
       "tensor \"a\" data at byte 288: the file is truncated: needs 384 bytes, 324 left"},
      {[](GgufBuilder& b) { b.Tensor("c", {1024}, 0, "too few"); },
       "tensor \"c\" data at byte 672: the file is truncated: needs 4096 bytes, 7 left"},
      {[](GgufBuilder& b) { b.Corrupt<uint32_t>("tensor b type", 0); },
       "tensor \"b\" data at byte 544: the file is truncated: needs 256 bytes, 68 left"},
  });
}

TEST(GgufBadInput, OnePartOfASplitModelIsNoModel) {
  ExpectRefused({
      {[](GgufBuilder& b) { b.Number<uint16_t>("split.no", 1).Number<uint16_t>("split.count", 3); },
       "metadata \"split.count\" value at byte 255: found 3, expected 1"
       ": this is one part of a split model, join the parts first"},
      {[](GgufBuilder& b) { b.String("split.count", "3"); },
       "metadata \"split.count\" value at byte 233: found STRING \"3\", expected an integer of 0 or more"},
  });
  GgufBuilder whole = Small();
  EXPECT_EQ(StatusOf(whole.Number<uint16_t>("split.count", 1).Build()), absl::OkStatus());
}

// Wherever the file ends, the message says what was being read, how much of it was needed and how much was there.
TEST(GgufBadInput, EveryTruncationSaysWhatIsMissing) {
  const std::string whole = Small().Build();
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::Status status = StatusOf(whole.substr(0, size));
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size << " bytes: " << status;
    const std::string message(status.message());
    const auto says = [&message](const char* words) { return message.find(words) != std::string::npos; };
    const bool truncated = says("the file is truncated: needs ") && says(" left");
    const bool counted = says(", expected at most ") && says(" bytes left, ");
    ASSERT_TRUE(truncated || counted) << size << " bytes: " << status;
    ASSERT_EQ(message.find("m.gguf: "), 0u);
    ASSERT_TRUE(says(" at byte "));
  }
}

TEST(GgufBadInput, TruncationNamesFieldOffsetNeededAndLeft) {
  GgufBuilder builder = Small();
  const std::string whole = builder.Build();
  const auto cut = [&](size_t size) { return std::string(StatusOf(whole.substr(0, size)).message()); };
  EXPECT_EQ(cut(0), "m.gguf: magic at byte 0: the file is truncated: needs 4 bytes, 0 left");
  EXPECT_EQ(cut(3), "m.gguf: magic at byte 0: the file is truncated: needs 4 bytes, 3 left");
  EXPECT_EQ(cut(7), "m.gguf: version at byte 4: the file is truncated: needs 4 bytes, 3 left");
  EXPECT_EQ(cut(15), "m.gguf: tensor_count at byte 8: the file is truncated: needs 8 bytes, 7 left");
  const size_t data = builder.OffsetOf("data");
  EXPECT_EQ(cut(whole.size() - 1), "m.gguf: tensor \"b\" data at byte " + std::to_string(data + 256) +
                                       ": the file is truncated: needs 68 bytes, 67 left");
  EXPECT_EQ(cut(data), "m.gguf: tensor \"a\" data at byte " + std::to_string(data) +
                           ": the file is truncated: needs 256 bytes, 0 left");
}

// What a reader may not survive is rarely what a person thinks of: 20,000 seeded spoilings of one to three bits or bytes, and
// everything that a file that still opens offers is read.
TEST(GgufBadInput, SpoiledBitsNeverCrash) {
  const std::string whole = Small().Build();
  std::mt19937 random(20240817);
  int refused = 0, opened = 0;
  uint64_t read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    for (uint32_t i = random() % 3 + 1; i > 0; --i) {
      char& byte = bytes[random() % bytes.size()];
      byte = static_cast<char>(random() % 2 == 0 ? byte ^ (1 << random() % 8) : random());
    }
    const auto file = GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "m.gguf");
    ++(file.ok() ? opened : refused);
    if (!file.ok()) continue;
    for (const auto& [key, value] : (*file)->metadata()) {
      for (std::byte byte : value.bytes) read += std::to_integer<uint64_t>(byte);
      for (absl::string_view text : value.strings) read += std::hash<std::string>()(std::string(text)) & 1;
      read += (*file)->Uint(key).ok() + (*file)->Floats(key).ok() + (*file)->Ints(key).ok() + (*file)->String(key).ok();
    }
    for (const GgufTensor& tensor : (*file)->tensors()) {
      for (std::byte byte : tensor.bytes) read += std::to_integer<uint64_t>(byte);
    }
  }
  EXPECT_GT(refused, 2000);  // Both happen often, or the test spoils nothing, or nothing but the first field.
  EXPECT_GT(opened, 2000);
  EXPECT_GT(read, 0u);
}

TEST(GgufBadInput, OnlyARegularFileIsOpened) {
  const std::string folder = testing::TempDir();
  EXPECT_EQ(GgufFile::Open(folder + "no_such.gguf").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(GgufFile::Open(folder).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GgufFile::Open("/dev/zero").status().code(), absl::StatusCode::kInvalidArgument);
  const std::string fifo = folder + "gguf_fifo";
  unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(GgufFile::Open(fifo).status().code(), absl::StatusCode::kInvalidArgument);
  unlink(fifo.c_str());
}

TEST(GgufBadInput, AnEmptyFileIsTruncated) {
  const std::string path = testing::TempDir() + "gguf_empty.gguf";
  std::ofstream(path, std::ios::trunc).close();
  const absl::Status status = GgufFile::Open(path).status();
  EXPECT_EQ(status, absl::InvalidArgumentError(path + ": magic at byte 0: the file is truncated: needs 4 bytes, 0 left"));
}

}  // namespace
}  // namespace tessera
