#include "tessera/model/files/gguf_writer.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/gguf_builder.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class GgufWriterTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("model.gguf");
};

// What byte `index` of tensor `tensor` is in these tests.
std::byte ByteOf(int tensor, int64_t index) { return static_cast<std::byte>(index * 31 + tensor * 7 + (index >> 8)); }

// Appends a tensor's bytes in pieces of `piece`.
auto PiecesOf(const GgufWriter& writer, int64_t piece) {
  return [&writer, piece](int tensor, GgufWriter::Append append) -> absl::Status {
    const int64_t size = writer.TensorBytes(tensor);
    for (int64_t begin = 0; begin < size; begin += piece) {
      std::vector<std::byte> bytes(std::min(piece, size - begin));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = ByteOf(tensor, begin + static_cast<int64_t>(i));
      RETURN_IF_ERROR(append(bytes));
    }
    return absl::OkStatus();
  };
}

absl::Status Nothing(int, GgufWriter::Append) { return absl::OkStatus(); }

absl::Status Example(const std::string& path, absl::Span<const std::byte> row_bytes) {
  const auto RowOf = [&](int, int64_t) { return row_bytes; };
  GgufWriter writer;
  writer.String("general.name", "an example").Number<uint32_t>("general.quantization_version", 2);
  writer.Tensor("token_embd.weight", BlockFormat::kQ8_0, {/*in_features=*/256, /*out_features=*/1000});
  RETURN_IF_ERROR(writer.Write(path, [&](int tensor, GgufWriter::Append append) -> absl::Status {
    for (int64_t row = 0; row < 1000; ++row) RETURN_IF_ERROR(append(RowOf(tensor, row)));
    return absl::OkStatus();
  }));
  return absl::OkStatus();
}

TEST_F(GgufWriterTest, HeaderExample) {
  ASSERT_EQ(Example(path_, std::vector<std::byte>(8 * 34)), absl::OkStatus());
  const std::unique_ptr<GgufFile> file = *GgufFile::Open(path_);
  EXPECT_EQ(*file->String("general.name"), "an example");
  EXPECT_EQ(*file->Uint("general.quantization_version"), 2u);
  EXPECT_EQ(file->tensors()[0].size, 8 * 34 * 1000);
}

// One entry of each type; the builder of the tests writes the same, by code of its own.
template <typename Writer>
void PutEveryType(Writer& writer) {
  writer.template Number<uint8_t>("uint8", 255).template Number<int8_t>("int8", -128);
  writer.template Number<uint16_t>("uint16", 65535).template Number<int16_t>("int16", -32768);
  writer.template Number<uint32_t>("uint32", 4294967295u).template Number<int32_t>("int32", -7);
  writer.template Number<float>("float32", 1.5f).Number("bool", true).String("string", "h\xc3\xa9llo").String("empty", "");
  writer.template Number<uint64_t>("uint64", ~uint64_t{0}).template Number<int64_t>("int64", -7).Number("float64", 1e300);
  const std::vector<float> floats = {0.5f, -2.f};
  writer.template Numbers<float>("floats", floats);
  const std::vector<int32_t> none;
  writer.template Numbers<int32_t>("none", none);
  const std::vector<std::string> strings = {"a", "", std::string("n\0l", 3)};
  writer.Strings("strings", strings);
}

TEST_F(GgufWriterTest, MetadataOfEveryTypeIsReadAsWritten) {
  GgufWriter writer;
  PutEveryType(writer);
  ASSERT_EQ(writer.Write(path_, Nothing), absl::OkStatus());
  GgufBuilder builder;
  PutEveryType(builder);
  const std::string expected = builder.Build();
  const std::unique_ptr<GgufFile> found = *GgufFile::Open(path_);
  const std::unique_ptr<GgufFile> truth =
      *GgufFile::Parse({reinterpret_cast<const std::byte*>(expected.data()), expected.size()}, "builder");
  ASSERT_EQ(found->metadata().size(), truth->metadata().size());
  for (size_t i = 0; i < truth->metadata().size(); ++i) {
    const auto& [key, value] = truth->metadata()[i];
    EXPECT_EQ(found->metadata()[i].first, key);
    EXPECT_EQ(found->metadata()[i].second.type, value.type) << key;
    EXPECT_EQ(found->metadata()[i].second.element_type, value.element_type) << key;
    EXPECT_EQ(found->metadata()[i].second.bytes, value.bytes) << key;
  }
}

