#include "tessera/model/files/gguf.h"

#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

// A parsed file and the bytes it points into. On the heap, so that nothing moves.
struct Parsed {
  std::string bytes;
  absl::StatusOr<std::unique_ptr<GgufFile>> file = absl::UnknownError("not parsed");
  const GgufFile& operator*() const { return **file; }
  const GgufFile* operator->() const { return file->get(); }
};

std::unique_ptr<Parsed> Parse(std::string bytes) {
  auto parsed = std::make_unique<Parsed>();
  parsed->bytes = std::move(bytes);
  const auto* data = reinterpret_cast<const std::byte*>(parsed->bytes.data());
  parsed->file = GgufFile::Parse({data, parsed->bytes.size()}, "m.gguf");
  return parsed;
}

// Bytes of a tensor as text.
std::string TextOf(const GgufFile& file, const GgufTensor& tensor, int64_t begin, int64_t size) {
  std::string text(size, '\0');
  EXPECT_EQ(file.Read(tensor, begin, {reinterpret_cast<std::byte*>(text.data()), text.size()}), absl::OkStatus());
  return text;
}

// A file that holds one entry of each type, and one tensor.
GgufBuilder EveryType() {
  GgufBuilder builder;
  builder.Number<uint8_t>("uint8", 255).Number<int8_t>("int8", -128).Number<uint16_t>("uint16", 65535);
  builder.Number<int16_t>("int16", -32768).Number<uint32_t>("uint32", 4294967295u).Number<int32_t>("int32", -7);
  builder.Number<float>("float32", 1.5f).Number<bool>("bool", true).String("string", "h\xc3\xa9llo");
  builder.Numbers<float>("array", {0.5f, -2.f}).Number<uint64_t>("uint64", ~uint64_t{0}).Number<int64_t>("int64", 7);
  builder.Number<double>("float64", 1e300).Strings("strings", {"a", "", std::string("n\0l", 3)});
  builder.Tensor("t", {4}, 0, std::string(16, '\x01'));
  return builder;
}

absl::StatusOr<int64_t> BytesOfTensors(const std::string& path, uint64_t* layers) {
  ASSIGN_OR_RETURN(std::unique_ptr<GgufFile> file, GgufFile::Open(path));
  ASSIGN_OR_RETURN(absl::string_view architecture, file->String("general.architecture"));
  ASSIGN_OR_RETURN(*layers, file->Uint(absl::StrCat(architecture, ".block_count")));
  int64_t bytes = 0;
  const auto Use = [&](absl::string_view name, const std::vector<std::byte>& of_tensor) {
    bytes += name == "a" ? of_tensor.size() : 0;
  };
  for (const GgufTensor& tensor : file->tensors()) {
    std::vector<std::byte> bytes(tensor.size);
    RETURN_IF_ERROR(file->Read(tensor, /*begin=*/0, absl::MakeSpan(bytes)));
    Use(tensor.name, bytes);
  }
  return bytes;
}

TEST(GgufFile, HeaderExample) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.gguf");
  GgufBuilder builder;
  builder.String("general.architecture", "llama").Number<uint32_t>("llama.block_count", 2);
  builder.Tensor("a", {32, 2}, /*gguf_type=*/0, std::string(256, '\0'));
  builder.WriteTo(path);
  uint64_t layers = 0;
  absl::StatusOr<int64_t> bytes = BytesOfTensors(path, &layers);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*bytes, 256);
  EXPECT_EQ(layers, 2u);
  builder.Corrupt<uint64_t>("tensor a ne0", 0);
  builder.WriteTo(path);
  EXPECT_FALSE(BytesOfTensors(path, &layers).ok());
}

// Not from one that has come under its name since: ModelFile looks at the first bytes and then opens what it looked at.
TEST(GgufFile, IsReadFromTheFileThatWasOpened) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.gguf"), other = folder.Path("other.gguf");
  GgufBuilder().String("general.name", "old").WriteTo(path);
  GgufBuilder().String("general.name", "new").WriteTo(other);
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> opened = RandomAccessFile::Open(path);
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_EQ(rename(other.c_str(), path.c_str()), 0);
  const auto file = GgufFile::Open(*std::move(opened));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*(*file)->String("general.name"), "old");
  EXPECT_EQ((*file)->path(), path);
}

