#include "tessera/spec/drafters/history/history_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/spec/drafters/suffix_drafter.h"
#include "tessera/tests/fakes/bad_histories.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

using Tokens = std::vector<TokenId>;

Tokens TokensOf(const HistoryStore& store) {
  Tokens tokens;
  store.Read([&](const SuffixAutomaton& texts, int64_t) { tokens.assign(texts.tokens().begin(), texts.tokens().end()); });
  return tokens;
}

// A file may keep texts that memory has no room for any more.
bool EndsWith(const Tokens& all, const Tokens& end) {
  return all.size() >= end.size() && std::equal(end.rbegin(), end.rend(), all.rbegin());
}

void WriteFile(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

class HistoryStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<HistoryStore> Open(const HistoryStore::Options& options = {}, const VocabularyId& vocabulary = kHistoryVocabulary) {
    auto store = HistoryStore::Open(folder_.path(), "mail", vocabulary, options);
    EXPECT_TRUE(store.ok()) << store.status();
    return std::move(*store);
  }
  // Opens with the file of the store replaced, and returns what is said of it. Nothing goes to the log.
  absl::Status IgnoredByOpen(const std::string& bytes, const HistoryStore::Options& options = {}) {
    WriteFile(folder_.Path("mail-1234" + std::string(60, '0') + ".history"), bytes);
    const auto store = Open(options);
    EXPECT_EQ(store->tokens(), 0);
    return store->ignored();
  }

  const TemporaryFolder folder_;
};

TEST_F(HistoryStoreTest, HeaderExample) {
  const std::string& folder = folder_.path();
  const VocabularyId vocabulary = kHistoryVocabulary;
  const Tokens prompt = {1, 2}, answer = {3, 4, 5};
  const auto run = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(std::shared_ptr<HistoryStore> store, HistoryStore::Open(folder, "mail", vocabulary, {}));
    SuffixDrafter drafter({.history = store});
    store->Add(prompt, answer);
    RETURN_IF_ERROR(store->Save());
    EXPECT_EQ(folder_.Files(), 1);
    RETURN_IF_ERROR(store->Clear());
    EXPECT_EQ(folder_.Files(), 0);
    return absl::OkStatus();
  };
  const absl::Status status = run();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(HistoryStoreTest, HoldsAnswersAndPromptsOnlyIfAsked) {
  const auto answers = Open(), both = Open({.keep_prompts = true});
  for (HistoryStore* const store : {answers.get(), both.get()}) {
    store->Add({{1, 2}}, {{3, 4}});
    store->Add(Tokens{5}, Tokens{6});
    store->Add({}, {});
    store->Add({}, {{1, kHistoryVocabulary.size}});
    store->Add({}, {{kSeparator, 1}});
  }
  EXPECT_EQ(TokensOf(*answers), (Tokens{3, 4, kSeparator, 6, kSeparator}));
  EXPECT_EQ(TokensOf(*both), (Tokens{1, 2, 3, 4, kSeparator, 5, 6, kSeparator}));
}

TEST_F(HistoryStoreTest, IsThereAgainAfterSave) {
  const auto store = Open();
  EXPECT_EQ(store->tokens(), 0);
  store->Add({}, {{3, 4}});
  ASSERT_TRUE(store->Save().ok());
  store->Add({}, Tokens{5});
  EXPECT_EQ(TokensOf(*Open()), (Tokens{3, 4, kSeparator}));
  ASSERT_TRUE(store->Save().ok());
  EXPECT_EQ(TokensOf(*Open()), TokensOf(*store));
}

TEST_F(HistoryStoreTest, TwoAtOnceKeepTheTextsOfBoth) {
  const auto one = Open(), two = Open();
  one->Add({}, {{3, 4}});
  two->Add({}, {{5, 6}});
  ASSERT_TRUE(one->Save().ok() && two->Save().ok() && one->Save().ok());
  EXPECT_EQ(TokensOf(*Open()), (Tokens{3, 4, kSeparator, 5, 6, kSeparator}));
  two->Add({}, Tokens{7});
  ASSERT_TRUE(one->Clear().ok() && two->Save().ok());
  EXPECT_EQ(TokensOf(*Open()), (Tokens{7, kSeparator})) << "what one has cleared, another does not bring back";
  std::string damaged = ReadFile(two->path());
  damaged.back() ^= 1;
  WriteFile(two->path(), damaged);
  two->Add({}, Tokens{8});
  ASSERT_TRUE(two->Save().ok());
  EXPECT_EQ(TokensOf(*Open()), (Tokens{8, kSeparator})) << "nor in a damaged file's place: which texts were cleared, nobody knows";
}

