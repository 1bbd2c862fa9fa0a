// What happens to files that are not what they say: each is refused, with words that say where and why, and nothing is read
// outside them. The named files and their words: tests/fakes/bad_gguf_files.h. Run under the address and undefined-behaviour
// sanitizers for the second half of that promise.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/model/files/gguf.h"
#include "tessera/tests/fakes/bad_gguf_files.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

// The bytes without room behind them: the sanitizers see a read past their end.
struct Exact {
  explicit Exact(const std::string& bytes) : data(std::make_unique<std::byte[]>(bytes.size())), size(bytes.size()) {
    std::memcpy(data.get(), bytes.data(), size);
  }
  absl::StatusOr<std::unique_ptr<GgufFile>> Parse() const { return GgufFile::Parse({data.get(), size}, "m.gguf"); }

  std::unique_ptr<std::byte[]> data;
  size_t size;
};

absl::Status StatusOf(const std::string& bytes) { return Exact(bytes).Parse().status(); }

// Reads everything a file offers, and gives a number that depends on it.
uint64_t ReadAll(const GgufFile& file) {
  uint64_t read = 0;
  for (const auto& [key, value] : file.metadata()) {
    for (std::byte byte : value.bytes) read += std::to_integer<uint64_t>(byte);
    if (value.element_type == GgufType::kString) {
      for (absl::string_view text : value.Strings()) read += std::hash<std::string>()(std::string(text)) & 1;
    }
    read += file.Uint(key).ok() + file.Floats(key).ok() + file.Ints(key).ok() + file.String(key).ok();
  }
  for (const GgufTensor& tensor : file.tensors()) {
    std::vector<std::byte> bytes(tensor.size);
    EXPECT_EQ(file.Read(tensor, 0, absl::MakeSpan(bytes)), absl::OkStatus());
    for (std::byte byte : bytes) read += std::to_integer<uint64_t>(byte);
  }
  return read;
}

TEST(GgufBadInput, TheSmallFileIsRightBeforeDamage) { EXPECT_EQ(StatusOf(SmallGguf().Build()), absl::OkStatus()); }

TEST(GgufBadInput, EveryNamedFileIsSaidWhereAndWhy) {
  for (const BadFile& file : BadGgufFiles())
    EXPECT_EQ(StatusOf(file.bytes), absl::InvalidArgumentError("m.gguf: " + file.message));
}

TEST(GgufBadInput, EveryPrefixNamesTheMissingPart) {
  const std::string whole = SmallGguf().Build();
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_EQ(StatusOf(whole.substr(0, size)), absl::InvalidArgumentError("m.gguf: " + MessageOfPrefix(size)))
        << size << " bytes";
  }
}

TEST(GgufBadInput, EveryFlippedBitIsReadOrRefusedWithTheFilesName) {
  const std::string whole = SmallGguf().Build();
  int refused = 0;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    const Exact exact(bytes);
    const auto file = exact.Parse();
    if (file.ok()) {
      ReadAll(**file);
    } else {
      ++refused;
      ASSERT_EQ(file.status().message().substr(0, 8), "m.gguf: ") << file.status();
    }
  }
  EXPECT_GT(refused, 1000);
}

// People rarely think of the inputs that break a reader: so here are 20,000 seeded changes of one to three bits or bytes.
TEST(GgufBadInput, SpoiledBitsNeverCrash) {
  const std::string whole = SmallGguf().Build();
  std::mt19937 random(20240817);
  int refused = 0, opened = 0;
  uint64_t read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    for (uint32_t i = random() % 3 + 1; i > 0; --i) {
      char& byte = bytes[random() % bytes.size()];
      byte = static_cast<char>(random() % 2 == 0 ? byte ^ (1 << random() % 8) : random());
    }
    const Exact exact(bytes);
    const auto file = exact.Parse();
    ++(file.ok() ? opened : refused);
    if (file.ok()) read += ReadAll(**file);
  }
  EXPECT_GT(refused, 2000);  // Both happen often, or the test spoils nothing, or nothing but the first field.
  EXPECT_GT(opened, 2000);
  EXPECT_GT(read, 0u);
}

TEST(GgufBadInput, MoreEntriesThanAnyModelHasAreRefused) {
  const std::string tail(5 << 20, '\0');
  EXPECT_EQ(StatusOf(SmallGguf().Corrupt<uint64_t>("metadata_count", 65537).Build() + tail),
            absl::InvalidArgumentError("m.gguf: metadata_count at byte 16: found 65537, expected at most 65536"));
  EXPECT_EQ(StatusOf(SmallGguf().Corrupt<uint64_t>("tensor_count", 131073).Build() + tail),
            absl::InvalidArgumentError("m.gguf: tensor_count at byte 8: found 131073, expected at most 131072"));
}

