#include "tessera/spec/drafters/history/suffix_automaton.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tessera/base/random.h"

namespace tessera {
namespace {

using Cursor = SuffixAutomaton::Cursor;

TEST(SuffixAutomaton, HeaderExample) {
  SuffixAutomaton automaton({.max_tokens = 8192});
  for (const TokenId token : {1, 2, 3, 1, 2}) automaton.Extend(token);
  EXPECT_EQ(automaton.Match().length, 2);
  EXPECT_EQ(automaton[automaton.Match().state].latest, 2);
  EXPECT_EQ(automaton.tokens()[2], 3);
  SuffixAutomaton::Cursor cursor;
  for (const TokenId token : {7, 2, 3}) cursor = automaton.Move(cursor, token);
  EXPECT_EQ(cursor.length, 2);

  SuffixAutomaton texts({});
  int a = SuffixAutomaton::kRoot, b = SuffixAutomaton::kRoot;
  for (const TokenId token : {1, 2, 3}) a = texts.Extend(a, token);
  b = texts.Extend(texts.Extend(b, 7), 2);
  EXPECT_FALSE(texts.IsFollowed(b));
  EXPECT_NE(texts.Next(texts.Shorter({b, 2}).state, 3), SuffixAutomaton::kNone);
}

template <typename Field>
std::vector<int> OfStates(const SuffixAutomaton& automaton, Field field) {
  std::vector<int> values;
  for (int state = 0; state < automaton.states(); ++state) values.push_back(automaton[state].*field);
  return values;
}

// The automaton of a text.
struct Of : SuffixAutomaton {
  explicit Of(absl::Span<const TokenId> text, int most_links = 32) : SuffixAutomaton({.most_links = most_links}) {
    for (const TokenId token : text) EXPECT_TRUE(Extend(token));
  }
};

TEST(SuffixAutomaton, ARepeatedTokenSplitsOneState) {
  const Of automaton({1, 2, 2});
  EXPECT_EQ(OfStates(automaton, &SuffixAutomaton::State::length), (std::vector<int>{0, 1, 2, 3, 1}));
  EXPECT_EQ(OfStates(automaton, &SuffixAutomaton::State::link), (std::vector<int>{-1, 0, 4, 4, 0}));
  EXPECT_EQ(OfStates(automaton, &SuffixAutomaton::State::earliest), (std::vector<int>{0, 1, 2, 3, 2}));
}

TEST(SuffixAutomaton, ATextThatSplitsNoStateHasOneATokenAndTheRoot) {
  const Of automaton({1, 2, 3, 1, 2, 4, 1, 2, 3});
  EXPECT_EQ(automaton.states(), 10);
  EXPECT_EQ(automaton.edges(), 13);
  const Cursor match = automaton.Match();
  EXPECT_EQ(match.state, 3);
  EXPECT_EQ(match.length, 3);
  EXPECT_EQ(automaton.Move(match, 1).length, 4);
  EXPECT_EQ(automaton[automaton.Move(match, 1).state].earliest, 4);
  EXPECT_EQ(automaton.Move(match, 4).length, 1);
  EXPECT_EQ(automaton.Move(match, 5).length, 0);
}

// All places where a string ends in a text.
std::vector<int> EndsOf(absl::Span<const TokenId> text, absl::Span<const TokenId> string) {
  std::vector<int> ends;
  for (size_t end = string.size(); end <= text.size(); ++end) {
    if (text.subspan(end - string.size(), string.size()) == string) ends.push_back(static_cast<int>(end));
  }
  return ends;
}

std::vector<TokenId> RandomText(SeededRandom& random) {
  const int64_t vocabulary = 1 + random.Below(4), period = 1 + random.Below(12);
  std::vector<TokenId> text(random.Below(40));
  for (size_t i = 0; i < text.size(); ++i) {
    const bool repeats = static_cast<int64_t>(i) >= period && random.Below(8) > 0 && vocabulary > 2;
    text[i] = repeats ? text[i - period] : static_cast<TokenId>(random.Below(vocabulary));
  }
  return text;
}

// What a state says of a string that is known to be one of its own.
void ExpectKnows(const SuffixAutomaton& automaton, int state, absl::Span<const TokenId> string) {
  const absl::Span<const TokenId> text = automaton.tokens();
  std::vector<int> ends = EndsOf(text, string);
  ASSERT_FALSE(ends.empty());
  EXPECT_EQ(automaton[state].earliest, ends.front());
  EXPECT_EQ(automaton[state].count, static_cast<int>(ends.size()));
  std::map<TokenId, int> followers;
  automaton.VisitNext(state, 1000, [&](TokenId token, int next) { followers[token] = automaton[next].count; });
  if (ends.back() == static_cast<int>(text.size())) ends.pop_back();
  EXPECT_EQ(automaton[state].latest, ends.empty() ? 0 : ends.back());
  std::map<TokenId, int> expected;
  for (const int end : ends) ++expected[text[end]];
  EXPECT_EQ(followers, expected);
}

TEST(SuffixAutomaton, EveryStringOfEveryTextHasItsPlacesCountsAndFollowers) {
  SeededRandom random(1);
  for (int round = 0; round < 150; ++round) {
    const std::vector<TokenId> text = RandomText(random);
    const Of automaton(text, /*most_links=*/1000);
    for (size_t begin = 0; begin < text.size(); ++begin) {
      int state = SuffixAutomaton::kRoot;
      for (size_t end = begin; end < text.size(); ++end) {
        state = automaton.Next(state, text[end]);
        ASSERT_NE(state, SuffixAutomaton::kNone);
        ExpectKnows(automaton, state, absl::MakeConstSpan(text).subspan(begin, end + 1 - begin));
        if (HasFailure()) return;
      }
    }
  }
}

TEST(SuffixAutomaton, TheMatchIsTheLongestEndThatStoodBefore) {
  SeededRandom random(2);
  for (int round = 0; round < 300; ++round) {
    const std::vector<TokenId> text = RandomText(random);
    SuffixAutomaton automaton({.most_links = 1000});
    for (size_t size = 1; size <= text.size(); ++size) {
      automaton.Extend(text[size - 1]);
      const absl::Span<const TokenId> so_far = absl::MakeConstSpan(text).first(size);
      size_t length = size - 1;
      while (length > 0 && EndsOf(so_far, so_far.last(length)).size() < 2) --length;
      ASSERT_EQ(automaton.Match().length, static_cast<int>(length));
      if (length > 0) ExpectKnows(automaton, automaton.Match().state, so_far.last(length));
    }
  }
}

// The text grows between the steps, so states of the cursor are split under it.
TEST(SuffixAutomaton, ACursorFollowsAnotherTextWhileThisOneGrows) {
  SeededRandom random(3);
  for (int round = 0; round < 300; ++round) {
    const std::vector<TokenId> text = RandomText(random), other = RandomText(random);
    SuffixAutomaton automaton({.most_links = 1000});
    Cursor cursor;
    for (size_t size = 1; size <= std::min(text.size(), other.size()); ++size) {
      automaton.Extend(text[size - 1]);
      const int bound = cursor.length + 1;  // What was too long for the text before stays so: a cursor does not look back.
      cursor = automaton.Move(cursor, other[size - 1]);
      const absl::Span<const TokenId> so_far = absl::MakeConstSpan(other).first(size);
      int length = std::min<int>(bound, static_cast<int>(size));
      while (length > 0 && EndsOf(automaton.tokens(), so_far.last(length)).empty()) --length;
      ASSERT_EQ(cursor.length, length);
      if (length > 0) ExpectKnows(automaton, cursor.state, so_far.last(length));
    }
  }
}

// Texts that grow side by side.
struct Texts {
  std::vector<std::vector<TokenId>> texts;
  std::vector<std::pair<size_t, size_t>> order;   // Text and place of each token, as they came.