// Each saves after each text, and none waits for the others to be done.
TEST_F(HistoryStoreTest, ManyProcessesLoseNoText) {
  std::vector<std::thread> processes;  // A store each, as of processes: what they share is the file.
  for (TokenId process = 0; process < 4; ++process) {
    processes.emplace_back([&, process] {
      const auto store = Open();
      for (int i = 0; i < 20; ++i) {
        store->Add({}, {{process, i % 10}});
        EXPECT_TRUE(store->Save().ok());
      }
    });
  }
  for (std::thread& process : processes) process.join();
  EXPECT_EQ(Open()->tokens(), 4 * 20 * 3);
}

TEST_F(HistoryStoreTest, MakesItsFolderForItsOwnerAlone) {
  const std::string folder = folder_.Path("a/b");
  const auto store = HistoryStore::Open(folder, "mail", kHistoryVocabulary, {});
  ASSERT_TRUE(store.ok());
  EXPECT_FALSE(std::filesystem::exists(folder));
  ASSERT_TRUE((*store)->Save().ok());
  EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(HistoryStoreTest, BadNamesAndTooLittleMemoryAreRefused) {
  for (const std::string name : {"", "a/b", "..", "a.b", "a b", "ä"}) {
    const absl::Status status = HistoryStore::Open(folder_.path(), name, kHistoryVocabulary, {}).status();
    EXPECT_EQ(status.message(), absl::StrCat("history: found the name \"", name, "\", expected 1 to 64 letters, digits, '-' or '_'"));
  }
  EXPECT_FALSE(HistoryStore::Open(folder_.path(), std::string(65, 'a'), kHistoryVocabulary, {}).ok());
  EXPECT_TRUE(HistoryStore::Open(folder_.path(), std::string(64, 'a'), kHistoryVocabulary, {}).ok());
  EXPECT_EQ(HistoryStore::Open(folder_.path(), "a", kHistoryVocabulary, {.max_bytes = 65535}).status().message(),
            "history: found 65535 bytes of memory, expected at least 65536");
}

// What others wrote stays; what was ours and is damaged is replaced.
TEST_F(HistoryStoreTest, ABadFileIsIgnoredAndTheStoreSaysWhy) {
  for (const BadHistory& bad : BadHistories()) {
    SCOPED_TRACE(bad.name);
    const std::string path = Open()->path();
    const absl::Status expected(bad.code, absl::StrCat(path, ": ", bad.message));
    EXPECT_EQ(IgnoredByOpen(bad.bytes), expected);
    const auto store = Open();
    store->Add({}, {{1, 2}});
    const absl::Status saved = store->Save();
    if (bad.code == absl::StatusCode::kDataLoss) {
      EXPECT_TRUE(saved.ok()) << saved;
      EXPECT_EQ(store->replaced(), expected);
      EXPECT_EQ(Open()->ignored(), absl::OkStatus());
      EXPECT_EQ(TokensOf(*Open()), (Tokens{1, 2, kSeparator}));
      EXPECT_EQ(store->Save(), absl::OkStatus());
      EXPECT_EQ(store->replaced(), absl::OkStatus());
    } else {
      EXPECT_TRUE(absl::IsFailedPrecondition(saved)) << saved;
      EXPECT_EQ(saved.message(), absl::StrCat("history not saved: ", path, ": ", bad.message));
      EXPECT_EQ(ReadFile(path), bad.bytes);
      EXPECT_TRUE(store->Clear().ok());
      EXPECT_FALSE(std::filesystem::exists(path));
      EXPECT_TRUE(store->Save().ok());
    }
  }
}

TEST_F(HistoryStoreTest, AFileOfAnotherKindOrSizeIsIgnoredAndStays) {
  const std::string path = Open()->path();
  std::filesystem::create_directory(path);
  EXPECT_EQ(Open()->tokens(), 0);
  EXPECT_FALSE(Open()->Save().ok());
  EXPECT_TRUE(std::filesystem::is_directory(path));
  std::filesystem::remove(path);
  const absl::Status ignored = IgnoredByOpen(std::string(100000, 'x'), {.max_bytes = 65536});
  EXPECT_TRUE(absl::StrContains(ignored.message(), "100000") && absl::StrContains(ignored.message(), "65536")) << ignored;
  const auto store = Open({.max_bytes = 65536});
  store->Add({}, Tokens{1});
  const absl::Status saved = store->Save();
  EXPECT_TRUE(absl::IsResourceExhausted(saved)) << saved;
  EXPECT_EQ(saved.message(), absl::StrCat("history not saved: ", path, ": file size: found 100000 bytes, expected at most 65536 bytes"));
  EXPECT_TRUE(ReadFile(path) == std::string(100000, 'x'));
}

TEST_F(HistoryStoreTest, EachVocabularyHasItsOwn) {
  const VocabularyId other = {.sum = {{7}}, .size = 10};
  const auto one = Open(), two = Open({}, other);
  EXPECT_NE(one->path(), two->path());
  one->Add({}, Tokens{1});
  two->Add({}, Tokens{2});
  ASSERT_TRUE(one->Save().ok() && two->Save().ok());
  EXPECT_EQ(TokensOf(*Open()), (Tokens{1, kSeparator}));
  EXPECT_EQ(TokensOf(*Open({}, other)), (Tokens{2, kSeparator}));
}

// Its name has another number for the vocabulary, so it would be passed over in silence.
TEST_F(HistoryStoreTest, OneOfTheFirstVersionIsNamedAndStaysUntilAllIsCleared) {
  const std::string older = folder_.Path("mail-0123456789abcdef.history"), bytes = HistoryWith(8, uint32_t{1});
  WriteFile(older, bytes);
  WriteFile(folder_.Path("mail-x-0123456789abcdef.history"), "another store's");
  const auto store = Open();
  EXPECT_EQ(store->ignored(), absl::InvalidArgumentError(older + ": version: found 1, which knows a vocabulary by 64 bits that can be "
                                                                 "forged, expected 2"));
  store->Add({}, Tokens{1});
  Must(store->Save());
  EXPECT_EQ(Open()->ignored(), absl::OkStatus());
  EXPECT_EQ(TokensOf(*Open()), (Tokens{1, kSeparator}));
  EXPECT_EQ(ReadFile(older), bytes);
  Must(store->Clear());
  EXPECT_EQ(folder_.Files(), 1) << "another store's";
}

TEST_F(HistoryStoreTest, AnEmptiedOneLeavesNoTokenBehind) {
  const Tokens secret = {7, 3, 9, 1, 8, 2};
  const std::string pattern(reinterpret_cast<const char*>(secret.data()), secret.size() * sizeof(TokenId));
  const auto store = Open();
  store->Add({}, secret);
  ASSERT_TRUE(store->Save().ok());
  ASSERT_TRUE(absl::StrContains(ReadFile(store->path()), pattern));
  int64_t before = -1, after = -1;
  store->Read([&](const SuffixAutomaton&, int64_t generation) { before = generation; });
  ASSERT_TRUE(store->Clear().ok());
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
    EXPECT_FALSE(absl::StrContains(ReadFile(entry.path()), pattern)) << entry.path();
  }
  store->Read([&](const SuffixAutomaton& texts, int64_t generation) {
    after = generation;
    EXPECT_TRUE(texts.tokens().empty());
    for (const TokenId token : secret) EXPECT_EQ(texts.Next(SuffixAutomaton::kRoot, token), SuffixAutomaton::kNone);
  });
  EXPECT_NE(before, after);
  EXPECT_EQ(store->tokens(), 0);
  ASSERT_TRUE(store->Save().ok());
  EXPECT_FALSE(absl::StrContains(ReadFile(store->path()), pattern));
  EXPECT_EQ(Open()->tokens(), 0);
}