TEST_F(GgufWriterTest, TensorsOfEveryFormatAreReadAsAppendedInAnySteps) {
  GgufWriter writer;
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (!info.in_gguf()) continue;
    writer.Tensor(absl::StrCat(info.name, "_matrix"), info.format, {256, 3});
    writer.Tensor(absl::StrCat(info.name, "_cube"), info.format, {256, 1, 5, 2});
  }
  writer.Tensor("vector", BlockFormat::kF32, {7});  // 28 bytes: what follows needs padding.
  writer.Tensor("last", BlockFormat::kF32, {1});
  for (int64_t piece : {1, 100, 1 << 20}) {
    int64_t done = 0, total = 0;
    ASSERT_EQ(writer.Write(path_, PiecesOf(writer, piece), [&](int64_t now, int64_t all) { done = now, total = all; }), absl::OkStatus());
    EXPECT_GT(done, 0);
    EXPECT_EQ(total, static_cast<int64_t>(std::filesystem::file_size(path_)));
    EXPECT_EQ(total, *writer.FileSize());
    const absl::StatusOr<std::unique_ptr<GgufFile>> file = GgufFile::Open(path_);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ((*file)->unused_bytes(), 0);
    ASSERT_EQ(static_cast<int>((*file)->tensors().size()), writer.tensors());
    for (int i = 0; i < writer.tensors(); ++i) {
      const GgufTensor& tensor = (*file)->tensors()[i];
      std::vector<std::byte> bytes(tensor.size);
      ASSERT_EQ((*file)->Read(tensor, 0, absl::MakeSpan(bytes)), absl::OkStatus());
      for (int64_t b = 0; b < tensor.size; ++b) ASSERT_EQ(bytes[b], ByteOf(i, b)) << tensor.name << " byte " << b;
    }
  }
  EXPECT_EQ((*GgufFile::Open(path_))->FindTensor("Q4_K_cube")->shape, (std::vector<int64_t>{256, 1, 5, 2}));
}

TEST_F(GgufWriterTest, TooMuchOrTooLittleOfATensorIsAnErrorAndLeavesNoFile) {
  GgufWriter writer;
  writer.Tensor("t", BlockFormat::kF32, {4});
  for (size_t size : {size_t{0}, size_t{15}, size_t{17}}) {
    const absl::Status status =
        writer.Write(path_, [size](int, GgufWriter::Append append) { return append(std::vector<std::byte>(size)); });
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_NE(status.message().find(absl::StrCat("tensor \"t\": found ", size)), std::string::npos) << status;
    EXPECT_NE(status.message().find("expected 16"), std::string::npos) << status;
    EXPECT_EQ(folder_.Files(), 0);
  }
  EXPECT_EQ(writer.Write(path_, [](int, GgufWriter::Append) { return absl::DataLossError("gone"); }), absl::DataLossError("gone"));
  EXPECT_EQ(folder_.Files(), 0);
}

TEST_F(GgufWriterTest, AFileThatTheReaderWouldRefuseIsNotWritten) {
  const std::map<std::string, std::function<void(GgufWriter&)>> mistakes = {
      {"metadata \"a\": found it a second time", [](GgufWriter& w) { w.Number("a", 1).String("a", "x"); }},
      {"metadata \"\"", [](GgufWriter& w) { w.Number("", 1); }},
      {"expected 1 to 65535 bytes", [](GgufWriter& w) { w.Number(std::string(65536, 'k'), 1); }},
      {"tensor \"t\": T2: GGUF has no such type; expected a .tsr output",
       [](GgufWriter& w) { w.Tensor("t", BlockFormat::kT2, {32, 3}); }},
      {"expected 1 to 63 bytes", [](GgufWriter& w) { w.Tensor(std::string(64, 't'), BlockFormat::kF32, {1}); }},
      {"printable", [](GgufWriter& w) { w.Tensor("a\nb", BlockFormat::kF32, {1}); }},
      {"tensor \"t\": found it a second time",
       [](GgufWriter& w) { w.Tensor("t", BlockFormat::kF32, {1}).Tensor("t", BlockFormat::kF32, {1}); }},
      {"found 0 dimensions", [](GgufWriter& w) { w.Tensor("t", BlockFormat::kF32, {}); }},
      {"found 5 dimensions",
       [](GgufWriter& w) {
         w.Tensor("t", BlockFormat::kF32, {1, 1, 1, 1, 1});
       }},
      {"a dimension of 0",
       [](GgufWriter& w) {
         w.Tensor("t", BlockFormat::kF32, {1, 0});
       }},
      {"whole blocks of 32",
       [](GgufWriter& w) {
         w.Tensor("t", BlockFormat::kQ4_0, {33, 2});
       }},
      {"does not fit in 63 bits",
       [](GgufWriter& w) {
         w.Tensor("t", BlockFormat::kQ4_0, {int64_t{1} << 40, int64_t{1} << 40});
       }},
      {"tensors: found 4611686018427387904 bytes", [](GgufWriter& w) { w.Tensor("t", BlockFormat::kF32, {int64_t{1} << 60}); }},
  };
  for (const auto& [message, mistake] : mistakes) {
    GgufWriter writer;
    mistake(writer);
    const absl::Status status = writer.Write(path_, Nothing);
    EXPECT_FALSE(status.ok()) << message;
    EXPECT_NE(status.message().find(message), std::string::npos) << status << ", expected " << message;
    EXPECT_EQ(writer.FileSize().status(), status);
    EXPECT_EQ(folder_.Files(), 0);
  }
}

// The disk fills up (here: a limit on file sizes, in a child process).
TEST_F(GgufWriterTest, AFullDiskIsAStatusAndLeavesNoFile) {
  GgufWriter writer;
  writer.Tensor("t", BlockFormat::kF32, {1 << 20});
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    const absl::Status status = writer.Write(path_, PiecesOf(writer, 1 << 16));
    _exit(status.message().find(path_) != std::string::npos ? 0 : 1);
  }
  int result;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(folder_.Files(), 0);
}

}  // namespace
}  // namespace tessera
