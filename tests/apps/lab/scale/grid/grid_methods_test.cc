// Names of ways to choose and of scorers, and how beams are made of rows.
#include "tessera/apps/lab/scale/grid/grid_methods.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "tessera/apps/lab/scale/grid/grid_beams.h"
#include "tessera/apps/lab/scale/report/figures_json.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

TEST(GridMethods, HeaderExample) {
  EXPECT_EQ(Must(GridMethodsOf("one,majority,best_of_n")), (std::vector<std::string>{"one", "majority", "best_of_n"}));
  EXPECT_EQ(SelectionOf("best_of_n"), Selection::kBestOfN);
  EXPECT_FALSE(SelectionOf("one").has_value());
  EXPECT_FALSE(AsksScorer("majority"));
  EXPECT_TRUE(AsksScorer("beam"));
}

TEST(GridMethods, AnUnknownOrRepeatedMethodIsRefused) {
  for (const char* list : {"", "one,", "best of N", "one,one", "majority,weighted,majority"}) {
    EXPECT_FALSE(GridMethodsOf(list).ok()) << list;
  }
}

TEST(GridMethods, ScorersGoByTheirFigure) {
  EXPECT_EQ(FigureOfScorer("reward:head.gguf"), "reward");
  EXPECT_EQ(FigureOfScorer("judge"), "judge");
  EXPECT_TRUE(IsOwnFigure("self_certainty"));
  EXPECT_FALSE(IsOwnFigure("reward"));
}

TEST(GridBeams, AQuarterOfTheRowsAreBeams) {
  for (const int rows : {2, 3, 4, 8, 16, 64}) {
    Must(CheckBeamRows({rows}));
    const BeamOptions beams = BeamsOfRows(rows);
    EXPECT_EQ(beams.width * beams.expansions, rows);
    EXPECT_LE(beams.expansions, 4);
  }
  EXPECT_TRUE(absl::StrContains(CheckBeamRows({1, 4, 6}).message(), "counts: found 6"));
}

TEST(FiguresJson, HeaderExample) {
  JsonWriter json;
  WriteEstimate("right", {0.3, 0.2, 0.4}, json.BeginObject());
  json.Key("seconds").Double(-1).EndObject();
  const JsonValue record = Must(JsonValue::Parse(std::move(json).Take(), "x"));
  const Estimate right = Must(ReadEstimate(record, "right", /*least=*/0, /*most=*/1));
  EXPECT_EQ(right.mean, 0.3);
  EXPECT_EQ(right.high, 0.4);
  EXPECT_TRUE(absl::StrContains(ReadNumber(record, "seconds", 0, 1e9).status().message(), "seconds: found -1, expected 0 to 1e+09"));
  EXPECT_FALSE(ReadEstimate(record, "right", 0.25, 1).ok());
  EXPECT_FALSE(ReadEstimate(record, "gain", 0, 1).ok());
}

}  // namespace
}  // namespace tessera