TEST_F(HistoryStoreTest, OldTextsLeaveAFullStore) {
  constexpr int64_t kBytes = 65536, kTokens = kBytes / SuffixAutomaton::kMostBytesPerToken;
  const VocabularyId large = {.sum = {{1}}, .size = 1 << 20};
  const auto store = Open({.max_bytes = kBytes}, large);
  for (TokenId text = 0; text < 1000; ++text) {
    store->Add({}, {{3 * text, 3 * text + 1, 3 * text + 2}});
    ASSERT_LE(store->bytes(), kBytes);
    const Tokens tokens = TokensOf(*store);
    ASSERT_LE(static_cast<int64_t>(tokens.size()), kTokens);
    ASSERT_EQ(tokens.size() % 4, 0u);   // Whole texts.
    for (size_t i = 0; i < tokens.size(); i += 4) ASSERT_EQ(tokens[i], 3 * (text + 1 - static_cast<TokenId>(tokens.size() - i) / 4));
    if (4 * text > kTokens) {
      ASSERT_GE(static_cast<int64_t>(tokens.size()), kTokens / 2 - 4);
    }
  }
  Tokens huge(5 * kTokens);
  for (size_t i = 0; i < huge.size(); ++i) huge[i] = static_cast<TokenId>(i);
  store->Add({}, huge);
  const Tokens tokens = TokensOf(*store);
  EXPECT_EQ(tokens[tokens.size() - 2], huge.back());
  EXPECT_LE(static_cast<int64_t>(tokens.size()), kTokens);
}

