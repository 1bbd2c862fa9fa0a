#include "tessera/base/text_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr int64_t kMost = 1 << 20;

class TextFile : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }
  std::string Fifo() const {
    EXPECT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
    return Path("fifo");
  }

  const TemporaryFolder folder_;
};

std::string NameOf(int descriptor) { return absl::StrCat("/dev/fd/", descriptor); }

absl::Status Example(const std::string& trace, const std::string& input, absl::string_view text) {
  RETURN_IF_ERROR(CheckTextFileWritable(trace));
  ASSIGN_OR_RETURN(const std::string prompt, ReadTextFile(input, 1 << 20));
  return WriteTextFile(trace, absl::StrCat(prompt, text));
}

TEST_F(TextFile, HeaderExample) {
  ASSERT_TRUE(WriteTextFile(Path("in"), "a ").ok());
  EXPECT_EQ(Example(Path("trace.json"), Path("in"), "b"), absl::OkStatus());
  EXPECT_EQ(*ReadTextFile(Path("trace.json"), kMost), "a b");
}

TEST_F(TextFile, AFifoIsReadAndWrittenWhole) {
  const std::string fifo = Fifo(), text(200'000, 'x');
  std::string read_back;
  std::thread reader([&] { read_back = *ReadTextFile(fifo, kMost); });
  EXPECT_EQ(WriteTextFile(fifo, text), absl::OkStatus());
  reader.join();
  EXPECT_EQ(read_back, text);
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
}

TEST_F(TextFile, AnOpenFileIsAppendedToByEachOfItsNames) {
  ASSERT_TRUE(WriteTextFile(Path("log"), "earlier\n").ok());
  ASSERT_EQ(symlink("log", Path("link").c_str()), 0);
  const int descriptor = open(Path("log").c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(lseek(descriptor, 0, SEEK_END), 8);
  const std::string names[] = {NameOf(descriptor), absl::StrCat("/proc/self/fd/", descriptor),
                               absl::StrCat("/proc/", getpid(), "/fd/", descriptor), Path("log"), Path("link")};
  for (const std::string& name : names) {
    EXPECT_EQ(CheckTextFileWritable(name), absl::OkStatus()) << name;
    EXPECT_EQ(WriteTextFile(name, "x"), absl::OkStatus()) << name;
    EXPECT_TRUE(absl::IsInvalidArgument(WriteFileAtomically(name, "x"))) << name << ": it would be replaced";
    EXPECT_TRUE(absl::IsInvalidArgument(CheckWritable(name))) << name;
  }
  ASSERT_EQ(write(descriptor, "y", 1), 1);
  close(descriptor);
  EXPECT_EQ(*ReadTextFile(Path("log"), kMost), "earlier\nxxxxxy");
  EXPECT_EQ(WriteTextFile(Path("link"), "now replaced"), absl::OkStatus());
  EXPECT_EQ(*ReadTextFile(Path("log"), kMost), "now replaced");
}

TEST_F(TextFile, AFileWithoutANameIsWrittenThroughItsDescriptor) {
  ASSERT_TRUE(WriteTextFile(Path("log"), "earlier ").ok());
  const int descriptor = open(Path("log").c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
  ASSERT_EQ(unlink(Path("log").c_str()), 0);
  EXPECT_EQ(WriteTextFile(NameOf(descriptor), "x"), absl::OkStatus());
  ASSERT_EQ(lseek(descriptor, 0, SEEK_SET), 0);
  EXPECT_EQ(*ReadTextFile(NameOf(descriptor), kMost), "earlier x");
  close(descriptor);
  EXPECT_EQ(folder_.Files(), 0);
}

TEST_F(TextFile, ADescriptorMustBeOpenForTheRequestedAccess) {
  ASSERT_TRUE(WriteTextFile(Path("file"), "x").ok());
  const int read_only = open(Path("file").c_str(), O_RDONLY), write_only = open(Path("file").c_str(), O_WRONLY);
  EXPECT_TRUE(absl::IsInvalidArgument(WriteTextFile(NameOf(read_only), "y")));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTextFile(NameOf(write_only), kMost).status()));
  close(read_only);
  close(write_only);
  EXPECT_TRUE(absl::StrContains(WriteTextFile(NameOf(write_only), "y").message(), NameOf(write_only)));
  EXPECT_TRUE(absl::StrContains(ReadTextFile(NameOf(read_only), kMost).status().message(), NameOf(read_only)));
}

TEST_F(TextFile, LinksAreFollowedAndStay) {
  ASSERT_EQ(mkdir(Path("folder").c_str(), 0700), 0);
  ASSERT_EQ(symlink("folder/file", Path("dangling").c_str()), 0);
  ASSERT_EQ(symlink("dangling", Path("second").c_str()), 0);
  for (const char* text : {"made", "replaced"}) {
    EXPECT_EQ(WriteTextFile(Path("second"), text), absl::OkStatus());
    EXPECT_EQ(*ReadTextFile(Path("folder/file"), kMost), text);
  }
  EXPECT_TRUE(std::filesystem::is_symlink(Path("second")) && std::filesystem::is_symlink(Path("dangling")));
}

TEST_F(TextFile, DevicesReadAndWriteByTheirOwnRules) {
  EXPECT_EQ(WriteTextFile("/dev/null", "x"), absl::OkStatus());
  EXPECT_EQ(*ReadTextFile("/dev/null", kMost), "");
  EXPECT_TRUE(absl::StrContains(WriteTextFile("/dev/full", "x").message(), "/dev/full: cannot write: No space"));
  EXPECT_TRUE(absl::IsResourceExhausted(ReadTextFile("/dev/zero", 1000).status()));
}

TEST_F(TextFile, APathWithoutTextIsNamedByKind) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  const std::string socket_path = Path("socket");
  ASSERT_LT(socket_path.size(), sizeof(address.sun_path));
  socket_path.copy(address.sun_path, socket_path.size());
  const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  for (const auto& [path, kind] : {std::pair(folder_.path(), "a directory"), std::pair(socket_path, "a socket")}) {
    for (const absl::Status& status :
         {ReadTextFile(path, kMost).status(), WriteTextFile(path, "x"), CheckTextFileWritable(path)}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), kind)) << status;
    }
  }
  close(listening);
  EXPECT_TRUE(absl::IsNotFound(ReadTextFile(Path("none"), kMost).status()));
  EXPECT_TRUE(absl::IsNotFound(WriteTextFile(Path("none/file"), "x")));
  EXPECT_TRUE(absl::IsNotFound(CheckTextFileWritable(Path("none/file"))));
  EXPECT_FALSE(WriteTextFile("", "x").ok());
  EXPECT_FALSE(ReadTextFile("", kMost).ok());
}

}  // namespace
}  // namespace tessera
