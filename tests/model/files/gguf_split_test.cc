#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/model/files/gguf.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/tiny_model.h"
#include "tessera/tests/fakes/split_model.h"

namespace tessera {
namespace {

std::vector<std::byte> BytesOf(const GgufFile& file, const GgufTensor& tensor) {
  std::vector<std::byte> bytes(tensor.size);
  Must(file.Read(tensor, 0, absl::MakeSpan(bytes)));
  return bytes;
}

TEST(GgufSplit, AnyPartOpensTheWholeModel) {
  GgufBuilder whole_builder = TinyModelBuilder({});
  const std::string bytes = whole_builder.Build();
  const auto whole = Must(GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "whole"));
  for (const int count : {2, 3, 7}) {
    const SplitModel model(whole_builder.Split(count));
    for (int part = 0; part < count; ++part) {
      const auto file = Must(GgufFile::Open(model.Path(part)));
      EXPECT_EQ(file->path(), model.Path(0));
      EXPECT_EQ(file->parts(), count);
      EXPECT_EQ(file->metadata().size(), whole->metadata().size() + 3);
      ASSERT_EQ(file->tensors().size(), whole->tensors().size());
      for (const GgufTensor& tensor : whole->tensors()) {
        const GgufTensor* found = file->FindTensor(tensor.name);
        ASSERT_NE(found, nullptr) << tensor.name;
        EXPECT_EQ(found->shape, tensor.shape);
        EXPECT_EQ(BytesOf(*file, *found), BytesOf(*whole, tensor)) << tensor.name;
      }
    }
  }
}

TEST(GgufSplit, TheFirstPartMayHoldNoTensors) {
  std::vector<GgufBuilder> parts = GgufBuilder().Tensor("a", {1}, 0, "1234").Split(2);
  const SplitModel model(parts);
  const auto file = Must(GgufFile::Open(model.Path(0)));
  EXPECT_EQ(file->PathOf(*file->FindTensor("a")), model.Path(1));
}

// Three parts of six tensors, one of which is spoiled.
class BadParts : public testing::Test {
 protected:
  BadParts() : parts_(Six().Split(3)), model_(parts_) {}

  static GgufBuilder Six() {
    GgufBuilder builder;
    builder.String("general.architecture", "llama");
    for (const char* name : {"a", "b", "c", "d", "e", "f"}) builder.Tensor(name, {1}, 0, "1234");
    return builder;
  }

  // Opens by each part: the message begins with the path of `blamed`.
  void ExpectRefused(int blamed, const std::string& message) const {
    EXPECT_EQ(std::string(GgufFile::Open(model_.Path(0)).status().message()), absl::StrCat(model_.Path(blamed), ": ", message));
  }

