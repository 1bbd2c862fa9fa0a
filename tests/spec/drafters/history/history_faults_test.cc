// What comes between a history and its file: other processes, killed ones, and files that cannot be read now but perhaps tomorrow.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/file.h"
#include "tessera/base/folder_lock.h"
#include "tessera/spec/drafters/history/history_store.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/bad_histories.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/thread_state.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

class HistoryFaults : public ::testing::Test {
 protected:
  // Each is as that of a process of its own: what they share is the file.
  std::unique_ptr<HistoryStore> Open(const std::string& name = "mail") const {
    auto store = HistoryStore::Open(folder_.path(), name, kHistoryVocabulary, {});
    EXPECT_TRUE(store.ok()) << store.status();
    return std::move(*store);
  }
  // What the file has.
  Tokens Kept() const {
    Tokens tokens;
    Open()->Read([&](const SuffixAutomaton& texts, int64_t) { tokens.assign(texts.tokens().begin(), texts.tokens().end()); });
    return tokens;
  }

  const TemporaryFolder folder_{TemporaryFolder::InMemory()};  // Which every user may enter.
};

TEST_F(HistoryFaults, AClearWaitsForASaveOfAnotherProcess) {
  const auto store = Open();
  store->Add({}, {{1, 2}});
  ASSERT_TRUE(store->Save().ok());
  std::thread clearing;
  std::atomic<pid_t> thread = 0;
  std::atomic<bool> cleared = false;
  const auto while_another_saves = [&] {
    clearing = std::thread([&] {
      thread = gettid();
      EXPECT_TRUE(store->Clear().ok());
      cleared = true;
    });
    EXPECT_TRUE(Await([&] { return cleared || IsAsleep(thread); }));
    EXPECT_FALSE(cleared);
    EXPECT_TRUE(std::filesystem::exists(store->path()));
    return absl::OkStatus();
  };
  EXPECT_TRUE(WithFolderLocked(folder_.path(), while_another_saves).ok());
  clearing.join();
  EXPECT_FALSE(std::filesystem::exists(store->path()));
}

TEST_F(HistoryFaults, ASaveUnderWayBringsNothingBackThatAnotherClears) {
  const TemporaryFolder on_disk;  // Where a save takes longer, as it syncs.
  const auto open = [&] { return *HistoryStore::Open(on_disk.path(), "mail", kHistoryVocabulary, {}); };
  const auto saves = open(), clears = open();
  const Tokens secret(2000, 7);
  for (int round = 0; round < 40; ++round) {
    saves->Add({}, secret);
    ASSERT_TRUE(saves->Save().ok());
    saves->Add({}, {{1, 2}});
    std::thread saving([&] { EXPECT_TRUE(saves->Save().ok()); });
    Dawdle(round * 50);
    EXPECT_TRUE(clears->Clear().ok());
    saving.join();
    open()->Read([&](const SuffixAutomaton& texts, int64_t) {
      EXPECT_EQ(std::count(texts.tokens().begin(), texts.tokens().end(), 7), 0) << "round " << round;
    });
  }
}

TEST_F(HistoryFaults, AClearWithoutAFolderIsNoError) {
  const auto store = HistoryStore::Open(folder_.Path("none"), "mail", kHistoryVocabulary, {});
  (*store)->Add({}, {{1, 2}});
  EXPECT_EQ((*store)->Clear(), absl::OkStatus());
  EXPECT_EQ((*store)->tokens(), 0);
  EXPECT_EQ(folder_.Files(), 0);
}

TEST_F(HistoryFaults, AClearThroughALinkRemovesTheTargetToo) {
  const TemporaryFolder elsewhere;
  const auto store = Open();
  std::filesystem::create_symlink(elsewhere.Path("mail"), store->path());
  std::ofstream(elsewhere.Path("mail"), std::ios::binary) << GoodHistory();
  store->Add({}, {{1, 2}});
  ASSERT_TRUE(store->Save().ok());
  ASSERT_TRUE(std::filesystem::is_symlink(store->path()));
  ASSERT_TRUE(store->Clear().ok());
  EXPECT_EQ(folder_.Files(), 0);
  EXPECT_EQ(elsewhere.Files(), 0);
}