TEST(GgufFile, KeepsEveryTypeOfMetadataInFileOrder) {
  const auto file = Parse(EveryType().Build());
  ASSERT_TRUE(file->file.ok()) << file->file.status();
  std::string list;
  for (const auto& [key, value] : (*file)->metadata()) {
    absl::StrAppend(&list, key, "=", GgufTypeName(value.type), "/", GgufTypeName(value.element_type), "x", value.count, " ");
  }
  EXPECT_EQ(list,
            "uint8=UINT8/UINT8x1 int8=INT8/INT8x1 uint16=UINT16/UINT16x1 int16=INT16/INT16x1 uint32=UINT32/UINT32x1 "
            "int32=INT32/INT32x1 float32=FLOAT32/FLOAT32x1 bool=BOOL/BOOLx1 string=STRING/STRINGx1 array=ARRAY/FLOAT32x2 "
            "uint64=UINT64/UINT64x1 int64=INT64/INT64x1 float64=FLOAT64/FLOAT64x1 strings=ARRAY/STRINGx3 ");
  EXPECT_EQ(*(*file)->Find("string")->Strings().begin(), "h\xc3\xa9llo");
  EXPECT_EQ((*file)->Find("array")->bytes.size(), 8u);
  EXPECT_EQ((*file)->Find("strin"), nullptr);
}

TEST(GgufFile, UintTakesAnyIntegerThatIsNotNegative) {
  const auto file = Parse(EveryType().Build());
  ASSERT_TRUE(file->file.ok()) << file->file.status();
  EXPECT_EQ((*file)->Uint("uint8").value(), 255u);
  EXPECT_EQ((*file)->Uint("uint16").value(), 65535u);
  EXPECT_EQ((*file)->Uint("uint32").value(), 4294967295u);
  EXPECT_EQ((*file)->Uint("uint64").value(), ~uint64_t{0});
  EXPECT_EQ((*file)->Uint("int64").value(), 7u);
  const auto signed_file = Parse(GgufBuilder().Number<int8_t>("a", 127).Number<int16_t>("b", 0).Number<int32_t>("c", 5).Build());
  EXPECT_EQ((*signed_file)->Uint("a").value(), 127u);
  EXPECT_EQ((*signed_file)->Uint("b").value(), 0u);
  EXPECT_EQ((*signed_file)->Uint("c").value(), 5u);
}

TEST(GgufFile, IntTakesAnyIntegerThatFits) {
  const auto file = Parse(EveryType().Build());
  ASSERT_TRUE(file->file.ok()) << file->file.status();
  EXPECT_EQ((*file)->Int("uint8").value(), 255);
  EXPECT_EQ((*file)->Int("uint32").value(), 4294967295);
  EXPECT_EQ((*file)->Int("int8").value(), -128);
  EXPECT_EQ((*file)->Int("int32").value(), -7);
  EXPECT_EQ((*file)->Int("int64").value(), 7);
  for (const char* key : {"uint64", "float32", "string", "array"}) {
    EXPECT_NE((*file)->Int(key).status().message().find(", expected an integer"), absl::string_view::npos) << key;
  }
}

