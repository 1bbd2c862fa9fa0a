#include "tessera/spec/drafters/history/shared_history.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "tessera/base/random.h"
#include "tessera/spec/drafters/followers_tree.h"
#include "tessera/spec/drafters/history/history_format.h"

namespace tessera {
namespace {

using Cursor = SuffixAutomaton::Cursor;
using Texts = std::vector<std::vector<TokenId>>;

std::shared_ptr<SharedHistory::Room> RoomFor(int64_t tokens) { return std::make_shared<SharedHistory::Room>(tokens); }

TEST(SharedHistory, HeaderExample) {
  TokenTree tree(5);
  const auto room = std::make_shared<SharedHistory::Room>(/*tokens=*/1 << 14);
  const auto history = std::make_shared<SharedHistory>(room);
  const int a = history->BeginText(), b = history->BeginText();
  for (const TokenId token : {5, 6, 7}) history->Add(a, token);
  history->Add(b, 5);
  DraftFollowers({&history->texts(), history->PlaceOf(b)}, {}, {.max_nodes = 7}, tree);
  const int six = tree.Child(TokenTree::kRoot, 6);
  ASSERT_NE(six, TokenTree::kNone);
  EXPECT_NE(tree.Child(six, 7), TokenTree::kNone);
}

// What followed this string, in any of the texts, by the texts alone.
std::map<TokenId, int> FollowersOf(const Texts& texts, absl::Span<const TokenId> string) {
  std::map<TokenId, int> followers;
  for (const std::vector<TokenId>& text : texts) {
    for (size_t end = string.size(); end < text.size(); ++end) {
      if (absl::MakeConstSpan(text).subspan(end - string.size(), string.size()) == string) ++followers[text[end]];
    }
  }
  return followers;
}

void ExpectKnows(const SharedHistory& history, const Texts& texts, int text) {
  const absl::Span<const TokenId> own = texts[static_cast<size_t>(text)];
  size_t length = own.size();
  while (length > 0 && FollowersOf(texts, own.last(length)).empty()) --length;
  const Cursor place = history.PlaceOf(text);
  ASSERT_EQ(place.length, static_cast<int>(length));
  if (length == 0) return;
  std::map<TokenId, int> followers;
  history.texts().VisitNext(place.state, 1000, [&](TokenId token, int next) { followers[token] = history.texts()[next].count; });
  EXPECT_EQ(followers, FollowersOf(texts, own.last(length)));
}

TEST(SharedHistory, TheLongestEndThatWentOnBeforeIsFoundWithAllThatFollowed) {
  SeededRandom random(1);
  for (int round = 0; round < 200; ++round) {
    SharedHistory history(RoomFor(1000));
    Texts texts;   // With the mark before each.
    const int64_t vocabulary = 1 + random.Below(5);
    for (int64_t i = 0, count = random.Below(60); i < count; ++i) {
      if (texts.empty() || (texts.size() < 5 && random.Below(12) == 0)) {
        ASSERT_EQ(history.BeginText(), static_cast<int>(texts.size()));
        texts.push_back({kSeparator});
      }
      const size_t text = static_cast<size_t>(random.Below(static_cast<int64_t>(texts.size())));
      if (texts[text].size() > 24) continue;   // Counts are kept for so many of the longest ends.
      const TokenId token = static_cast<TokenId>(random.Below(vocabulary));
      history.Add(static_cast<int>(text), token);
      texts[text].push_back(token);
      for (int each = 0; each < static_cast<int>(texts.size()); ++each) ExpectKnows(history, texts, each);
      if (HasFailure()) return;
    }
  }
}

// Where they begin with the same tokens, they agree on the whole text, however often these stood elsewhere.
TEST(SharedHistory, TextsWithASharedPrefixAgreeFromTheirFirstToken) {
  SharedHistory history(RoomFor(1000));
  const int a = history.BeginText(), b = history.BeginText();
  EXPECT_EQ(history.PlaceOf(b).length, 0);
  history.Add(a, 4);
  EXPECT_EQ(history.PlaceOf(b).length, 1) << "the beginning itself went on with 4";
  EXPECT_NE(history.texts().Next(history.PlaceOf(b).state, 4), SuffixAutomaton::kNone);
  history.Add(b, 4);
  EXPECT_EQ(history.PlaceOf(b).length, 0) << "nobody went on from there";
  history.Add(a, 5);
  EXPECT_EQ(history.PlaceOf(b).length, 2);
}

// The last tokens of the text lead there, from the root.
bool LeadsThere(const SharedHistory& history, Cursor place, absl::Span<const TokenId> text) {
  if (place.length > static_cast<int>(text.size())) return false;
  int state = SuffixAutomaton::kRoot;
  for (const TokenId token : text.last(static_cast<size_t>(place.length))) {
    state = history.texts().Next(state, token);
    if (state == SuffixAutomaton::kNone) return false;
  }
  return state == place.state;
}

TEST(SharedHistory, MemoryIsBoundedByTheRoomWhateverSetsWrite) {
  constexpr int64_t kRoom = 400;
  SeededRandom random(2);
  for (int round = 0; round < 30; ++round) {
    const auto room = RoomFor(kRoom);
    struct Set { std::unique_ptr<SharedHistory> history; Texts texts; std::vector<int> numbers; };
    std::vector<Set> sets(3);
    const int64_t vocabulary = 1 + random.Below(30);
    for (int step = 0; step < 3000; ++step) {
      Set& set = sets[static_cast<size_t>(random.Below(3))];
      if (set.history == nullptr || random.Below(400) == 0) set = {.history = std::make_unique<SharedHistory>(room)};
      if (set.texts.empty() || random.Below(40) == 0) {
        if (random.Below(2) == 0) set.history->LearningOf({"lookup", "siblings"}, DraftLearning(2));
        set.numbers.push_back(set.history->BeginText());
        set.texts.push_back({kSeparator});
      }
      const size_t text = static_cast<size_t>(random.Below(static_cast<int64_t>(set.texts.size())));
      set.texts[text].push_back(static_cast<TokenId>(random.Below(vocabulary)));
      set.history->Add(set.numbers[text], set.texts[text].back());
      int64_t held = 0;
      for (const Set& each : sets) {
        if (each.history == nullptr) continue;
        held += each.history->tokens();
        ASSERT_LE(each.history->bytes(), 1000 + each.history->tokens() * SharedHistory::kMostBytesPerToken);
      }
      ASSERT_EQ(held + room->left(), kRoom);
      ASSERT_GE(room->left(), 0);
      for (size_t i = 0; i < set.texts.size(); ++i) {
        ASSERT_TRUE(LeadsThere(*set.history, set.history->PlaceOf(set.numbers[i]), set.texts[i])) << round << " " << step;
      }
    }
    sets.clear();
    EXPECT_EQ(room->left(), kRoom) << "a set that goes gives its room back";
  }
}

TEST(SharedHistory, WithoutRoomTheOlderHalfOfEachTextIsForgotten) {
  SharedHistory history(RoomFor(204));   // Two texts of 100 tokens each, behind their marks.
  const int a = history.BeginText(), b = history.BeginText();
  for (int i = 0; i < 100; ++i) {
    history.Add(a, i);
    history.Add(b, 1000 + i);
  }
  EXPECT_EQ(history.tokens(), 204);
  history.Add(a, 100);
  EXPECT_LT(history.tokens(), 110);
  EXPECT_EQ(history.texts().Move({}, 10).length, 0) << "an early token";
  EXPECT_EQ(history.texts().Move({}, 90).length, 1) << "a late one";
  EXPECT_EQ(history.texts().Move({}, 1090).length, 1);
  for (const TokenId token : {98, 99}) history.Add(b, token);
  const Cursor place = history.PlaceOf(b);
  EXPECT_EQ(place.length, 2);
  EXPECT_NE(history.texts().Next(place.state, 100), SuffixAutomaton::kNone) << "it goes on behind what was kept";
}

TEST(SharedHistory, ATextWithoutRoomIsLeftOutAndOthersContinue) {
  const auto room = RoomFor(20);
  SharedHistory other(room);
  SharedHistory small(room);
  const int first = small.BeginText();
  small.Add(first, 1);
  const int large = other.BeginText();
  for (int i = 0; i < 30; ++i) other.Add(large, i);
  EXPECT_EQ(room->left(), 0);
  EXPECT_EQ(other.tokens(), 17) << "too few to forget any";
  EXPECT_EQ(other.PlaceOf(large).length, 0);
  EXPECT_EQ(small.BeginText(), SharedHistory::kNoText);
  small.Add(SharedHistory::kNoText, 1);
  EXPECT_EQ(small.PlaceOf(SharedHistory::kNoText).length, 0);
  EXPECT_EQ(small.tokens(), 3);
}

TEST(SharedHistory, ASetWithoutTextsTakesNoRoom) {
  const auto room = RoomFor(10);
  std::vector<std::unique_ptr<SharedHistory>> sets;
  for (int i = 0; i < 100; ++i) sets.push_back(std::make_unique<SharedHistory>(room));
  EXPECT_EQ(room->left(), 10);
  EXPECT_LT(sets[0]->bytes(), 1000);
}

TEST(SharedHistory, TheUsualRoomIsThatOfSixteenTextsUpToABound) {
  EXPECT_EQ(SharedHistory::UsualRoom(64), 1024);
  EXPECT_EQ(SharedHistory::UsualRoom(1024), 1 << 14);
  EXPECT_EQ(SharedHistory::UsualRoom(1 << 20), 1 << 14);
}

}  // namespace
}  // namespace tessera
