#include "tessera/storage/tsr_writer.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tsr_sample.h"

namespace tessera {
namespace {

class TsrWriterTest : public testing::Test {
 protected:
  std::string Contents(const std::string& path) const { return *ReadFileToString(path, int64_t{1} << 30); }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.Path("model.tsr");
};

absl::StatusOr<TsrSummary> Example(const std::string& path, const TsrSample& sample) {
  const TsrContents& contents = sample.contents;
  const auto BytesOf = [&](const TsrUnit& unit) -> absl::Span<const std::byte> {
    return sample.units[&unit - contents.units.data()];
  };
  ASSIGN_OR_RETURN(TsrWriter writer, TsrWriter::Create(path, contents));
  for (const TsrUnit& unit : contents.units) RETURN_IF_ERROR(writer.Append(BytesOf(unit)));
  ASSIGN_OR_RETURN(const TsrSummary summary, writer.Finish([](int64_t done, int64_t total) {}));
  return summary;
}

TEST_F(TsrWriterTest, HeaderExample) {
  const auto summary = Example(path_, MakeTsrSample({5000, 100}));
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->file_bytes, static_cast<int64_t>(std::filesystem::file_size(path_)));
  EXPECT_EQ((*TsrReader::Open(path_))->uuid(), summary->uuid);
}

TEST_F(TsrWriterTest, BytesFollowFromContentsAndUuid) {
  ASSERT_EQ(WriteTsrSample(path_, MakeTsrSample({5000, 100})), absl::OkStatus());
  const std::string one = Contents(path_);
  ASSERT_EQ(WriteTsrSample(path_, MakeTsrSample({5000, 100})), absl::OkStatus());
  EXPECT_EQ(Contents(path_), one);
  EXPECT_EQ(folder_.Files(), 1);
}

TEST_F(TsrWriterTest, NothingCanBeWrittenToo) {
  ASSERT_EQ(WriteTsrSample(path_, {}), absl::OkStatus());
  const auto reader = *TsrReader::Open(path_);
  EXPECT_EQ(reader->units(), 0);
  EXPECT_EQ(reader->blocks(), 0);
  EXPECT_EQ(reader->manifest_bytes(), 0);
}

TEST_F(TsrWriterTest, TheSmallestFilesThatAreAllowedCanBeWrittenAndRead) {
  for (const std::string layout : {"", "a", "ab"}) {
    for (const int units : {1, 100}) {
      const TsrUnit unit = {.bytes = 1, .entries = {{"w", /*offset=*/0, /*bytes=*/1}}};
      const TsrContents contents = {.layout = layout, .units = std::vector<TsrUnit>(units, unit), .attachments = {{"c", {}}}};
      absl::StatusOr<TsrWriter> writer = TsrWriter::Create(path_, contents);
      ASSERT_TRUE(writer.ok()) << writer.status();
      for (int i = 0; i < units; ++i) ASSERT_EQ(writer->Append({{std::byte{7}}}), absl::OkStatus());
      ASSERT_TRUE(writer->Finish([](int64_t, int64_t) {}).ok());
      const auto reader = TsrReader::Open(path_);
      ASSERT_TRUE(reader.ok()) << reader.status();
      EXPECT_EQ((*reader)->layout(), layout);
      EXPECT_EQ((*reader)->units(), units);
      EXPECT_EQ((*reader)->Entries(0)[0], unit.entries[0]);
    }
  }
}

TEST_F(TsrWriterTest, ProgressEndsAtTheWhole) {
  const TsrSample sample = MakeTsrSample({5000, 100, 2 * kTsrBlockBytes});
  TsrWriter writer = *TsrWriter::Create(path_, sample.contents);
  for (const auto& unit : sample.units) ASSERT_EQ(writer.Append(unit), absl::OkStatus());
  int64_t last_done = 0, last_total = -1, calls = 0;
  ASSERT_TRUE(writer.Finish([&](int64_t done, int64_t total) { last_done = done, last_total = total, ++calls; }).ok());
  EXPECT_EQ(last_done, last_total);
  EXPECT_EQ(calls, 3);
}

TEST_F(TsrWriterTest, AWriterThatIsGivenUpLeavesTheOldFile) {
  ASSERT_EQ(WriteTsrSample(path_, MakeTsrSample({100})), absl::OkStatus());
  const std::string old = Contents(path_);
  {
    TsrWriter writer = *TsrWriter::Create(path_, MakeTsrSample({5000, 100}).contents);
    EXPECT_EQ(folder_.Files(), 2);
  }
  EXPECT_EQ(Contents(path_), old);
  EXPECT_EQ(folder_.Files(), 1);
}

TEST_F(TsrWriterTest, AFileThatAReaderWouldRefuseIsNotWritten) {
  const TsrContents good = MakeTsrSample({5000, 100}).contents;
  const auto refused = [&](const std::function<void(TsrContents&)>& spoil, const std::string& message) {
    TsrContents contents = good;
    spoil(contents);
    const absl::Status status = TsrWriter::Create(path_, contents).status();
    EXPECT_EQ(status, absl::InvalidArgumentError(absl::StrCat(path_, ": ", message)));
  };
  refused([](TsrContents& c) { c.units[1].bytes = 0; }, "unit 1 bytes: found 0, expected 1 to 1073741824");
  refused([](TsrContents& c) { c.units[1].bytes = -1; }, "unit 1 bytes: found -1, expected 1 to 1073741824");
  refused([](TsrContents& c) { c.units[0].entries[1].offset = 10; },
          "manifest unit 0 entry 1 offset: found 10, expected a multiple of 64 from 2500 on");
  refused([](TsrContents& c) { c.units[0].entries[1].bytes = 5000; },
          "manifest unit 0 entry 1 bytes: found 5000, expected 1 to 2440, to the end of the unit");
  refused([](TsrContents& c) { c.attachments[1].name = "config"; },
          "manifest attachment 1 name: found \"config\" a second time, expected each name once");
  refused([](TsrContents& c) { c.attachments[0].whole_bytes = 299; },
          "manifest attachment 0 whole_bytes: found 299, expected 0, or 300 or more");
  EXPECT_EQ(folder_.Files(), 0);
}

// A child process ends at once while it writes: its temporary file stays, and goes with the next writer's beginning. The file of a living
// writer stays.
TEST_F(TsrWriterTest, StaleTemporaryFilesGoAndLivingOnesStay) {
  const pid_t child = fork();
  if (child == 0) {
    const auto writer = TsrWriter::Create(path_, MakeTsrSample({5000, 100}).contents);
    _exit(writer.ok() ? 0 : 1);  // As a kill would: no destructor runs.
  }
  int result;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  ASSERT_EQ(result, 0);
  EXPECT_EQ(folder_.Files(), 1);
  TsrWriter living = *TsrWriter::Create(folder_.Path("other.tsr"), MakeTsrSample({5000}).contents);
  EXPECT_EQ(folder_.Files(), 1) << "the stale one has gone, that of `living` has come";
  ASSERT_EQ(WriteTsrSample(path_, MakeTsrSample({100})), absl::OkStatus());
  EXPECT_EQ(folder_.Files(), 2);
  ASSERT_EQ(living.Append(MakeTsrSample({5000}).units[0]), absl::OkStatus());
  EXPECT_TRUE(living.Finish([](int64_t, int64_t) {}).ok());
  EXPECT_EQ(folder_.Files(), 2);
}

// A limit on file sizes stands for a disk that is too small: it is known before a unit is written.
TEST_F(TsrWriterTest, ADiskThatIsTooSmallIsKnownAtOnce) {
  ASSERT_EQ(WriteTsrSample(path_, MakeTsrSample({100})), absl::OkStatus());
  const std::string old = Contents(path_);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const absl::Status status = TsrWriter::Create(path_, MakeTsrSample({200'000}).contents).status();
    _exit(!status.ok() && absl::StartsWith(status.message(), path_ + ": cannot take ") ? 0 : 1);
  }
  int result;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(Contents(path_), old);
  EXPECT_EQ(folder_.Files(), 1);
}

}  // namespace
}  // namespace tessera
