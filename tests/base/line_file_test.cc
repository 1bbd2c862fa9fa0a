#include "tessera/base/line_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

std::string TextOf(const std::string& path) { return Must(ReadFileToString(path, 1 << 24)); }

// The lines, with their numbers.
std::vector<std::string> LinesOf(LineFile& file) {
  std::vector<std::string> lines;
  Must(file.ForEachLine([&](absl::string_view line, int64_t number) {
    lines.push_back(absl::StrCat(number, ": ", line));
    return absl::OkStatus();
  }));
  return lines;
}

TEST(LineFile, HeaderExample) {
  const TemporaryFolder folder;
  std::vector<std::string> taken;
  const auto Take = [&](absl::string_view line, int64_t number) {
    taken.push_back(absl::StrCat(number, ": ", line));
    return absl::OkStatus();
  };
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(LineFile file, LineFile::Open(folder.Path("samples.jsonl")));
    RETURN_IF_ERROR(file.ForEachLine([&](absl::string_view line, int64_t number) { return Take(line, number); }));
    RETURN_IF_ERROR(file.CutRest());
    RETURN_IF_ERROR(file.Append(R"({"id": 1})"));
    return file.Sync();
  };
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(run(), absl::OkStatus());
  EXPECT_EQ(TextOf(folder.Path("samples.jsonl")), "{\"id\": 1}\n{\"id\": 1}\n");
  EXPECT_EQ(taken, std::vector<std::string>{"1: {\"id\": 1}"});
}

TEST(LineFile, TheRestIsCutOffOrEndedAndLinesFollow) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("f");
  for (const bool cuts : {true, false}) {
    Must(WriteFileAtomically(path, "one\n\nthr"));
    LineFile file = Must(LineFile::Open(path));
    EXPECT_EQ(LinesOf(file), (std::vector<std::string>{"1: one", "2: "}));
    EXPECT_EQ(file.rest(), "thr");
    EXPECT_EQ(TextOf(path), "one\n\nthr") << "reading changes nothing";
    Must(cuts ? file.CutRest() : file.EndRest());
    EXPECT_EQ(file.rest(), "");
    Must(file.Append("four"));
    EXPECT_EQ(TextOf(path), cuts ? "one\n\nfour\n" : "one\n\nthr\nfour\n");
  }
}

TEST(LineFile, LinesLongerThanARead) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("f"), text((3 << 20) + 5, 'x');
  Must(WriteFileAtomically(path, absl::StrCat(text, "\nshort\n", text)));
  LineFile file = Must(LineFile::Open(path));
  EXPECT_EQ(LinesOf(file), (std::vector<std::string>{"1: " + text, "2: short"}));
  EXPECT_EQ(file.rest(), text);
}

TEST(LineFile, OneAtATime) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("f");
  {
    const LineFile first = Must(LineFile::Open(path));
    const absl::Status second = LineFile::Open(path).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(second));
    EXPECT_EQ(second.message(), path + ": found another run that adds to it, expected none");
  }
  EXPECT_EQ(LineFile::Open(path).status(), absl::OkStatus());
}

TEST(LineFile, AnUnusedNewFileIsRemoved) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("f"), link = folder.Path("link");
  { const LineFile unused = Must(LineFile::Open(path)); }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  {
    LineFile first = Must(LineFile::Open(path));
    const LineFile moved = std::move(first);
    EXPECT_FALSE(LineFile::Open(path).ok());
    EXPECT_EQ(access(path.c_str(), F_OK), 0) << "a run that finds the file in use leaves it";
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
  { Must(Must(LineFile::Open(path)).Sync()); }
  EXPECT_EQ(TextOf(path), "") << "a run that has ended well leaves a file without lines";
  { const LineFile old = Must(LineFile::Open(path)); }
  EXPECT_EQ(TextOf(path), "") << "the file was there before";
  ASSERT_EQ(symlink("missing", link.c_str()), 0);
  { const LineFile unused = Must(LineFile::Open(link)); }
  EXPECT_EQ(access(link.c_str(), F_OK), 0) << "a link stays, with the file that was made for the link";
}

TEST(LineFile, OnlyRegularFiles) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.Path("fifo").c_str(), 0600), 0);
  for (const std::string& path : {folder.Path("fifo"), std::string("/dev/null")}) {
    EXPECT_EQ(LineFile::Open(path).status().message(), path + ": found no regular file, expected one");
  }
  EXPECT_TRUE(absl::StartsWith(LineFile::Open(folder.path()).status().message(), folder.path() + ": cannot open"));
}

TEST(LineFile, ALineThatFindsNoRoomLeavesNoPart) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("f");
  const pid_t child = fork();   // The limit holds for a process.
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = 10, .rlim_max = 10};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    LineFile file = Must(LineFile::Open(path));
    Must(file.ForEachLine([](absl::string_view, int64_t) { return absl::OkStatus(); }));
    Must(file.Append("whole"));
    const absl::Status second = file.Append("too long");
    _exit(absl::StrContains(second.message(), path + ": cannot write") ? 7 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(TextOf(path), "whole\n");
}

}  // namespace
}  // namespace tessera