  // Where the string ends: numbers of tokens up to its last, in their order; and with which token its text went on.
  std::map<int, TokenId> EndsOf(absl::Span<const TokenId> string) const {
    std::map<int, TokenId> ends;
    for (size_t i = 0; i < order.size(); ++i) {
      const auto [text, place] = order[i];
      const absl::Span<const TokenId> so_far = absl::MakeConstSpan(texts[text]).first(place + 1);
      if (so_far.size() < string.size() || so_far.last(string.size()) != string) continue;
      ends[static_cast<int>(i) + 1] = place + 1 < texts[text].size() ? texts[text][place + 1] : -1;
    }
    return ends;
  }
  // The number of tokens before the one that came after this end of a text.
  int NextPlace(int end) const {
    const auto [text, place] = order[static_cast<size_t>(end) - 1];
    return static_cast<int>(std::find(order.begin(), order.end(), std::pair{text, place + 1}) - order.begin());
  }
};

// What a state says of a string of the texts.
void ExpectKnowsOfAll(const SuffixAutomaton& automaton, int state, const Texts& all, absl::Span<const TokenId> string) {
  const std::map<int, TokenId> places = all.EndsOf(string);
  EXPECT_EQ(automaton[state].earliest, places.begin()->first);
  EXPECT_EQ(automaton[state].count, static_cast<int>(places.size()));
  std::map<TokenId, int> expected, followers;
  int latest = 0;
  for (const auto& [place, next] : places) {
    if (next < 0) continue;
    ++expected[next];
    latest = std::max(latest, all.NextPlace(place));
  }
  automaton.VisitNext(state, 1000, [&](TokenId token, int next) { followers[token] = automaton[next].count; });
  EXPECT_EQ(followers, expected);
  EXPECT_EQ(automaton.IsFollowed(state), !expected.empty());
  EXPECT_EQ(automaton[state].latest, latest);
}

TEST(SuffixAutomaton, OfSeveralTextsPlacesCountsAndFollowersOfAllStringsAreKnown) {
  SeededRandom random(6);
  for (int round = 0; round < 150; ++round) {
    Texts all = {.texts = std::vector<std::vector<TokenId>>(1 + random.Below(4))};
    std::vector<int> ends(all.texts.size(), SuffixAutomaton::kRoot);
    SuffixAutomaton automaton({.most_links = 1000});
    const int64_t vocabulary = 1 + random.Below(4);
    for (int64_t i = 0, count = random.Below(50); i < count; ++i) {
      const size_t text = random.Below(static_cast<int64_t>(all.texts.size()));
      const TokenId token = static_cast<TokenId>(random.Below(vocabulary));
      all.order.push_back({text, all.texts[text].size()});
      all.texts[text].push_back(token);
      ends[text] = automaton.Extend(ends[text], token);
      ASSERT_NE(ends[text], SuffixAutomaton::kNone);
    }
    for (size_t number = 0; number < all.texts.size(); ++number) {
      const absl::Span<const TokenId> text = all.texts[number];
      EXPECT_EQ(automaton[ends[number]].length, static_cast<int>(text.size())) << "an end stays that of its whole text";
      for (size_t begin = 0; begin < text.size(); ++begin) {
        int state = SuffixAutomaton::kRoot;
        for (size_t end = begin; end < text.size(); ++end) {
          state = automaton.Next(state, text[end]);
          ASSERT_NE(state, SuffixAutomaton::kNone);
          ExpectKnowsOfAll(automaton, state, all, text.subspan(begin, end + 1 - begin));
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(SuffixAutomaton, WithSeveralTextsAFullAutomatonStaysUnchanged) {
  SuffixAutomaton automaton({.max_tokens = 2});
  const int a = automaton.Extend(SuffixAutomaton::kRoot, 1), b = automaton.Extend(SuffixAutomaton::kRoot, 1);
  EXPECT_EQ(a, b) << "equal texts are one state";
  EXPECT_EQ(automaton[a].count, 2);
  EXPECT_EQ(automaton.Extend(a, 2), SuffixAutomaton::kNone);
  EXPECT_FALSE(automaton.IsFollowed(a));
}

TEST(SuffixAutomaton, WhereLinksAreNotFollowedFarPlacesAreOldButTrue) {
  const std::vector<TokenId> text(300, 7);
  const Of automaton(text, /*most_links=*/4);
  EXPECT_EQ(automaton.Match().length, 299);
  EXPECT_EQ(automaton[automaton.Match().state].latest, 299);
  const int one = automaton.Next(SuffixAutomaton::kRoot, 7);
  EXPECT_GT(automaton[one].latest, 0);
  EXPECT_LT(automaton[one].latest, 299);
  EXPECT_LT(automaton[one].count, 300);
}

TEST(SuffixAutomaton, AFullAutomatonStaysUnchanged) {
  SuffixAutomaton automaton({.max_tokens = 3});
  for (const TokenId token : {1, 2, 1}) EXPECT_TRUE(automaton.Extend(token));
  EXPECT_TRUE(automaton.full());
  EXPECT_FALSE(automaton.Extend(2));
  EXPECT_EQ(automaton.tokens(), (std::vector<TokenId>{1, 2, 1}));
  EXPECT_EQ(automaton.Match().length, 1);
  automaton.Clear();
  EXPECT_FALSE(automaton.full());
  EXPECT_EQ(automaton.Match().length, 0);
  EXPECT_TRUE(automaton.Extend(2));
  EXPECT_EQ(automaton.Next(SuffixAutomaton::kRoot, 1), SuffixAutomaton::kNone);
}

TEST(SuffixAutomaton, MemoryOfSeveralTextsIsBoundedByTheirTokens) {
  constexpr int kTokens = 6000;
  SeededRandom random(7);
  for (const int64_t vocabulary : {1, 2, 3, 50, 50000}) {
    for (const int64_t texts : {2, 40}) {
      SuffixAutomaton automaton({});
      std::vector<int> ends(static_cast<size_t>(texts), SuffixAutomaton::kRoot);
      for (int i = 0; i < kTokens; ++i) {
        int& end = ends[static_cast<size_t>(random.Below(texts))];
        end = automaton.Extend(end, static_cast<TokenId>(random.Below(vocabulary)));
        ASSERT_LE(automaton.bytes(), 1000 + (i + 1) * SuffixAutomaton::kMostBytesPerToken);
      }
      EXPECT_LE(automaton.states(), 2 * kTokens);
      EXPECT_LE(automaton.edges(), 3 * kTokens);
    }
  }
}

// Random texts, and the two that have the most states (1 2 2 2 ...) and edges (1 2 2 2 ... 3).
TEST(SuffixAutomaton, MemoryIsBoundedByTheTokens) {
  constexpr int kTokens = 20000;
  SeededRandom random(4);
  std::vector<std::vector<TokenId>> texts(7, std::vector<TokenId>(kTokens, 2));
  const int64_t vocabularies[] = {1, 2, 3, 50, 50000};
  for (int i = 0; i < 5; ++i) {
    for (TokenId& token : texts[i]) token = static_cast<TokenId>(random.Below(vocabularies[i]));
  }
  texts[5].front() = texts[6].front() = 1;
  texts[6].back() = 3;
  for (const std::vector<TokenId>& text : texts) {
    SuffixAutomaton automaton({});
    for (int i = 0; i < kTokens; ++i) {
      automaton.Extend(text[i]);
      ASSERT_LE(automaton.bytes(), 1000 + (i + 1) * SuffixAutomaton::kMostBytesPerToken);
    }
    EXPECT_LE(automaton.states(), 2 * kTokens);
    EXPECT_LE(automaton.edges(), 3 * kTokens);
    automaton.Clear();
    EXPECT_LT(automaton.bytes(), 1000);
  }
}

}  // namespace
}  // namespace tessera
