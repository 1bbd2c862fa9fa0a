// One rule for errors: middles, bounds that are kept or not, what is missed, and what counts.
#include "tessera/apps/lab/papers/figures/compared_figure.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/apps/lab/papers/figures/published.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

using Kind = PublishedFigure::Kind;
using Use = PublishedFigure::Use;

PublishedFigure Published(Kind kind, double low, double high, Use use = Use::kCounted) {
  return {"id", "what", kind, low, high, "ms", "000, table 1", use, use == Use::kCounted ? "" : "a reason"};
}

ComparedFigure Compared(const PublishedFigure& published, double low, double high) {
  const Prediction prediction = {.id = "id", .low = low, .high = high, .asked = "how"};
  return CompareFigure(published, &prediction);
}

TEST(ComparedFigure, HeaderExample) {
  const ComparedFigure figure = Compared(Published(Kind::kRange, 2, 8), 5, 5);
  EXPECT_EQ(PublishedText(figure), "2 - 8");
  EXPECT_EQ(PredictedText(figure), "5");
  EXPECT_EQ(ErrorText(figure), "+25.0 %") << "beside the middle, 4";
  const FigureCounts counts = CountFigures({figure});
  EXPECT_EQ(counts.judged, 1);
  EXPECT_EQ(counts.within, 1);
  EXPECT_NEAR(*counts.median_error, 0.25, 1e-12);
}

TEST(ComparedFigure, ABoundThatIsKeptSaysNothingMore) {
  const ComparedFigure kept = Compared(Published(Kind::kAtMost, 8, 8), 7, 7), broken = Compared(Published(Kind::kAtMost, 8, 8), 10, 10);
  EXPECT_TRUE(kept.bound_kept());
  EXPECT_EQ(ErrorText(kept), "kept");
  EXPECT_EQ(PublishedText(kept), "< 8");
  EXPECT_FALSE(broken.bound_kept());
  EXPECT_NEAR(*broken.error, 0.25, 1e-12);
  const ComparedFigure least = Compared(Published(Kind::kAtLeast, 6, 6), 3, 3);
  EXPECT_NEAR(*least.error, -0.5, 1e-12);
  const FigureCounts counts = CountFigures({kept, broken, least});
  EXPECT_EQ(counts.counted, 3);
  EXPECT_EQ(counts.bounds_kept, 1);
  EXPECT_EQ(counts.judged, 2);
  EXPECT_EQ(counts.within, 1);
}

TEST(ComparedFigure, AMissingPredictionIsMissedUnlessTheFigureDoesNotCount) {
  const ComparedFigure missed = CompareFigure(Published(Kind::kValue, 3, 3), nullptr);
  EXPECT_TRUE(missed.missed());
  EXPECT_EQ(ErrorText(missed), "missed");
  EXPECT_EQ(PredictedText(missed), "-");
  const ComparedFigure elsewhere = CompareFigure(Published(Kind::kValue, 3, 3, Use::kElsewhere), nullptr);
  EXPECT_FALSE(elsewhere.missed());
  EXPECT_EQ(ErrorText(elsewhere), "");
  const FigureCounts counts = CountFigures({missed, elsewhere});
  EXPECT_EQ(counts.counted, 1);
  EXPECT_EQ(counts.missed, 1);
  EXPECT_FALSE(counts.median_error.has_value());
  EXPECT_EQ(MedianText(counts.median_error), "that of a missed one");
}

TEST(ComparedFigure, AFigureThatParametersWereGuessedByIsShownAndNotCounted) {
  const ComparedFigure figure = Compared(Published(Kind::kValue, 4, 4, Use::kOfParameters), 2, 2);
  EXPECT_NEAR(*figure.error, -0.5, 1e-12);
  EXPECT_FALSE(figure.counted);
  EXPECT_EQ(figure.reason, "a reason");
  EXPECT_EQ(CountFigures({figure}).counted, 0);
}

TEST(ComparedFigure, JsonHasABandWhereThereIsOne) {
  for (const WithBand band : {WithBand::kNo, WithBand::kYes}) {
    JsonWriter json;
    WriteComparedFigure(json, Compared(Published(Kind::kAtMost, 8, 8), 7, 9), band);
    const JsonValue value = Must(JsonValue::Parse(std::move(json).Take(), "figure"));
    EXPECT_EQ(value.Has("band_low"), band == WithBand::kYes);
    EXPECT_EQ(Must(value.String("bound")), "at most");
    EXPECT_TRUE(Must(value.Bool("bound_kept")));
    EXPECT_TRUE(Must(value.Value("error")).is_null());
  }
}

}  // namespace
}  // namespace tessera