// What is kept in memory is bounded even if the file is large, which a hole makes easy: here of 100 GB.
TEST(GgufBadInput, AHeaderOfGigabytesIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("hole.gguf");
  for (const GgufType type : {GgufType::kUint8, GgufType::kString}) {
    GgufBuilder builder;
    builder.Array("a", type, 10'000'000'000, "").WriteTo(path);
    std::filesystem::resize_file(path, 100'000'000'000);
    const bool strings = type == GgufType::kString;
    EXPECT_EQ(GgufFile::Open(path).status(),
              absl::InvalidArgumentError(absl::StrCat(
                  path, ": metadata \"a\" value", strings ? "[8388601]" : "", " at byte ", strings ? 67108857 : 49, ": found ",
                  strings ? "8" : "10000000000", " bytes, expected metadata and tensor table to end before byte 67108864")));
  }
  GgufBuilder in_memory;  // The same rule, though the bytes are there already.
  in_memory.Number<uint8_t>("first", 1).Array("a", GgufType::kUint8, 64 << 20, std::string(64 << 20, '\0'));
  EXPECT_EQ(StatusOf(in_memory.Build()),
            absl::InvalidArgumentError("m.gguf: metadata \"a\" value at byte 67: found 67108864 bytes, expected metadata and "
                                       "tensor table to end before byte 67108864"));
}

// Sizes below 2^60 can be added and rounded up without a thought. The bytes beyond the small file are not there, and not read.
TEST(GgufBadInput, AFileOfMoreThanAnExbibyteIsRefused) {
  constexpr size_t kExbibyte = size_t{1} << 60;
  const std::string bytes = SmallGguf().Build();
  const auto status_at = [&](size_t size) {
    return GgufFile::Parse({reinterpret_cast<const std::byte*>(bytes.data()), size}, "m.gguf").status();
  };
  EXPECT_EQ(status_at(kExbibyte), absl::OkStatus());
  EXPECT_EQ(status_at(kExbibyte + 1),
            absl::InvalidArgumentError("m.gguf: size: found 1152921504606846977 bytes, expected at most 1152921504606846976"));
}

TEST(GgufBadInput, OnePartOfASplitModelInMemoryIsNoModel) {
  EXPECT_EQ(StatusOf(SmallGguf().Number<uint16_t>("split.no", 1).Number<uint16_t>("split.count", 3).Build()),
            absl::InvalidArgumentError(
                "m.gguf: metadata \"split.count\" value at byte 255: found UINT16 3, expected 1: the other parts "
                "are files, and these are bytes in memory"));
  EXPECT_EQ(StatusOf(SmallGguf().String("split.count", "3").Build()),
            absl::InvalidArgumentError(
                "m.gguf: metadata \"split.count\" value at byte 233: found STRING \"3\", expected an integer of 0 or more"));
  EXPECT_EQ(StatusOf(SmallGguf().Number<uint16_t>("split.count", 1).Build()), absl::OkStatus());
}

TEST(GgufBadInput, OnlyARegularFileIsOpened) {
  const TemporaryFolder folder;
  const std::string fifo = folder.Path("fifo"), empty = folder.Path("empty.gguf"), missing = folder.Path("missing.gguf");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::ofstream(empty, std::ios::trunc).close();
  const auto refused = [](const std::string& path, const std::string& message) {
    EXPECT_EQ(GgufFile::Open(path).status(), absl::InvalidArgumentError(path + ": " + message));
  };
  refused(folder.path(), "found a directory, expected a regular file");
  refused(fifo, "found a FIFO, expected a regular file");
  refused("/dev/zero", "found a device, expected a regular file");
  refused("/dev/null", "found a device, expected a regular file");
  refused(empty, "magic at byte 0: the file is truncated: needs 4 bytes, 0 left");
  EXPECT_EQ(GgufFile::Open(missing).status(), absl::NotFoundError(missing + ": cannot open: No such file or directory"));
}

// Another process shortens the file after it was opened.
TEST(GgufBadInput, AFileThatBecomesShorterIsAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.gguf");
  SmallGguf().WriteTo(path);
  const auto file = GgufFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  std::filesystem::resize_file(path, 500);
  const GgufTensor& a = (*file)->tensors()[0];
  std::vector<std::byte> bytes(a.size);
  EXPECT_EQ(
      (*file)->Read(a, 0, absl::MakeSpan(bytes)),
      absl::DataLossError(path + ": the file ends before byte 500, expected 44 bytes more: it had 612 bytes when it was opened "
                                 "(reading tensor \"a\")"));
  EXPECT_EQ((*file)->Read(a, 0, absl::MakeSpan(bytes).first(200)), absl::OkStatus());
}

}  // namespace
}  // namespace tessera
