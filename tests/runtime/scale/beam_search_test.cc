#include "tessera/runtime/scale/beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/base/random.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

using Step = BeamSearch::Step;
using Beam = BeamSearch::Beam;

// Texts that may be written: after each, what the i-th expansion gives. Steps are single letters and a line break.
class RandomTexts {
 public:
  explicit RandomTexts(uint64_t seed) : random_(seed) {}

  const Step& After(const std::string& text, int expansion) {
    const std::string key = absl::StrCat(text, "#", expansion);
    const auto found = steps_.find(key);
    if (found != steps_.end()) return found->second;
    Step step = {.text = std::string(1, static_cast<char>('a' + expansion)), .score = static_cast<double>(random_.Below(12)) / 12,
                 .ended = random_.Below(4) == 0};
    if (!step.ended) step.text += "\n";
    return steps_.emplace(key, step).first->second;
  }

 private:
  SeededRandom random_;
  std::map<std::string, Step> steps_;
};

std::vector<Step> StepsAfter(const BeamSearch& search, RandomTexts& texts) {
  std::vector<Step> steps;
  for (const Beam& beam : search.beams()) {
    for (int i = 0; i < search.expansions(); ++i) steps.push_back(texts.After(beam.text, i));
  }
  return steps;
}

TEST(BeamSearch, HeaderExample) {
  RandomTexts texts(1);
  BeamSearch search = Must(BeamSearch::Create({.width = 4, .expansions = 4, .delimiter = "\n", .most_steps = 40}));
  while (!search.done()) search.Advance(StepsAfter(search, texts));
  EXPECT_FALSE(search.best().text.empty());
  EXPECT_TRUE(search.best().ended);
}

// The same by enumeration: of all texts of so many steps, those whose every beginning was among the best of its length. Nothing of the
// search's own state is used, but the rule as the header states it.
struct Candidate {
  std::string text;
  double score;
  bool ended;
  std::vector<int> path;   // For each step: the rank of the text it goes on from, and the expansion.
};

std::vector<Candidate> BruteForce(RandomTexts& texts, const BeamOptions& options, bool& any_ended) {
  std::vector<Candidate> living = {{"", 0, false, {}}}, ended;
  for (int step = 0; step < options.most_steps && !living.empty(); ++step) {
    std::vector<Candidate> all;
    const int each = step == 0 ? options.width * options.expansions : options.expansions;
    for (size_t from = 0; from < living.size(); ++from) {
      for (int i = 0; i < each; ++i) {
        const Step& next = texts.After(living[from].text, i);
        all.push_back({living[from].text + next.text, next.score, next.ended, {static_cast<int>(from), i}});
      }
    }
    // A candidate stays if fewer than the places left are better, or as good and earlier.
    const auto beats = [](const Candidate& a, const Candidate& b) { return a.score > b.score || (a.score == b.score && a.path < b.path); };
    const size_t places = static_cast<size_t>(options.width) - ended.size();
    living.clear();
    std::vector<Candidate> kept;
    for (const Candidate& one : all) {
      const auto better = std::count_if(all.begin(), all.end(), [&](const Candidate& other) { return beats(other, one); });
      if (static_cast<size_t>(better) < places) kept.push_back(one);
    }
    std::sort(kept.begin(), kept.end(), beats);
    for (const Candidate& one : kept) (one.ended ? ended : living).push_back(one);
  }
  any_ended = !ended.empty();
  return any_ended ? ended : living;
}

TEST(BeamSearch, FindsTheResultsOfEnumeration) {
  int cut = 0, whole = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const BeamOptions options = {.width = 1 + static_cast<int>(seed % 4), .expansions = 1 + static_cast<int>(seed / 4 % 4),
                                 .delimiter = "\n", .most_steps = 1 + static_cast<int>(seed % 5)};
    RandomTexts texts(seed);
    BeamSearch search = Must(BeamSearch::Create(options));
    while (!search.done()) search.Advance(StepsAfter(search, texts));
    bool any_ended;
    const std::vector<Candidate> expected = BruteForce(texts, options, any_ended);
    ASSERT_EQ(search.results().size(), expected.size()) << seed;
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(search.results()[i].text, expected[i].text) << seed;
      EXPECT_EQ(search.results()[i].score, expected[i].score) << seed;
      EXPECT_EQ(search.results()[i].ended, any_ended) << seed;
      EXPECT_GE(search.best().score, expected[i].score) << seed;
    }
    ++(any_ended ? whole : cut);
  }
  EXPECT_GT(cut, 10);
  EXPECT_GT(whole, 100);
}

