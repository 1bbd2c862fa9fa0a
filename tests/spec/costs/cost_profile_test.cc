#include "tessera/spec/costs/cost_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "tessera/base/random.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

constexpr char kSmall[] = R"({"version": 1, "pass": [{"rows": 1, "seconds": 0.007}, {"rows": 8, "seconds": 0.014}],
 "leaf_seconds": 0.0001, "text_seconds": 0.0003, "head": [{"rows": 1, "seconds": 0.001}], "top_seconds": 0.0002,
 "drafters": [{"name": "lookup", "seconds": 0.00001}]})";

TEST(CostProfile, AFileThatLacksAKeyIsRefusedAndNotTakenForOneThatIsNotThere) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("costs.json");
  EXPECT_TRUE(absl::IsNotFound(CostProfile::Load(path).status()));
  std::ofstream(path) << R"({"version": 1})";
  const absl::Status status = CostProfile::Load(path).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StartsWith(status.message(), path + ": ")) << status;
}

TEST(CostProfile, HeaderExample) {
  CostProfile costs;
  costs.AddPass({.rows = 1, .leaves = 1}, 0.0070);
  costs.AddPass({.rows = 8, .leaves = 1}, 0.0140);
  costs.AddHead(1, 0.0011);
  EXPECT_NEAR(costs.PassSeconds({.rows = 4, .leaves = 1}), 0.0100, 1e-9);
  const TemporaryFolder folder;
  ASSERT_TRUE(costs.Save(folder.Path("costs.json")).ok());
  absl::StatusOr<CostProfile> frozen = CostProfile::Load(folder.Path("costs.json"));
  ASSERT_TRUE(frozen.ok()) << frozen.status();
  frozen->AddPass({.rows = 4}, 1);
  EXPECT_NEAR(frozen->PassSeconds({.rows = 4, .leaves = 1}), 0.0100, 1e-9);
  EXPECT_NEAR(frozen->PlainSeconds(), 0.0081, 1e-9);
}

TEST(CostProfile, MoreRowsNeverCostLess) {
  SeededRandom random(3);
  for (int trial = 0; trial < 50; ++trial) {
    CostProfile costs;
    for (int i = 0; i < 40; ++i) {
      const int rows = 1 + static_cast<int>(random.Below(20)), leaves = 1 + static_cast<int>(random.Below(rows));
      const int texts = 1 + static_cast<int>(random.Below(leaves));
      costs.AddPass({rows, leaves, texts}, 1e-3 * static_cast<double>(1 + random.Below(100)));
      costs.AddHead(rows, 1e-3 * static_cast<double>(1 + random.Below(100)));
    }
    for (int rows = 1; rows < 520; ++rows) {
      EXPECT_LE(costs.PassSeconds({.rows = rows}), costs.PassSeconds({.rows = rows + 1}));
      EXPECT_LE(costs.PassSeconds({.rows = rows}), costs.PassSeconds({.rows = rows, .leaves = 2}));
      EXPECT_LE(costs.PassSeconds({.rows = rows}), costs.PassSeconds({.rows = rows, .leaves = 2, .texts = 2}));
      EXPECT_LE(costs.HeadSeconds(rows), costs.HeadSeconds(rows + 1));
      EXPECT_GT(costs.PassSeconds({.rows = rows}), 0);
    }
  }
}

// As a pass of n rows is: a part that all share, one of each row, and noise that only adds.
double Noisy(int rows, SeededRandom& random) {
  const double noise = random.Below(3) == 0 ? 0.01 * static_cast<double>(random.Below(100)) : 0;
  return (0.006 + 0.0013 * (rows - 1)) * (1 + noise);
}

TEST(CostProfile, FindsTheCurveInNoise) {
  SeededRandom random(5);
  CostProfile costs;
  for (int i = 0; i < 2000; ++i) {
    const int rows = 1 + static_cast<int>(random.Below(16));
    costs.AddPass({.rows = rows}, Noisy(rows, random));
  }
  for (const int rows : {1, 2, 4, 8, 16}) EXPECT_NEAR(costs.PassSeconds({.rows = rows}) / (0.006 + 0.0013 * (rows - 1)), 1, 0.2) << rows;
}

