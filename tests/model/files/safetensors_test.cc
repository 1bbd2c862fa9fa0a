#include "tessera/model/files/safetensors.h"

#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/bad_safetensors_files.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

// The bytes without room behind them: the sanitizers see a read past their end.
struct Exact {
  explicit Exact(const std::string& bytes) : data(std::make_unique<std::byte[]>(bytes.size())), size(bytes.size()) {
    if (size > 0) std::memcpy(data.get(), bytes.data(), size);
  }
  absl::StatusOr<std::unique_ptr<SafetensorsFile>> Parse() const { return SafetensorsFile::Parse({data.get(), size}, "m.safetensors"); }

  std::unique_ptr<std::byte[]> data;
  size_t size;
};

absl::Status StatusOf(const std::string& bytes) { return Exact(bytes).Parse().status(); }

// Every byte of every tensor, and how many numbers they are.
int64_t ReadAll(const SafetensorsFile& file) {
  int64_t numbers = 0;
  for (const SafetensorsTensor& tensor : file.tensors()) {
    std::vector<std::byte> bytes(static_cast<size_t>(tensor.size));
    EXPECT_EQ(file.Read(tensor, 0, absl::MakeSpan(bytes)), absl::OkStatus());
    EXPECT_EQ(file.FindTensor(tensor.name), &tensor);
    numbers += tensor.count + (file.ReadFloats(tensor).ok() ? 1 : 0);
  }
  return numbers;
}

class Safetensors : public testing::Test {
 protected:
  std::string Written(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("adapter_model.safetensors");
};

absl::StatusOr<int64_t> Example(const std::string& path) {
  int64_t read = 0;
  ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsFile> file, SafetensorsFile::Open(path));
  for (const SafetensorsTensor& tensor : file->tensors()) {
    std::vector<std::byte> bytes(tensor.size);
    RETURN_IF_ERROR(file->Read(tensor, /*begin=*/0, absl::MakeSpan(bytes)));
    read += static_cast<int64_t>(bytes.size());
  }
  return read;
}

TEST_F(Safetensors, HeaderExample) { EXPECT_EQ(Must(Example(Written(SafetensorsBuilder().Build()))), 34); }

TEST_F(Safetensors, TensorsMatchTheHeader) {
  const auto file = Must(SafetensorsFile::Open(Written(SafetensorsBuilder().Build())));
  const size_t data = 8 + SafetensorsBuilder().Header().size();
  ASSERT_EQ(file->tensors().size(), 4u);
  EXPECT_EQ(file->size(), static_cast<int64_t>(data + 34));
  ASSERT_NE(file->FindMetadata("format"), nullptr);
  EXPECT_EQ(*file->FindMetadata("format"), "pt");
  EXPECT_EQ(file->FindMetadata("other"), nullptr);
  const SafetensorsTensor *a = file->FindTensor("a"), *b = file->FindTensor("b"), *c = file->FindTensor("c"), *e = file->FindTensor("e");
  ASSERT_TRUE(a != nullptr && b != nullptr && c != nullptr && e != nullptr);
  EXPECT_EQ(a->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(a->offset, static_cast<int64_t>(data));
  EXPECT_EQ(Must(file->ReadFloats(*a)), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Must(file->ReadFloats(*b)), (std::vector<float>{1, -2, 0.5f, 0}));
  EXPECT_EQ(Must(file->ReadFloats(*c)), (std::vector<float>{3}));
  EXPECT_TRUE(c->shape.empty());
  EXPECT_EQ(e->size, 0);
  EXPECT_EQ(e->type, SafetensorsType::kI64);
  EXPECT_EQ(file->FindTensor("__metadata__"), nullptr);
  std::vector<std::byte> third(4);
  ASSERT_EQ(file->Read(*a, 8, absl::MakeSpan(third)), absl::OkStatus());
  float number;
  std::memcpy(&number, third.data(), sizeof number);
  EXPECT_EQ(number, 3);
  EXPECT_EQ(file->CheckUnchanged(), absl::OkStatus());
}

// Writers pad the header, and list tensors in any order.
TEST_F(Safetensors, BlanksAfterTheHeaderAndTensorsInAnyOrderAreRead) {
  SafetensorsBuilder builder;
  std::swap(builder.entries[0], builder.entries[2]);
  builder.header = builder.Header() + "    \n";
  const auto file = Must(SafetensorsFile::Open(Written(builder.Build())));
  EXPECT_EQ(file->tensors()[0].name, "a");
  EXPECT_EQ(file->tensors()[3].name, "e");
  EXPECT_EQ(ReadAll(*file), 6 + 4 + 1 + 3);
}

TEST_F(Safetensors, EveryTypeHasItsWidth) {
  for (int i = 0; i < kSafetensorsTypes; ++i) {
    const SafetensorsTypeInfo& info = InfoOf(static_cast<SafetensorsType>(i));
    EXPECT_EQ(static_cast<int>(info.type), i);
    SafetensorsBuilder builder;
    builder.entries = {{"x", absl::StrCat("\"", info.name, "\""), "[3]", absl::StrCat("[0,", 3 * info.bytes, "]")}};
    builder.data = std::string(static_cast<size_t>(3 * info.bytes), '\0');
    const Exact exact(builder.Build());
    const auto file = Must(exact.Parse());
    EXPECT_EQ(file->tensors()[0].type, info.type);
    EXPECT_EQ(file->FormatOf(file->tensors()[0]).ok(), std::set<std::string>({"F32", "F16", "BF16"}).count(info.name) == 1) << info.name;
  }
}

TEST_F(Safetensors, OnlyFiniteFloatsAreReadAsSuch) {
  SafetensorsBuilder builder;
  builder.data[24 + 3] = '\x7e';   // The second half becomes a NaN.
  const Exact exact(builder.Build());
  const auto file = Must(exact.Parse());
  EXPECT_EQ(file->ReadFloats(*file->FindTensor("b")).status(),
            absl::InvalidArgumentError(absl::StrCat("m.safetensors: tensor \"b\" value 1 at byte ", 8 + builder.Header().size() + 26,
                                                    ": found a NaN or an infinity, expected finite numbers")));
  EXPECT_EQ(file->ReadFloats(*file->FindTensor("e")).status(),
            absl::InvalidArgumentError("m.safetensors: tensor \"e\" dtype: found I64, expected F32, F16 or BF16"));
}

TEST_F(Safetensors, EveryNamedFileIsSaidWhereAndWhy) {
  std::set<std::string> names;
  EXPECT_EQ(StatusOf(SafetensorsBuilder().Build()), absl::OkStatus());
  for (const BadSafetensors& file : BadSafetensorsFiles()) {
    EXPECT_TRUE(names.insert(file.name).second) << file.name;
    const absl::Status status = StatusOf(file.bytes);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << file.name << ": " << status;
    const std::string expected = "m.safetensors: " + file.message;
    if (absl::EndsWith(expected, "*")) {
      EXPECT_EQ(std::string(status.message().substr(0, expected.size() - 1)), expected.substr(0, expected.size() - 1)) << file.name;
    } else {
      EXPECT_EQ(std::string(status.message()), expected) << file.name;
    }
  }
  EXPECT_GE(names.size(), 40u);
}

TEST_F(Safetensors, EveryPrefixIsRefusedByName) {
  const std::string whole = SafetensorsBuilder().Build();
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::Status status = StatusOf(whole.substr(0, size));
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    ASSERT_TRUE(absl::StartsWith(status.message(), "m.safetensors: ")) << status;
  }
}