TEST(GgufFile, TypedAccessReturnsTheValue) {
  const auto file = Parse(EveryType().Numbers<int32_t>("ints", {-1, 2}).Numbers<uint32_t>("uints", {3, 2147483647u}).Build());
  ASSERT_TRUE(file->file.ok()) << file->file.status();
  EXPECT_EQ((*file)->String("string").value(), "h\xc3\xa9llo");
  EXPECT_EQ((*file)->Float("float32").value(), 1.5);
  EXPECT_EQ((*file)->Float("float64").value(), 1e300);
  EXPECT_EQ((*file)->Bool("bool").value(), true);
  EXPECT_EQ((*file)->Floats("array").value(), (std::vector<float>{0.5f, -2.f}));
  EXPECT_EQ((*file)->Ints("ints").value(), (std::vector<int32_t>{-1, 2}));
  const auto flags = Parse(GgufBuilder().Array("bools", GgufType::kBool, 3, std::string("\1\0\1", 3)).Build());
  EXPECT_EQ((*flags)->Bools("bools").value(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ((*file)->Ints("uints").value(), (std::vector<int32_t>{3, 2147483647}));
  const auto strings = (*file)->Strings("strings").value();
  EXPECT_EQ(strings.size(), 3u);
  std::vector<std::string> texts;
  for (absl::string_view text : strings) texts.emplace_back(text);
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "", std::string("n\0l", 3)}));
}