// With room for every text that can be written, the best of all that end is found.
TEST(BeamSearch, WithRoomForAllTheBestEndedTextIsFound) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    RandomTexts texts(seed);
    BeamSearch search = Must(BeamSearch::Create({.width = 64, .expansions = 2, .delimiter = "\n", .most_steps = 4}));
    double best = -1;
    while (!search.done()) {
      const std::vector<Step> steps = StepsAfter(search, texts);
      search.Advance(steps);
      for (const Beam& beam : search.ended()) best = std::max(best, beam.score);
    }
    if (best >= 0) {
      EXPECT_EQ(search.best().score, best) << seed;
    }
  }
}

TEST(BeamSearch, ABeamThatHasEndedLeavesWithItsPlace) {
  BeamSearch search = Must(BeamSearch::Create({.width = 3, .expansions = 2, .delimiter = "\n"}));
  EXPECT_EQ(search.expansions(), 6) << "the first step has all rows";
  search.Advance({{"a", 0.9, true}, {"b\n", 0.8}, {"c\n", 0.7}, {"d\n", 0.6}, {"e\n", 0.5}, {"f\n", 0.4}});
  ASSERT_EQ(search.beams().size(), 2u);
  EXPECT_EQ(search.ended()[0].text, "a");
  EXPECT_EQ(search.expansions(), 2);
  search.Advance({{"1", 0.1, true}, {"2", 0.2, true}, {"3", 0.3, true}, {"4", 0.4, true}});
  EXPECT_TRUE(search.done());
  std::vector<std::string> texts;
  for (const Beam& beam : search.results()) texts.push_back(beam.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "c\n4", "c\n3"}));
  EXPECT_EQ(search.best().text, "a");
  EXPECT_EQ(search.results()[1].from, 3);
  EXPECT_EQ(search.results()[1].steps, 2);
}

TEST(BeamSearch, TextAfterADelimiterIsNoPartOfTheStep) {
  BeamSearch search = Must(BeamSearch::Create({.width = 1, .expansions = 1, .delimiter = "\n\n"}));
  search.Advance({{"one\n\ntwo\n\nthree", 1, true}});
  ASSERT_FALSE(search.done()) << "the end was left out, too";
  EXPECT_EQ(search.beams()[0].text, "one\n\n");
  search.Advance({{"two\n\n", 1, true}});
  EXPECT_TRUE(search.done());
  EXPECT_EQ(search.best().text, "one\n\ntwo\n\n");
}

TEST(BeamSearch, AfterMostStepsTheOthersAreCut) {
  BeamSearch search = Must(BeamSearch::Create({.width = 2, .expansions = 1, .delimiter = ";", .most_steps = 2}));
  search.Advance({{"a;", 1}, {"b;", 2}});
  search.Advance({{"c;", 1}, {"d;", 2}});
  ASSERT_TRUE(search.done());
  EXPECT_EQ(search.results().size(), 2u);
  EXPECT_EQ(search.best().text, "a;d;");
  EXPECT_FALSE(search.best().ended);
}

TEST(BeamSearch, AScoreThatIsNoNumberIsBelowAllOthers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  BeamSearch search = Must(BeamSearch::Create({.width = 2, .expansions = 2, .delimiter = ";", .most_steps = 1}));
  search.Advance({{"a;", nan}, {"b;", -8}, {"c;", nan}, {"d;", -9}});
  EXPECT_EQ(search.beams()[0].text, "b;");
  EXPECT_EQ(search.beams()[1].text, "d;");
}

TEST(BeamSearch, OptionsOutOfRangeAreNamed) {
  EXPECT_EQ(FieldOf(BeamSearch::Create({.width = 0}).status()), "width");
  EXPECT_EQ(FieldOf(BeamSearch::Create({.expansions = 1025}).status()), "expansions");
  EXPECT_EQ(FieldOf(BeamSearch::Create({.most_steps = 0}).status()), "most_steps");
  EXPECT_EQ(FieldOf(BeamSearch::Create({.delimiter = ""}).status()), "delimiter");
}

}  // namespace
}  // namespace tessera