TEST(CostProfile, OneUnluckyTimeKeepsNobodyFromTryingAgain) {
  CostProfile costs;
  for (int i = 0; i < 10; ++i) costs.AddPass({.rows = 1}, 0.006);
  for (int i = 0; i < 10; ++i) costs.AddPass({.rows = 4}, 0.009);
  costs.AddPass({.rows = 8}, 0.100);
  EXPECT_NEAR(costs.PassSeconds({.rows = 8}), 0.013, 1e-6);
  for (int i = 0; i < 10; ++i) costs.AddPass({.rows = 8}, 0.040);   // It is so.
  EXPECT_GT(costs.PassSeconds({.rows = 8}), 0.030);
}

TEST(CostProfile, AGeneralSlowdownSlowsEarlierMeasurements) {
  CostProfile costs;
  for (int i = 0; i < 20; ++i) costs.AddPass({.rows = 1}, 0.006);
  for (int i = 0; i < 20; ++i) costs.AddPass({.rows = 8}, 0.012);
  for (int i = 0; i < 500; ++i) costs.AddPass({.rows = 8}, 0.024);
  EXPECT_NEAR(costs.PassSeconds({.rows = 8}), 0.024, 0.001);
  EXPECT_GT(costs.PassSeconds({.rows = 1}), 0.007);
}

// Reading takes as long for one row as for many: nobody would try many if a guess forbade it.
TEST(CostProfile, RowsOfAStreamedModelAreFreeUntilMeasured) {
  CostProfile costs, streamed;
  streamed.ExpectFreeRows();
  for (CostProfile* const of : {&costs, &streamed}) of->AddPass({.rows = 1}, 0.1);
  EXPECT_LT(streamed.PassSeconds({.rows = 16}), 0.12);
  EXPECT_GT(costs.PassSeconds({.rows = 16}), 0.3);
  for (CostProfile* const of : {&costs, &streamed}) of->AddHead(1, 0.02);
  EXPECT_LT(streamed.HeadSeconds(16), 0.024);
  EXPECT_GT(costs.HeadSeconds(16), 0.1);
  for (int i = 0; i < 5; ++i) streamed.AddPass({.rows = 8}, 0.5);
  for (int i = 0; i < 5; ++i) streamed.AddHead(8, 0.16);
  EXPECT_NEAR(streamed.HeadSeconds(8) / streamed.HeadSeconds(1), 8, 1e-6);
  EXPECT_NEAR(streamed.PassSeconds({.rows = 8}), 0.5, 0.01);
  EXPECT_GT(streamed.PassSeconds({.rows = 4}), 0.2);
}

// Noise only adds, so the mean of many lies above the curve, which follows the low ones: what leaves cost must not be that distance.
TEST(CostProfile, NoiseIsNotTakenForTheCostOfLeaves) {
  SeededRandom random(1);
  CostProfile costs;
  for (int i = 0; i < 2000; ++i) {
    const int rows = 1 + static_cast<int>(random.Below(8));
    const double noise = random.Below(3) == 0 ? 0.008 : 0;
    costs.AddPass({.rows = rows, .leaves = std::max(1, rows / 2)}, 0.020 + noise);
  }
  EXPECT_LT(costs.PassSeconds({.rows = 8, .leaves = 4}) - costs.PassSeconds({.rows = 8, .leaves = 1}), 0.001);
}

// As a flash's: passes take as long as reading does, whatever their rows, and one in four is held up. Trees of many rows have many leaves.
TEST(CostProfile, ANoisyFlashMakesNoTreeDear) {
  SeededRandom random(12);
  CostProfile costs;
  costs.ExpectFreeRows();
  for (const int rows : {1, 1, 1, 16, 16, 16}) costs.AddPass({.rows = rows}, 0.025);
  for (int i = 0; i < 600; ++i) {
    const int rows = 2 + static_cast<int>(random.Below(31));
    const double held_up = random.Below(4) == 0 ? 0.010 : 0;
    costs.AddPass({.rows = rows, .leaves = 1 + rows / 2}, 0.0245 + held_up + 1e-5 * static_cast<double>(random.Below(300)));
  }
  EXPECT_LT(costs.PassSeconds({.rows = 31, .leaves = 16}), 1.1 * costs.PassSeconds({.rows = 1}));
}

TEST(CostProfile, LeavesAreLearntBesideRows) {
  CostProfile costs;
  for (int i = 0; i < 10; ++i) costs.AddPass({.rows = 8, .leaves = 1}, 0.010);
  for (int i = 0; i < 200; ++i) costs.AddPass({.rows = 8, .leaves = 5}, 0.0108);
  EXPECT_GT(costs.PassSeconds({.rows = 8, .leaves = 5}), costs.PassSeconds({.rows = 8, .leaves = 1}));
  EXPECT_NEAR(costs.PassSeconds({.rows = 8, .leaves = 5}), 0.0108, 0.0004);
}