TEST(GgufFile, DefaultsStandForAbsentKeysOnly) {
  const auto file = Parse(EveryType().Build());
  ASSERT_TRUE(file->file.ok()) << file->file.status();
  EXPECT_EQ((*file)->StringOr("none", "x").value(), "x");
  EXPECT_EQ((*file)->StringOr("string", "x").value(), "h\xc3\xa9llo");
  EXPECT_EQ((*file)->UintOr("none", 9).value(), 9u);
  EXPECT_EQ((*file)->UintOr("uint8", 9).value(), 255u);
  EXPECT_EQ((*file)->FloatOr("none", 0.25).value(), 0.25);
  EXPECT_EQ((*file)->FloatOr("float32", 0.25).value(), 1.5);
  EXPECT_EQ((*file)->BoolOr("none", false).value(), false);
  EXPECT_EQ((*file)->BoolOr("bool", false).value(), true);
  for (const absl::Status& status : {(*file)->StringOr("bool", "x").status(), (*file)->UintOr("string", 1).status(),
                                     (*file)->FloatOr("uint8", 1).status(), (*file)->BoolOr("uint8", true).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

TEST(GgufFile, AbsentKeyIsNotFound) {
  const auto file = Parse(EveryType().Build());
  ASSERT_TRUE(file->file.ok()) << file->file.status();
  const absl::Status expected = absl::NotFoundError("m.gguf: metadata \"none\": found no such key");
  EXPECT_EQ((*file)->String("none").status(), expected);
  EXPECT_EQ((*file)->Uint("none").status(), expected);
  EXPECT_EQ((*file)->Float("none").status(), expected);
  EXPECT_EQ((*file)->Bool("none").status(), expected);
  EXPECT_EQ((*file)->Strings("none").status(), expected);
  EXPECT_EQ((*file)->Floats("none").status(), expected);
  EXPECT_EQ((*file)->Ints("none").status(), expected);
  EXPECT_EQ((*file)->Int("none").status(), expected);
  EXPECT_EQ((*file)->Bools("none").status(), expected);
}

TEST(GgufFile, WrongTypeIsNamedWithItsValue) {
  GgufBuilder builder = EveryType();
  builder.Numbers<uint32_t>("large", {1, 2147483648u}).Numbers<uint8_t>("bytes", {1, 2});
  const std::string bytes = builder.Build();
  const auto file = Parse(bytes);
  ASSERT_TRUE(file->file.ok()) << file->file.status();
  const auto at = [&](const std::string& key) {
    const size_t offset = builder.OffsetOf("metadata " + key + " value");
    return "m.gguf: metadata \"" + key + "\" value at byte " + std::to_string(offset) + ": found ";
  };
  const std::pair<absl::Status, std::string> cases[] = {
      {(*file)->String("uint8").status(), at("uint8") + "UINT8 255, expected STRING"},
      {(*file)->String("strings").status(), at("strings") + "an array of 3 STRING, expected STRING"},
      {(*file)->Uint("int32").status(), at("int32") + "INT32 -7, expected an integer of 0 or more"},
      {(*file)->Uint("int8").status(), at("int8") + "INT8 -128, expected an integer of 0 or more"},
      {(*file)->Uint("float64").status(), at("float64") + "FLOAT64 1e+300, expected an integer of 0 or more"},
      {(*file)->Uint("array").status(), at("array") + "an array of 2 FLOAT32, expected an integer of 0 or more"},
      {(*file)->Float("uint64").status(), at("uint64") + "UINT64 18446744073709551615, expected FLOAT32 or FLOAT64"},
      {(*file)->Bool("string").status(), at("string") + "STRING \"h\xc3\xa9llo\", expected BOOL"},
      {(*file)->Bools("bool").status(), at("bool") + "BOOL true, expected an array of BOOL"},
      {(*file)->Strings("string").status(), at("string") + "STRING \"h\xc3\xa9llo\", expected an array of STRING"},
      {(*file)->Strings("array").status(), at("array") + "an array of 2 FLOAT32, expected an array of STRING"},
      // The two arrays through which other readers read past the end: scores and token types of one byte each.
      {(*file)->Floats("bytes").status(), at("bytes") + "an array of 2 UINT8, expected an array of FLOAT32"},
      {(*file)->Ints("bytes").status(), at("bytes") + "an array of 2 UINT8, expected an array of INT32 or UINT32"},
      {(*file)->Ints("bool").status(), at("bool") + "BOOL true, expected an array of INT32 or UINT32"},
  };
  for (const auto& [status, expected] : cases) EXPECT_EQ(status, absl::InvalidArgumentError(expected));
  EXPECT_EQ((*file)->Ints("large").status(),
            absl::InvalidArgumentError("m.gguf: metadata \"large\" value[1] at byte " +
                                       std::to_string(builder.OffsetOf("metadata large value") + 4) +
                                       ": found 2147483648, expected at most 2147483647"));
}

TEST(GgufFile, TensorsPointAtTheirBytes) {
  for (uint32_t version : {2u, 3u}) {
    for (uint32_t alignment : {8u, 32u, 4096u, 65536u}) {
      GgufBuilder builder;
      builder.Version(version).Alignment(alignment);
      builder.Tensor("a", {3, 5}, 30, std::string(30, 'a')).Tensor("blk.0.b", {32, 2, 3, 1}, 8, std::string(34 * 6, 'b'));
      const auto file = Parse(builder.Build());
      ASSERT_TRUE(file->file.ok()) << file->file.status();
      EXPECT_EQ((*file)->version(), version);
      EXPECT_EQ((*file)->size(), static_cast<int64_t>(file->bytes.size()));
      ASSERT_EQ((*file)->tensors().size(), 2u);
      const GgufTensor& b = (*file)->tensors()[1];
      EXPECT_EQ((*file)->FindTensor("blk.0.b"), &b);
      EXPECT_EQ(b.name, "blk.0.b");
      EXPECT_EQ(b.shape, (std::vector<int64_t>{32, 2, 3, 1}));
      EXPECT_EQ(b.format->format, BlockFormat::kQ8_0);
      EXPECT_EQ(b.offset % alignment, 0);
      EXPECT_EQ(b.size, 34 * 6);
      EXPECT_EQ(TextOf(**file, b, 0, b.size), std::string(34 * 6, 'b'));
      EXPECT_EQ(file->bytes.substr(b.offset, b.size), std::string(34 * 6, 'b'));
    }
  }
}

TEST(GgufFile, AlignmentIs32UnlessStated) {
  GgufBuilder builder;
  builder.Tensor("a", {1}, 0, "1234").Tensor("b", {1}, 0, "5678");
  const auto right = Parse(builder.Build());
  ASSERT_TRUE(right->file.ok()) << right->file.status();
  EXPECT_EQ((*right)->tensors()[1].offset - (*right)->tensors()[0].offset, 32);
  EXPECT_FALSE(Parse(builder.SilentAlignment(8).Build())->file.ok());
}

TEST(GgufFile, TakesTensorsInAnyOrderWithGapsAndBytesAfterTheLast) {
  GgufBuilder builder;
  builder.Tensor("a", {1}, 0, "1234").Tensor("b", {1}, 0, "5678").Tensor("c", {1}, 0, "9abc");
  builder.Corrupt<uint64_t>("tensor a offset", 64).Corrupt<uint64_t>("tensor b offset", 0);
  builder.Corrupt<uint64_t>("tensor c offset", 128);
  const auto file = Parse(builder.Build() + std::string(100, 'z'));
  ASSERT_TRUE(file->file.ok()) << file->file.status();
  EXPECT_EQ(TextOf(**file, *(*file)->FindTensor("a"), 0, 4), "9abc");
  EXPECT_EQ(TextOf(**file, *(*file)->FindTensor("b"), 1, 2), "23");
  EXPECT_EQ((*file)->tensors()[0].name, "a");
}

TEST(GgufFile, TakesTheLongestKeyAndName) {
  const std::string key(65535, 'k'), name(63, 'n');
  const auto file = Parse(GgufBuilder().Number<uint8_t>(key, 1).Tensor(name, {1}, 0, "1234").Build());
  ASSERT_TRUE(file->file.ok()) << file->file.status();
  EXPECT_NE((*file)->Find(key), nullptr);
  EXPECT_NE((*file)->FindTensor(name), nullptr);
}

TEST(GgufFile, AFileWithoutTensorsOrMetadataIsAFile) {
  const auto file = Parse(GgufBuilder().Build());
  ASSERT_TRUE(file->file.ok()) << file->file.status();
  EXPECT_TRUE((*file)->metadata().empty());
  EXPECT_TRUE((*file)->tensors().empty());
  EXPECT_EQ((*file)->FindTensor("a"), nullptr);
}

TEST(GgufFile, ReadsBytesAtAnyAddress) {
  GgufBuilder builder = EveryType();
  const std::string shifted = "!" + builder.Build();
  const auto* data = reinterpret_cast<const std::byte*>(shifted.data()) + 1;
  const auto file = GgufFile::Parse({data, shifted.size() - 1}, "m.gguf");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->Float("float64").value(), 1e300);
  EXPECT_EQ((*file)->Floats("array").value()[1], -2.f);
}

// A header of more than one read, with a vocabulary and a tensor behind it.
TEST(GgufFile, AFileReadsAsItsBytesInMemoryDo) {
  std::vector<std::string> words;
  for (int i = 0; i < 100'000; ++i) words.push_back("word" + std::to_string(i));
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.gguf");
  GgufBuilder builder;
  builder.Strings("words", words).Number<int32_t>("after", 5).Tensor("a", {4}, 0, "0123456789abcdef").WriteTo(path);
  const auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto memory = Parse(builder.Build());
  ASSERT_TRUE(memory->file.ok()) << memory->file.status();
  for (const GgufFile* one : {file->get(), memory->file->get()}) {
    std::vector<std::string> texts;
    const LengthPrefixedStrings found = one->Strings("words").value();
    for (absl::string_view text : found) texts.emplace_back(text);
    EXPECT_EQ(texts, words);
    EXPECT_EQ(one->Uint("after").value(), 5u);
    EXPECT_EQ(TextOf(*one, one->tensors()[0], 3, 13), "3456789abcdef");
    EXPECT_EQ(one->size(), static_cast<int64_t>(memory->bytes.size()));
  }
}

TEST(GgufFile, OpensTheGoldenModels) {
  const std::map<std::string, size_t> tensors = {
      {"gemma3", 93},     {"llama", 21},      {"llama3_rope", 22}, {"llama_linear", 21},
      {"llama_tied", 20}, {"llama_yarn", 21}, {"qwen2", 26},       {"qwen3", 25}};
  for (const auto& [name, count] : tensors) {
    const auto file = GgufFile::Open(TESSERA_SOURCE_DIR "/tests/golden/tiny/" + name + ".gguf");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ((*file)->tensors().size(), count) << name;
    EXPECT_TRUE((*file)->String("general.architecture").ok()) << name;
  }
}

}  // namespace
}  // namespace tessera
