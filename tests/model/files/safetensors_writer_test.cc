#include "tessera/model/files/safetensors_writer.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

using Type = SafetensorsType;

template <typename T>
absl::Span<const std::byte> BytesOf(const std::vector<T>& numbers) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(numbers.data()), numbers.size() * sizeof(T));
}

class SafetensorsWriterTest : public testing::Test {
 protected:
  std::string Contents() const {
    std::ifstream in(path_, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  std::string Refusal(std::vector<SafetensorsWriter::Tensor> tensors, const SafetensorsWriter::Metadata& metadata = {}) const {
    const absl::Status status = SafetensorsWriter::Create(path_, std::move(tensors), metadata).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("states.safetensors");
};

absl::Status Example(const std::string& path, int64_t count, int64_t width, absl::Span<const std::byte> row_bytes,
                     absl::Span<const std::byte> all_tokens) {
  const auto BytesOfRow = [&](int) { return row_bytes; };
  ASSIGN_OR_RETURN(SafetensorsWriter writer,
                   SafetensorsWriter::Create(path, {{"tokens", SafetensorsType::kI32, {count}},
                                                    {"hidden.15", SafetensorsType::kF32, {count, width}}}));
  for (int row = 0; row < count; ++row) RETURN_IF_ERROR(writer.Append(/*tensor=*/1, BytesOfRow(row)));
  RETURN_IF_ERROR(writer.Append(/*tensor=*/0, all_tokens));
  RETURN_IF_ERROR(writer.Commit());
  return absl::OkStatus();
}

TEST_F(SafetensorsWriterTest, HeaderExample) {
  const std::vector<float> row = {1, 2, 3};
  const std::vector<int32_t> tokens = {7, 8};
  ASSERT_EQ(Example(path_, 2, 3, BytesOf(row), BytesOf(tokens)), absl::OkStatus());
  const auto file = Must(SafetensorsFile::Open(path_));
  ASSERT_NE(file->FindTensor("hidden.15"), nullptr);
  EXPECT_EQ(Must(file->ReadFloats(*file->FindTensor("hidden.15"))), (std::vector<float>{1, 2, 3, 1, 2, 3}));
  std::vector<int32_t> read(2);
  ASSERT_NE(file->FindTensor("tokens"), nullptr);
  ASSERT_EQ(file->Read(*file->FindTensor("tokens"), 0, absl::MakeSpan(reinterpret_cast<std::byte*>(read.data()), 8)), absl::OkStatus());
  EXPECT_EQ(read, tokens);
}

// The format's own library lays tensors out so, too; a reader may map the file.
TEST_F(SafetensorsWriterTest, WideNumbersComeFirstAndEachIsAligned) {
  SafetensorsWriter writer = Must(SafetensorsWriter::Create(
      path_, {{"a", Type::kU8, {3}}, {"z", Type::kF32, {2}}, {"b", Type::kF16, {1}}, {"i", Type::kI64, {}}, {"y", Type::kF32, {0}}},
      {{"format", "pt"}, {"a \"key\"", "t\xc3\xa4st"}}));
  const std::vector<uint8_t> bytes = {1, 2, 3};
  const std::vector<float> floats = {4, 5};
  const std::vector<uint16_t> half = {0x3c00};
  const std::vector<int64_t> number = {-6};
  Must(writer.Append(1, BytesOf(floats).first(3)));
  Must(writer.Append(0, BytesOf(bytes)));
  Must(writer.Append(1, BytesOf(floats).subspan(3)));
  Must(writer.Append(3, BytesOf(number)));
  Must(writer.Append(2, BytesOf(half)));
  Must(writer.Commit());
  const auto file = Must(SafetensorsFile::Open(path_));
  std::vector<std::string> names;
  for (const SafetensorsTensor& tensor : file->tensors()) {
    names.push_back(tensor.name);
    EXPECT_EQ(tensor.offset % InfoOf(tensor.type).bytes, 0) << tensor.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"i", "y", "z", "b", "a"}));
  EXPECT_EQ(Must(file->ReadFloats(*file->FindTensor("z"))), floats);
  EXPECT_EQ(Must(file->ReadFloats(*file->FindTensor("b"))), std::vector<float>{1});
  ASSERT_EQ(file->metadata().size(), 2u);
  EXPECT_EQ(file->metadata()[1].first, "a \"key\"");
  EXPECT_EQ(file->metadata()[1].second, "t\xc3\xa4st");
}

TEST_F(SafetensorsWriterTest, AFileOfNothingIsOne) {
  Must(Must(SafetensorsWriter::Create(path_, {})).Commit());
  EXPECT_EQ(Contents(), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(Must(SafetensorsFile::Open(path_))->tensors().empty());
}

TEST_F(SafetensorsWriterTest, AnIncompleteFileLeavesTheOldFile) {
  std::ofstream(path_) << "old";
  {
    SafetensorsWriter writer = Must(SafetensorsWriter::Create(path_, {{"a", Type::kU8, {4}}}));
    const std::vector<uint8_t> three = {1, 2, 3};
    Must(writer.Append(0, BytesOf(three)));
    EXPECT_EQ(writer.Append(0, BytesOf(three)),
              absl::InvalidArgumentError(path_ + ": tensor \"a\": found 3 bytes after 3, expected at most 1 more"));
    EXPECT_EQ(writer.Commit(), absl::InvalidArgumentError(path_ + ": tensor \"a\": found 3 bytes, expected 4"));
  }
  EXPECT_EQ(Contents(), "old");
  EXPECT_EQ(folder_.Files(), 1);
}

TEST_F(SafetensorsWriterTest, AFileThatWouldBeRefusedIsNotWritten) {
  const std::string p = path_ + ": ";
  EXPECT_EQ(Refusal({{"", Type::kU8, {}}}), p + "tensor \"\": found a name of 0 bytes, expected 1 to 1024");
  EXPECT_EQ(Refusal({{"a\n", Type::kU8, {}}}), p + "tensor \"a\\n\": found this name, expected printable UTF-8");
  EXPECT_EQ(Refusal({{"a", Type::kU8, {}}, {"a", Type::kU8, {}}}), p + "tensor \"a\": found a second time, expected each name once");
  EXPECT_EQ(Refusal({{"__metadata__", Type::kU8, {}}}), p + "tensor \"__metadata__\": found the name of the texts, expected another");
  EXPECT_EQ(Refusal({{"a", Type::kU8, {-1}}}), p + "tensor \"a\": shape: size 1 x -1 does not fit in 63 bits");
  EXPECT_EQ(Refusal({{"a", Type::kU8, {1, 1, 1, 1, 1, 1, 1, 1, 1}}}), p + "tensor \"a\": shape: found 9 dimensions, expected at most 8");
  EXPECT_EQ(Refusal({{"a", Type::kF32, {int64_t{1} << 61}}}),
            p + "tensor \"a\": shape: size 2305843009213693952 x 4 does not fit in 63 bits");
  EXPECT_EQ(Refusal({}, {{"k", "a\xff"}}), p + "metadata \"k\": found \"a\\xff\", expected printable UTF-8");
  EXPECT_EQ(Refusal({}, {{"k", ""}, {"k", ""}}), p + "metadata \"k\": found a second time, expected each key once");
  EXPECT_EQ(folder_.Files(), 0);
}

}  // namespace
}  // namespace tessera