// The keys of another text are read for its rows alone.
TEST(CostProfile, TextsAreLearntBesideRowsAndLeaves) {
  CostProfile costs;
  for (int i = 0; i < 10; ++i) costs.AddPass({.rows = 8, .leaves = 1}, 0.010);
  for (int i = 0; i < 200; ++i) costs.AddPass({.rows = 8, .leaves = 8, .texts = 8}, 0.0135);
  EXPECT_NEAR(costs.PassSeconds({.rows = 8, .leaves = 8, .texts = 8}), 0.0135, 0.0004);
  EXPECT_GT(costs.PassSeconds({.rows = 8, .leaves = 8, .texts = 8}) - costs.PassSeconds({.rows = 8}), 0.002);
  EXPECT_EQ(costs.PassSeconds({.rows = 8, .leaves = 8}), costs.PassSeconds({.rows = 8})) << "the leaves of one text are no texts";
  EXPECT_GT(costs.PassSeconds({.rows = 9, .leaves = 9, .texts = 9}), costs.PassSeconds({.rows = 9, .leaves = 8, .texts = 8}));
}

TEST(CostProfile, PassesOfManyTextsTeachTheirOwnCostAndSpoilNoPassOfOne) {
  SeededRandom random(4);
  CostProfile costs;
  const auto seconds = [](int rows, int texts) { return 0.005 + 0.0004 * rows + 0.0003 * (texts - 1); };
  for (int i = 0; i < 3000; ++i) {
    const int texts = random.Below(2) == 0 ? 1 : 2 + static_cast<int>(random.Below(30)), rows = texts + static_cast<int>(random.Below(12));
    costs.AddPass({.rows = rows, .leaves = texts, .texts = texts}, seconds(rows, texts) * (random.Below(4) == 0 ? 1.2 : 1));
  }
  for (const int rows : {1, 4, 8, 12}) EXPECT_NEAR(costs.PassSeconds({.rows = rows}) / seconds(rows, 1), 1, 0.12) << rows;
  for (const int texts : {4, 16, 31}) {
    const CostProfile::Shape shape = {.rows = texts + 5, .leaves = texts, .texts = texts};
    EXPECT_NEAR(costs.PassSeconds(shape) / seconds(shape.rows, texts), 1, 0.12) << texts;
  }
}

TEST(CostProfile, LargePassesAreToldApart) {
  CostProfile costs;
  for (int i = 0; i < 3; ++i) {
    for (const int rows : {1, 8, 64, 256, 512}) costs.AddPass({.rows = rows}, 0.005 + 0.0002 * rows);
    for (const int rows : {1, 100, 300}) costs.AddHead(rows, 0.001 * rows);
  }
  for (const int rows : {1, 30, 64, 65, 160, 256, 400, 512}) EXPECT_NEAR(costs.PassSeconds({.rows = rows}), 0.005 + 0.0002 * rows, 1e-9);
  for (const int rows : {1, 64, 200, 300, 500}) EXPECT_NEAR(costs.HeadSeconds(rows), 0.001 * rows, 1e-9);
  EXPECT_EQ(costs.PassSeconds({.rows = 513}), costs.PassSeconds({.rows = 512}));
}

// A draft's few rows say what many more would take, until these are measured.
TEST(CostProfile, BeyondTheMeasuredRowsTheMeanSlopeContinues) {
  CostProfile costs;
  for (int i = 0; i < 3; ++i) {
    for (const int rows : {1, 8, 16}) costs.AddPass({.rows = rows}, 0.005 + 0.0002 * rows);
  }
  for (const int rows : {17, 64, 512}) EXPECT_NEAR(costs.PassSeconds({.rows = rows}), 0.005 + 0.0002 * rows, 1e-9);
}

// Eight texts from the first step on: their drafts are tried by a guess of what a row takes, not of what a text takes.
TEST(CostProfile, AStepOfManyTextsIsEnoughToGuessTheCostOfARow) {
  CostProfile costs;
  EXPECT_FALSE(costs.KnowsSteps());
  const CostProfile::Shape eight = {.rows = 8, .leaves = 8, .texts = 8};
  for (int i = 0; i < 3; ++i) costs.AddPass(eight, 0.0082);
  EXPECT_FALSE(costs.KnowsSteps()) << "no head";
  for (int i = 0; i < 3; ++i) costs.AddHead(8, 0.004);
  EXPECT_TRUE(costs.KnowsSteps());
  EXPECT_FALSE(costs.KnowsPlain());
  CostProfile one;
  one.AddPass({.rows = 1}, 0.004);
  EXPECT_NEAR(one.PassSeconds({.rows = 8}), 0.0082, 1e-9) << "the same guess";
  for (const int rows : {8, 9, 12, 16}) {
    EXPECT_NEAR(costs.PassSeconds({.rows = rows, .leaves = 8, .texts = 8}), one.PassSeconds({.rows = rows}), 1e-9) << rows;
  }
}