// 20,000 seeded changes of one to three bits or bytes.
TEST_F(Safetensors, SpoiledBitsNeverCrash) {
  const std::string whole = SafetensorsBuilder().Build();
  std::mt19937 random(20240817);
  int refused = 0, opened = 0;
  int64_t numbers = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    for (uint32_t i = random() % 3 + 1; i > 0; --i) {
      char& byte = bytes[random() % bytes.size()];
      byte = static_cast<char>(random() % 2 == 0 ? byte ^ (1 << random() % 8) : random());
    }
    const Exact exact(bytes);
    const auto file = exact.Parse();
    ++(file.ok() ? opened : refused);
    if (file.ok()) numbers += ReadAll(**file);
    else ASSERT_TRUE(absl::StartsWith(file.status().message(), "m.safetensors: ")) << file.status();
  }
  EXPECT_GT(refused, 2000);
  EXPECT_GT(opened, 400);   // Most of the file is its header, in which few changes mean anything.
  EXPECT_GT(numbers, 0);
}

// What is kept in memory is bounded even if the file is large, which a hole makes easy: here of 100 GB.
TEST_F(Safetensors, AHeaderOfGigabytesIsRefused) {
  SafetensorsBuilder builder;
  builder.length = 10'000'000'000;
  Written(builder.Build());
  std::filesystem::resize_file(path_, 100'000'000'000);
  EXPECT_EQ(SafetensorsFile::Open(path_).status(),
            absl::InvalidArgumentError(path_ + ": header length at byte 0: found 10000000000, expected at most 16777216"));
}

TEST_F(Safetensors, AHeaderOfMillionsOfValuesIsRefused) {
  SafetensorsBuilder builder;
  std::string list = "[0";
  for (int i = 0; i < 1 << 20; ++i) list += ",0";
  builder.entries[0].shape = list + "]";
  const absl::Status status = StatusOf(builder.Build());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), "m.safetensors: header: ")) << status;
}

TEST_F(Safetensors, OnlyARegularFileIsOpened) {
  const std::string fifo = folder_.Path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(SafetensorsFile::Open(fifo).status(), absl::InvalidArgumentError(fifo + ": found a FIFO, expected a regular file"));
  EXPECT_EQ(SafetensorsFile::Open(folder_.Path("missing")).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(Safetensors, AFileThatBecomesShorterIsLostData) {
  const auto file = Must(SafetensorsFile::Open(Written(SafetensorsBuilder().Build())));
  std::filesystem::resize_file(path_, static_cast<uintmax_t>(file->size()) - 4);
  const absl::Status status = file->ReadFloats(*file->FindTensor("c")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(absl::EndsWith(status.message(), " (reading tensor \"c\")")) << status;
  EXPECT_FALSE(file->CheckUnchanged().ok());
}

}  // namespace
}  // namespace tessera