// A process that writes the file is killed before it is in place.
void WriteAndDie(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    absl::StatusOr<AtomicFileWriter> writer = AtomicFileWriter::Create(path);
    const std::string bytes = GoodHistory();
    const absl::Status status = writer->Append({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
    if (status.ok()) raise(SIGKILL);
    _exit(1);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  ASSERT_TRUE(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL) << result;
}

TEST_F(HistoryFaults, FilesOfAKilledSaveGoWithTheNextSaveOrClear) {
  for (const bool clears : {false, true}) {
    const auto killed = Open(), next = Open(clears ? "mail" : "other");
    WriteAndDie(killed->path());
    ASSERT_EQ(folder_.Files(), 1);
    EXPECT_TRUE(clears ? next->Clear().ok() : next->Save().ok());
    EXPECT_EQ(folder_.Files(), clears ? 0 : 1);
    EXPECT_EQ(std::filesystem::exists(next->path()), !clears);
    std::filesystem::remove(next->path());
  }
}

// Programs that write other files there do not ask for the folder.
TEST_F(HistoryFaults, FilesOfALivingWriterStay) {
  const auto store = Open();
  absl::StatusOr<AtomicFileWriter> writer = AtomicFileWriter::Create(folder_.Path("other"));
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_TRUE(store->Save().ok());
  EXPECT_TRUE(store->Clear().ok());
  EXPECT_TRUE(std::filesystem::exists(writer->temporary_path()));
  EXPECT_TRUE(writer->Commit().ok());
}

// Another user, if this is root, whom no permission keeps out.
class AsNobody {
 public:
  AsNobody() : was_root_(geteuid() == 0 && seteuid(65534) == 0) {}
  ~AsNobody() { PCHECK(!was_root_ || seteuid(0) == 0); }
  static bool Works() { return AsNobody().was_root_ || geteuid() != 0; }

 private:
  const bool was_root_;
};

TEST_F(HistoryFaults, AnUnreadableFileStaysAndContinuesOnceReadable) {
  if (!AsNobody::Works()) GTEST_SKIP() << "root may read everything, and cannot be another here";
  const auto writer = Open();
  writer->Add({}, {{3, 4}});
  ASSERT_TRUE(writer->Save().ok());
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  ASSERT_EQ(chmod(writer->path().c_str(), 0), 0);
  std::unique_ptr<HistoryStore> kept_out;
  {
    const AsNobody nobody;
    kept_out = Open();
    kept_out->Add({}, {{5, 6}});
    const absl::Status saved = kept_out->Save();
    EXPECT_TRUE(absl::IsPermissionDenied(saved)) << saved;
    EXPECT_TRUE(absl::StartsWith(saved.message(), absl::StrCat("history not saved: ", writer->path(), ": "))) << saved;
  }
  ASSERT_EQ(chmod(writer->path().c_str(), 0600), 0);
  EXPECT_EQ(Kept(), (Tokens{3, 4, kSeparator}));
  EXPECT_TRUE(kept_out->Save().ok());
  EXPECT_EQ(Kept(), (Tokens{3, 4, kSeparator, 5, 6, kSeparator}));
}

TEST_F(HistoryFaults, InADamagedFilesPlaceNothingComesBackThatAnotherCleared) {
  const auto one = Open();
  one->Add({}, {{7, 7}});
  ASSERT_TRUE(one->Save().ok());
  const auto two = Open();
  ASSERT_TRUE(one->Clear().ok());
  std::ofstream(one->path(), std::ios::binary) << GoodHistory().substr(0, 40);
  two->Add({}, {{5, 6}});
  ASSERT_TRUE(two->Save().ok());
  EXPECT_EQ(Kept(), (Tokens{5, 6, kSeparator}));
}

}  // namespace
}  // namespace tessera