TEST(CostProfile, APassWithAPartOfAPromptTeachesNothingOfDecoding) {
  CostProfile costs;
  for (int i = 0; i < 5; ++i) costs.AddPass({.rows = 1}, 0.005);
  costs.AddHead(1, 0.001);
  const std::string before = costs.ToJson();
  costs.AddPromptPass(/*rows=*/40, 0.0150);
  EXPECT_EQ(costs.ToJson(), before);
}

TEST(CostProfile, PromptsAreExpectedToTakeTheLeastThatTheLastPassesWithOneSay) {
  CostProfile costs;
  for (int i = 0; i < 5; ++i) costs.AddPass({.rows = 2, .leaves = 2, .texts = 2}, 0.005);
  const CostProfile::Shape two = {.rows = 2, .leaves = 2, .texts = 2};
  EXPECT_EQ(costs.PromptPassSeconds(two, 10), costs.PassSeconds({.rows = 12, .leaves = 3, .texts = 3})) << "nothing is known";
  costs.AddPromptPass(42, 0.015);
  EXPECT_NEAR(costs.PromptPassSeconds(two, 40), 0.015, 1e-9);
  EXPECT_NEAR(costs.PromptPassSeconds(two, 82), 0.030, 1e-9) << "no row takes longer among more";
  EXPECT_NEAR(costs.PromptPassSeconds(two, 20), 0.010, 1e-9) << "between";
  EXPECT_NEAR(costs.PromptPassSeconds(two, 0), 0.005, 1e-9);
  for (int i = 0; i < 2; ++i) costs.AddPromptPass(42, 0.025);
  EXPECT_NEAR(costs.PromptPassSeconds(two, 40), 0.015, 1e-9) << "two may be unlucky";
  costs.AddPromptPass(42, 0.025);
  EXPECT_NEAR(costs.PromptPassSeconds(two, 40), 0.025, 1e-9) << "three are not";
  const CostProfile::Shape many = {.rows = 50, .leaves = 2, .texts = 2};
  EXPECT_NEAR(costs.PromptPassSeconds(many, 50), 2 * costs.PassSeconds(many), 1e-9) << "more rows than it had, without a prompt";
  costs.Freeze();
  costs.AddPromptPass(42, 0.5);
  EXPECT_NEAR(costs.PromptPassSeconds(two, 40), 0.025, 1e-9);
}

TEST(CostProfile, MoreRowsOfAPromptNeverTakeLess) {
  SeededRandom random(6);
  for (int trial = 0; trial < 50; ++trial) {
    CostProfile costs;
    for (int i = 0; i < 10; ++i) costs.AddPass({.rows = 1 + static_cast<int>(random.Below(20))}, 1e-3 * (1.0 + random.Below(100)));
    if (trial % 5 > 0) costs.AddPromptPass(1 + static_cast<int>(random.Below(600)), 1e-3 * (1.0 + random.Below(100)));
    const CostProfile::Shape pass = {.rows = 1 + static_cast<int>(random.Below(30))};
    for (int rows = 0; rows < 600; ++rows) EXPECT_LE(costs.PromptPassSeconds(pass, rows), costs.PromptPassSeconds(pass, rows + 1));
  }
}

TEST(CostProfile, TakesNoTimeThatIsNone) {
  CostProfile costs;
  for (const double seconds : {0.0, -1.0, 1e9, 0.0 / 0.0}) costs.AddPass({}, seconds);
  EXPECT_EQ(costs.PassSeconds({}), 0);
  EXPECT_FALSE(costs.KnowsPlain());
}

TEST(CostProfile, ReadsItsOwnJson) {
  const absl::StatusOr<CostProfile> costs = CostProfile::Parse(kSmall, "costs.json");
  ASSERT_TRUE(costs.ok()) << costs.status();
  EXPECT_TRUE(costs->frozen());
  EXPECT_NEAR(costs->PassSeconds({.rows = 8, .leaves = 3}), 0.0142, 1e-9);
  EXPECT_NEAR(costs->PassSeconds({.rows = 8, .leaves = 3, .texts = 2}), 0.0144, 1e-9);
  EXPECT_EQ(costs->DraftSeconds("lookup"), 0.00001);
  EXPECT_EQ(costs->DraftSeconds("other"), 0);
  const absl::StatusOr<CostProfile> again = CostProfile::Parse(costs->ToJson(), "costs.json");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->ToJson(), costs->ToJson());
}

