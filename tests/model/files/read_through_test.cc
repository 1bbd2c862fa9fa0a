// Parts of a file in order: their bytes are the file's, whether the page cache has them or a device reads them, and errors end it.
#include "tessera/model/files/internal/read_through.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/random_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class ReadThroughTest : public testing::Test {
 protected:
  std::shared_ptr<const RandomAccessFile> FileOf(int64_t size) {
    contents_ = RandomBytes(size, static_cast<uint64_t>(size));
    Must(WriteFileAtomically(folder_.Path("file"), contents_));
    return Must(RandomAccessFile::Open(folder_.Path("file")));
  }
  absl::Span<const std::byte> Bytes() const { return {reinterpret_cast<const std::byte*>(contents_.data()), contents_.size()}; }

  // Adds up the parts as they come, and checks that each comes from its beginning to its end.
  std::vector<std::string> Collect(const std::shared_ptr<const RandomAccessFile>& file, const std::vector<WantedPart>& parts) {
    std::vector<std::string> found(parts.size());
    const auto use = [&](size_t part, int64_t begin, absl::Span<const std::byte> bytes) {
      EXPECT_EQ(begin, static_cast<int64_t>(found[part].size()));
      EXPECT_FALSE(bytes.empty());
      for (size_t later = part + 1; later < found.size(); ++later) EXPECT_EQ(found[later], "");
      found[part].append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return absl::OkStatus();
    };
    Must(file == nullptr ? UseParts(Bytes(), parts, use) : ReadThrough(file, parts, use));
    return found;
  }

  void ExpectTheFiles(const std::shared_ptr<const RandomAccessFile>& file, const std::vector<WantedPart>& parts) {
    const std::vector<std::string> found = Collect(file, parts);
    for (size_t i = 0; i < parts.size(); ++i) {
      EXPECT_TRUE(found[i] == contents_.substr(static_cast<size_t>(parts[i].offset), static_cast<size_t>(parts[i].size)))
          << "part " << i << " of " << parts[i].size << " bytes";
    }
  }

  const TemporaryFolder folder_;
  std::string contents_;
};

// Parts of all sizes, with nothing, little or much between them, to the file's last byte.
std::vector<WantedPart> RandomParts(int64_t size, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<WantedPart> parts;
  int64_t at = static_cast<int64_t>(random.Below(std::min<int64_t>(9000, size)));
  while (at < size) {
    const int64_t most = random.Below(8) == 0 ? int64_t{2} << 20 : 9000;
    const int64_t length = std::min<int64_t>(static_cast<int64_t>(random.Below(most)), size - at);
    parts.push_back({.offset = at, .size = length});
    at += length + (random.Below(2) == 0 ? 0 : static_cast<int64_t>(random.Below(5000)));
  }
  parts.back().size = size - parts.back().offset;
  return parts;
}

TEST_F(ReadThroughTest, HeaderExample) {
  const std::shared_ptr<const RandomAccessFile> file = FileOf(20000);
  int64_t used = 0;
  const auto Use = [&](size_t, int64_t, absl::Span<const std::byte> bytes) {
    used += static_cast<int64_t>(bytes.size());
    return absl::OkStatus();
  };
  const auto run = [&]() -> absl::Status {
    const std::vector<WantedPart> parts = {{.offset = 4096, .size = 9216}, {.offset = 13312, .size = 3072}};
    return ReadThrough(file, parts, [&](size_t part, int64_t begin, absl::Span<const std::byte> bytes) { return Use(part, begin, bytes); });
  };
  Must(run());
  EXPECT_EQ(used, 9216 + 3072);
}

TEST_F(ReadThroughTest, PartsHaveTheFilesBytesFromAnySource) {
  for (const int64_t size : {int64_t{1}, int64_t{4096}, int64_t{100'000}, (int64_t{5} << 20) + 123, int64_t{4} << 20}) {
    const std::shared_ptr<const RandomAccessFile> file = FileOf(size);
    for (uint64_t seed = 1; seed <= 3; ++seed) {
      const std::vector<WantedPart> parts = RandomParts(size, seed);
      DropFromPageCache(file->descriptor());
      ExpectTheFiles(file, parts);   // By a device, where the file system lets its pages go.
      std::string all(static_cast<size_t>(size), '\0');
      EXPECT_EQ(pread(file->descriptor(), all.data(), all.size(), 0), size);   // Now the page cache has it.
      ExpectTheFiles(file, parts);
      ExpectTheFiles(nullptr, parts);
    }
  }
}

TEST_F(ReadThroughTest, NothingAndPartsOfNothingAreNotUsed) {
  const std::shared_ptr<const RandomAccessFile> file = FileOf(5000);
  EXPECT_TRUE(Collect(file, {}).empty());
  ExpectTheFiles(file, {{.offset = 0, .size = 0}, {.offset = 10, .size = 0}, {.offset = 10, .size = 7}, {.offset = 17, .size = 0}});
}

TEST_F(ReadThroughTest, AnErrorOfTheCallerEndsTheReading) {
  const std::shared_ptr<const RandomAccessFile> file = FileOf(int64_t{6} << 20);
  for (const bool cached : {false, true}) {
    if (!cached) DropFromPageCache(file->descriptor());
    int calls = 0;
    const absl::Status status = ReadThrough(file, std::vector<WantedPart>{{.offset = 0, .size = int64_t{6} << 20}},
                                            [&](size_t, int64_t, absl::Span<const std::byte>) {
                                              ++calls;
                                              return calls == 2 ? absl::AbortedError("enough") : absl::OkStatus();
                                            });
    EXPECT_EQ(status, absl::AbortedError("enough"));
    EXPECT_EQ(calls, 2);
    std::string all(contents_.size(), '\0');
    EXPECT_EQ(pread(file->descriptor(), all.data(), all.size(), 0), static_cast<ssize_t>(all.size()));
  }
}

TEST_F(ReadThroughTest, AFileThatBecameShorterIsAnError) {
  const std::shared_ptr<const RandomAccessFile> file = FileOf(int64_t{3} << 20);
  ASSERT_EQ(truncate(folder_.Path("file").c_str(), 100'000), 0);
  const absl::Status status = ReadThrough(file, std::vector<WantedPart>{{.offset = 0, .size = int64_t{3} << 20}},
                                          [](size_t, int64_t, absl::Span<const std::byte>) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

}  // namespace
}  // namespace tessera
