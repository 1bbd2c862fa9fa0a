// What a writer of files leaves that is killed: the next writer in that folder removes it, and nothing else.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/base/text_file.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

class KilledWriters : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  // A process that is killed with the bytes written and nothing in place.
  void WriteAndDie(const std::string& path) const {
    const pid_t child = fork();
    if (child == 0) {
      absl::StatusOr<AtomicFileWriter> writer = AtomicFileWriter::Create(path);
      const std::string bytes = "half";
      if (writer.ok() && writer->Append({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}).ok()) raise(SIGKILL);
      _exit(1);
    }
    int result = 0;
    ASSERT_EQ(waitpid(child, &result, 0), child);
    ASSERT_TRUE(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL) << result;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  const TemporaryFolder folder_;
};

TEST_F(KilledWriters, LeaveAFileThatNamesItsTargetAndGoesWithTheNextWriter) {
  const auto whole = [&](const std::string& path) { return WriteFileAtomically(path, "whole"); };
  const auto text = [&](const std::string& path) { return WriteTextFile(path, "whole"); };
  const auto unfinished = [&](const std::string& path) { return AtomicFileWriter::Create(path).status(); };
  const auto swept = [&](const std::string& path) {
    RemoveStaleTemporaryFiles(path);
    return absl::OkStatus();
  };
  const std::vector<std::function<absl::Status(const std::string&)>> writers = {whole, text, unfinished, swept};
  for (size_t i = 0; i < writers.size(); ++i) {
    for (const char* next : {"story", "other"}) {
      WriteAndDie(Path("story"));
      const std::vector<std::string> left = Names();
      ASSERT_EQ(left.size(), 1u) << i;
      EXPECT_TRUE(absl::StartsWith(left[0], ".tessera-") && absl::EndsWith(left[0], "-story.tmp")) << left[0];
      EXPECT_EQ(writers[i](Path(next)), absl::OkStatus());
      EXPECT_EQ(Names(), i < 2 ? std::vector<std::string>({next}) : std::vector<std::string>()) << i;
      std::filesystem::remove(Path(next));
    }
  }
}

TEST_F(KilledWriters, OfTheFileBehindALinkAreFoundBesideThatFile) {
  const TemporaryFolder elsewhere;
  ASSERT_EQ(symlink(elsewhere.Path("story").c_str(), Path("link").c_str()), 0);
  WriteAndDie(Path("link"));
  EXPECT_EQ(elsewhere.Files(), 1);
  EXPECT_EQ(WriteFileAtomically(Path("link"), "whole"), absl::OkStatus());
  EXPECT_EQ(elsewhere.Files(), 1);
  EXPECT_EQ(*ReadFileToString(elsewhere.Path("story"), 100), "whole");
}

TEST_F(KilledWriters, DoNotCostALivingWriterItsFile) {
  AtomicFileWriter first = *AtomicFileWriter::Create(Path("story")), second = *AtomicFileWriter::Create(Path("story"));
  WriteAndDie(Path("story"));
  EXPECT_EQ(WriteFileAtomically(Path("story"), "third"), absl::OkStatus());
  EXPECT_EQ(Names().size(), 3u) << "the file and two under way";
  EXPECT_TRUE(std::filesystem::exists(first.temporary_path()));
  EXPECT_EQ(first.Commit(), absl::OkStatus());
  EXPECT_EQ(second.Commit(), absl::OkStatus());
  EXPECT_EQ(Names(), std::vector<std::string>({"story"}));
}

// Names that a person may choose, a folder and a link under a name that the engine gave, and what another program left.
TEST_F(KilledWriters, DoNotCostAnyoneElseAFile) {
  WriteAndDie(Path("story"));
  const std::string given = Names()[0];
  std::filesystem::rename(Path(given), Path("kept"));
  ASSERT_EQ(mkdir(Path(given).c_str(), 0777), 0);
  for (const char* name : {".tessera-notes.tmp", ".tessera-12-3.tmp", ".tessera-1234-0-9f3c0a12-story.tmp", ".story.tmp", "story.tmp"}) {
    std::ofstream(Path(name)) << "mine";
  }
  const std::vector<std::string> before = Names();
  EXPECT_EQ(WriteFileAtomically(Path("kept"), "new"), absl::OkStatus());
  RemoveStaleTemporaryFiles(Path("story"));
  EXPECT_EQ(Names(), before);
  std::filesystem::remove(Path(given));
  ASSERT_EQ(symlink("kept", Path(given).c_str()), 0);
  RemoveStaleTemporaryFiles(Path("story"));
  EXPECT_EQ(Names(), before) << "a link is not what a writer makes";
}

}  // namespace
}  // namespace tessera