TEST(CostProfile, KeepsTheYieldsOfDrafts) {
  CostProfile costs = CostProfile::Parse(kSmall, "costs.json").value();
  costs.SetYield("draft", {.tokens = 2, .rows = 3});
  EXPECT_FALSE(costs.YieldOf("draft").has_value()) << "it is frozen";
  EXPECT_EQ(costs.ToJson().find("yields"), std::string::npos);
  CostProfile learning;
  learning.AddPass({}, 0.01);
  learning.AddHead(1, 0.001);
  const CostProfile::Yield none[] = {{.tokens = 0.5, .rows = 3}, {.tokens = 4, .rows = 3}, {.tokens = 2, .rows = 1e6},
                                     {.tokens = 0.0 / 0.0, .rows = 3}};
  for (const CostProfile::Yield& yield : none) {
    learning.SetYield("draft", yield);
    EXPECT_FALSE(learning.YieldOf("draft").has_value());
  }
  learning.SetYield("draft", {.tokens = 2.5, .rows = 8});
  learning.SetYield("suffix", {.tokens = 1.25, .rows = 4});
  const CostProfile read = CostProfile::Parse(learning.ToJson(), "costs.json").value();
  EXPECT_EQ(read.YieldOf("draft")->tokens, 2.5);
  EXPECT_EQ(read.YieldOf("suffix")->rows, 4);
  EXPECT_EQ(read.ToJson(), learning.ToJson());
}

TEST(CostProfile, AFileWithoutTextCostsIsReadWithFreeTexts) {
  std::string old = kSmall;
  old.replace(old.find("\"text_seconds\": 0.0003, "), 24, "");
  const absl::StatusOr<CostProfile> costs = CostProfile::Parse(old, "costs.json");
  ASSERT_TRUE(costs.ok()) << costs.status();
  EXPECT_EQ(costs->PassSeconds({.rows = 8, .leaves = 2, .texts = 2}), costs->PassSeconds({.rows = 8}));
  EXPECT_NE(costs->ToJson().find("\"text_seconds\": 0,"), std::string::npos) << costs->ToJson();
}

TEST(CostProfile, BadFilesAreNamedWithFieldFoundAndExpected) {
  const auto error_with = [](const std::string& from, const std::string& to) {
    std::string text = kSmall;
    text.replace(text.find(from), from.size(), to);
    return std::string(CostProfile::Parse(text, "costs.json").status().message());
  };
  const auto expect = [&](const std::string& from, const std::string& to, std::vector<std::string> parts) {
    for (const std::string& part : parts) EXPECT_NE(error_with(from, to).find(part), std::string::npos) << error_with(from, to);
  };
  expect("\"version\": 1", "\"version\": 2", {"costs.json", "version", "2", "1"});
  expect("\"rows\": 8", "\"rows\": 0", {"costs.json", "pass[1].rows", "0", "1 to 512"});
  expect("\"rows\": 8", "\"rows\": 1", {"pass[1]", "a second entry for 1 rows"});
  expect("\"rows\": 1, \"seconds\": 0.007", "\"rows\": 2, \"seconds\": 0.007", {"pass", "no entry for 1 row"});
  expect("0.014", "-3", {"pass[1].seconds", "-3", "more than 0"});
  expect("0.014", "\"a\"", {"pass[1].seconds", "expected a number"});
  expect("\"leaf_seconds\": 0.0001", "\"leaf_seconds\": 1e9", {"leaf_seconds", "1e+09", "at least 0"});
  expect("\"text_seconds\": 0.0003", "\"text_seconds\": -1", {"text_seconds", "-1", "at least 0"});
  expect("\"lookup\"", "7", {"drafters[0].name"});
  expect("\"head\"", "\"tail\"", {"head"});
  const std::string yields = R"("top_seconds": 0.0002, "yields": [{"name": "draft", "tokens": 3, "rows": 2}])";
  expect("\"top_seconds\": 0.0002", yields, {"yields[0]", "3 tokens of 2 rows", "1 token or more"});
  EXPECT_FALSE(CostProfile::Load("/nowhere/costs.json").ok());
}

}  // namespace
}  // namespace tessera