TEST_F(HistoryStoreTest, ALargerFileGivesItsNewestTexts) {
  const auto store = Open();
  for (int text = 0; text < 300; ++text) store->Add({}, {{text % 10, text / 10 % 10, text / 100}});
  ASSERT_TRUE(store->Save().ok());
  const Tokens all = TokensOf(*store), some = TokensOf(*Open({.max_bytes = 65536}));
  ASSERT_LT(some.size(), all.size());
  ASSERT_FALSE(some.empty());
  EXPECT_TRUE(std::equal(some.rbegin(), some.rend(), all.rbegin()));
  EXPECT_EQ(some.size() % 4, 0u);
}

// Some draft, some add, one saves, one clears: for the thread sanitizer, and nothing that is read is ever half a text.
TEST_F(HistoryStoreTest, ManyThreadsShareOne) {
  const std::shared_ptr<HistoryStore> store = Open({.max_bytes = 65536});
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < 400; ++i) store->Add({}, {{writer, 5, i % 10, 6}});
      done = true;
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&] {
      SuffixDrafter drafter({.history = store});
      drafter.Begin({{0, 5}});
      while (!done) {
        TokenTree tree(5);
        EXPECT_TRUE(drafter.Propose({.max_nodes = 8}, tree).ok());
        drafter.Commit(tree, {.path = {0}, .emitted = {0, 5}});
        const Tokens tokens = TokensOf(*store);
        EXPECT_EQ(tokens.size() % 5, 0u);
        EXPECT_LE(store->bytes(), 65536);
      }
    });
  }
  threads.emplace_back([&] {
    while (!done) EXPECT_TRUE(store->Save().ok());
  });
  threads.emplace_back([&] {
    while (!done) EXPECT_TRUE(store->Clear().ok());
  });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(store->Save().ok());
  EXPECT_TRUE(EndsWith(TokensOf(*Open()), TokensOf(*store)));
}

// More than fit, so that old texts leave memory while a save of them runs.
TEST_F(HistoryStoreTest, SavesTheNewestTextsThoughOldOnesLeaveMeanwhile) {
  const std::shared_ptr<HistoryStore> store = Open({.max_bytes = 65536});
  std::atomic<bool> done = false;
  std::thread saver([&] {
    while (!done) EXPECT_TRUE(store->Save().ok());
  });
  for (int i = 0; i < 20000; ++i) store->Add({}, {{i % 10, i / 10 % 10, i / 100 % 10}});
  done = true;
  saver.join();
  ASSERT_TRUE(store->Save().ok());
  EXPECT_TRUE(EndsWith(TokensOf(*Open()), TokensOf(*store)));
}

}  // namespace
}  // namespace tessera