  std::vector<GgufBuilder> parts_;
  SplitModel model_;
};

TEST_F(BadParts, AMissingPartIsNamed) {
  std::filesystem::remove(model_.Path(1));
  for (const int opened : {0, 2}) {
    EXPECT_EQ(GgufFile::Open(model_.Path(opened)).status(),
              absl::NotFoundError(absl::StrCat(model_.Path(1),
                                               ": cannot open: No such file or directory: part 2 of 3, which must lie beside ",
                                               model_.Path(opened))));
  }
}

TEST_F(BadParts, APartUnderAnotherNameIsNamed) {
  const std::string other = model_.Path(0) + ".download.gguf";
  std::filesystem::rename(model_.Path(0), other);
  EXPECT_EQ(GgufFile::Open(other).status(),
            absl::InvalidArgumentError(
                other + ": file name: found \"model-00001-of-00003.gguf.download.gguf\", expected one that ends in "
                        "-00001-of-00003.gguf, as split.no and split.count say"));
}

TEST_F(BadParts, APartInThePlaceOfAnotherIsNamed) {
  model_.Write(1, parts_[2]);
  ExpectRefused(1, "metadata \"split.no\" value at byte 44: found 2, expected 1, as the name says");
  model_.Write(1, Six().Split(4)[1]);
  ExpectRefused(1, "metadata \"split.count\" value at byte 69: found 4, expected 3, as the name says");
}

TEST_F(BadParts, PartsOfDifferentModelsAreNamed) {
  model_.Write(2, Six().Tensor("g", {1}, 0, "1234").Split(3)[2]);
  ExpectRefused(2, "metadata \"split.tensors.count\" value at byte 102: found 7, expected 6, as in the other parts");
  model_.Write(2, GgufBuilder(parts_[2]).RemoveTensor("f"));
  ExpectRefused(0, "metadata \"split.tensors.count\" value at byte 147: found 6, expected 5, as many as the parts hold");
  model_.Write(2, GgufBuilder(parts_[2]).RemoveTensor("f").Tensor("a", {1}, 0, "1234"));
  ExpectRefused(2,
                absl::StrCat("tensor \"a\" data at byte 224: found in ", model_.Path(0), " as well, expected each tensor once"));
}

TEST_F(BadParts, MetadataOfTheModelInALaterPartIsNamed) {
  model_.Write(2, GgufBuilder(parts_[2]).String("general.architecture", "qwen3"));
  ExpectRefused(2, "metadata \"general.architecture\" value at byte 138: found in a part after the first, expected split.* and "
                   "general.alignment only");
  model_.Write(2, GgufBuilder(parts_[2]).Alignment(64));
  Must(GgufFile::Open(model_.Path(0)));
}

TEST_F(BadParts, WrongNumbersAreNamed) {
  model_.Write(0, GgufBuilder(parts_[0]).Corrupt<uint16_t>("metadata split.no value", 3));
  ExpectRefused(0, "metadata \"split.no\" value at byte 89: found 3, expected less than split.count, which is 3");
  model_.Write(0, GgufBuilder(parts_[0]).Remove("split.no"));
  ExpectRefused(0, "metadata \"split.no\": found no such key");
  model_.Write(0, GgufBuilder(parts_[0]).Remove("split.tensors.count").Number<float>("split.tensors.count", 6));
  ExpectRefused(0, "metadata \"split.tensors.count\" value at byte 147: found FLOAT32 6, expected an integer of 0 or more");
  model_.Write(0, GgufBuilder(parts_[0]).Remove("split.count").Number<uint64_t>("split.count", uint64_t{1} << 62));
  ExpectRefused(0, "metadata \"split.count\" value at byte 149: found 4611686018427387904, expected at most 99999");
}

TEST_F(BadParts, ErrorsInAPartNameThatPart) {
  model_.Write(1, GgufBuilder(parts_[1]).Corrupt<uint32_t>("version", 9));
  ExpectRefused(1, "version at byte 4: found 9, expected 2 or 3");
  model_.Write(1, GgufBuilder(parts_[1]).Remove("split.count"));
  ExpectRefused(1, "metadata \"split.count\": found no such key");
  std::filesystem::remove(model_.Path(1));
  std::filesystem::create_directory(model_.Path(1));
  ExpectRefused(1,
                absl::StrCat("found a directory, expected a regular file: part 2 of 3, which must lie beside ", model_.Path(0)));
}

// Each part may have 2^60 bytes, and so may all together: no sum of sizes overflows.
TEST(GgufSplit, PartsOfMoreThanAnExbibyteAreRefused) {
  const TemporaryFolder folder(TemporaryFolder::InMemory());
  std::error_code failed;
  const auto path = [&](int part) { return folder.Path(absl::StrFormat("model-%05d-of-00002.gguf", part + 1)); };
  std::vector<GgufBuilder> parts = GgufBuilder().Tensor("a", {1}, 0, "1234").Tensor("b", {1}, 0, "1234").Split(2);
  constexpr int64_t kHalf = int64_t{1} << 59;
  for (const int64_t more : {0, 1}) {
    for (int part = 0; part < 2 && !failed; ++part) {
      parts[part].WriteTo(path(part));
      std::filesystem::resize_file(path(part), kHalf + part * more, failed);
    }
    if (failed) break;
    if (more == 0) {
      EXPECT_EQ(Must(GgufFile::Open(path(0)))->size(), 2 * kHalf);
    } else {
      EXPECT_EQ(GgufFile::Open(path(0)).status(),
                absl::InvalidArgumentError(path(1) + ": size with the parts before it: found 1152921504606846977 bytes, expected at "
                                                     "most 1152921504606846976"));
    }
  }
  if (failed) GTEST_SKIP() << folder.path() << ": holds no files of 2^59 bytes: " << failed.message();
}

TEST_F(BadParts, AFileThatCallsItselfTheOnlyPartIsWhole) {
  const SplitModel one(Six().Split(1));
  EXPECT_EQ(Must(GgufFile::Open(one.Path(0)))->parts(), 1);
}

}  // namespace
}  // namespace tessera
