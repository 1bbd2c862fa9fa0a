// Reports of grids: frontiers and crossings of several models, a page in which nothing from outside is markup, and JSON.
#include "tessera/apps/lab/scale/grid/grid_report.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/lab/scale/report/frontier.h"
#include "tessera/base/json.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/temporary_folder.h"

namespace tessera {
namespace {

struct Made {
  std::string method;
  int samples;
  double right, seconds;    // This machine's; the phone takes half, and as many joules.
};

GridAbout About(const std::string& model, int64_t parameters) {
  return {.command = "tessera_scale grid", .model = model, .model_sha256 = std::string(64, 'a'), .parameters = parameters,
          .settings = {{"seed", "0"}},
          .tasks = {{.task = "gsm8k", .questions = 40, .problems = 660, .sha256 = std::string(64, 'b')}}};
}

// A folder as a grid leaves it.
void Make(const std::string& folder, const GridAbout& about, const std::vector<Made>& all) {
  Must(BeginGrid(folder, about));
  std::vector<GridResult> results;
  HostTimes times = Must(HostTimes::Read(GridTimesPath(folder)));
  for (const Made& made : all) {
    GridResult result = {.model = about.model, .task = "gsm8k", .method = made.method, .samples = made.samples, .questions = 40,
                         .right = {made.right, made.right - 0.05, made.right + 0.05}, .prompt_tokens = 90, .tokens = 100, .passes = 50};
    if (made.method == "best_of_n") result.scorer = "self_certainty";
    result.phone = GridPhone{.device = "8gen3, operators", .shape = about.model,
                             .cost = {.prompt_seconds = 0, .decode_seconds = made.seconds / 2, .joules = made.seconds / 2}};
    results.push_back(result);
    if (times.Find("gsm8k", made.samples, "") != nullptr) continue;
    Must(times.Add({.task = "gsm8k", .samples = made.samples, .questions = 4, .seconds = made.seconds, .least_seconds = made.seconds,
                    .most_seconds = made.seconds, .tokens = 100, .other_cpus = 0.01, .machine = "a machine, 2 threads, avx2"}));
  }
  Must(WriteGridResults(GridResultsPath(folder), results));
}

const std::vector<Made> kSmall = {{"one", 1, 0.20, 2}, {"majority", 4, 0.28, 2.5}, {"best_of_n", 4, 0.24, 2.5}, {"majority", 8, 0.37, 3}};
const std::vector<Made> kLarge = {{"one", 1, 0.25, 5}, {"majority", 4, 0.33, 6}, {"best_of_n", 4, 0.45, 6}};

class GridReport : public testing::Test {
 protected:
  GridReport() {
    Make(small_, About("small.gguf", 135'000'000), kSmall);
    Make(large_, About("large.gguf", 360'000'000), kLarge);
  }
  std::vector<std::string> Labels(const GridView& view, const std::vector<size_t>& places) {
    std::vector<std::string> labels;
    for (const size_t place : places) labels.push_back(view.LabelOf(place));
    return labels;
  }

  const TemporaryFolder folder_;
  const std::string small_ = folder_.Path("small"), large_ = folder_.Path("large");
};

TEST_F(GridReport, FrontiersGoAcrossModels) {
  const GridView one = Must(GridView::Read({small_}));
  EXPECT_EQ(one.tasks(), std::vector<std::string>{"gsm8k"});
  ASSERT_EQ(one.ClocksOf("gsm8k").size(), 3u) << "this machine, the phone, its energy";
  EXPECT_EQ(Labels(one, one.Frontier("gsm8k", one.ClocksOf("gsm8k")[0])), (std::vector<std::string>{"one", "majority 4", "majority 8"}));
  const GridView both = Must(GridView::Read({small_, large_}));
  for (const GridClock& clock : both.ClocksOf("gsm8k")) {
    EXPECT_EQ(Labels(both, both.Frontier("gsm8k", clock)),
              (std::vector<std::string>{"small one", "small majority 4", "small majority 8", "large best_of_n 4"}));
  }
}

TEST_F(GridReport, NoPointOfAFrontierIsBeatenAndAllOthersAre) {
  const GridView view = Must(GridView::Read({small_, large_}));
  for (const GridClock& clock : view.ClocksOf("gsm8k")) {
    const std::vector<size_t> frontier = view.Frontier("gsm8k", clock);
    for (const size_t place : view.ConfigurationsOf("gsm8k")) {
      const auto point = [&](size_t i) { return FrontierPoint{*view.CostOf(i, clock), view.configurations()[i].result.right.mean}; };
      const std::vector<size_t> all = view.ConfigurationsOf("gsm8k");
      const bool beaten = std::any_of(all.begin(), all.end(), [&](size_t other) { return Dominates(point(other), point(place)); });
      EXPECT_NE(beaten, std::find(frontier.begin(), frontier.end(), place) != frontier.end()) << view.LabelOf(place);
    }
  }
}

TEST_F(GridReport, ASmallerModelThatBeatsALargerOneIsListed) {
  const GridView view = Must(GridView::Read({large_, small_}));   // Their order says nothing about their size.
  const std::vector<Crossing> crossings = view.Crossings("gsm8k", view.ClocksOf("gsm8k")[0]);
  ASSERT_EQ(crossings.size(), 2u);
  EXPECT_EQ(view.LabelOf(crossings[0].larger), "large one");
  EXPECT_EQ(view.LabelOf(crossings[0].smaller), "small majority 4") << "the cheapest that is as right";
  EXPECT_FALSE(crossings[0].apart);
  EXPECT_EQ(view.LabelOf(crossings[1].larger), "large majority 4");
  EXPECT_EQ(view.LabelOf(crossings[1].smaller), "small majority 8");
  EXPECT_TRUE(absl::StrContains(GridReportText(view), "where a smaller model beats a larger one"));
  EXPECT_TRUE(absl::StrContains(GridReportText(view), "overlap"));
}

TEST_F(GridReport, GridsOfOtherQuestionsAreNotCompared) {
  GridAbout about = About("other.gguf", 1);
  about.tasks[0].sha256 = std::string(64, 'c');
  Make(folder_.Path("other"), about, kSmall);
  const absl::Status status = GridView::Read({small_, folder_.Path("other")}).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "questions of gsm8k: found 40 of sha256 ccc")) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "those of " + small_)) << status;
  EXPECT_TRUE(absl::StrContains(GridView::Read({small_, small_}).status().message(), "each folder once"));
  EXPECT_FALSE(GridView::Read({folder_.Path("none")}).ok());
}

TEST_F(GridReport, ThePageNeedsNoNetworkAndHasEachFigureAsText) {
  const std::string page = GridReportHtml(Must(GridView::Read({small_, large_})));
  for (const char* outside : {"http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link"}) {
    EXPECT_FALSE(absl::StrContains(page, outside)) << outside;
  }
  EXPECT_EQ(std::vector<std::string>(absl::StrSplit(page, "<svg ")).size(), 4u) << "three charts";
  for (const char* said : {"prefers-color-scheme:dark", "seconds per question on a machine, 2 threads, avx2",
                           "J per question by the modeled phone 8gen3, operators", ">37.0<", ">32.0 to 42.0<",
                           "powers of the phone's parts", "the first 40 of 660 problems", "360.0 million", "tessera_scale grid",
                           "small majority 8"}) {
    EXPECT_TRUE(absl::StrContains(page, said)) << said;
  }
}

TEST_F(GridReport, NothingFromOutsideIsMarkup) {
  const std::string evil = "<script>\"&'</script><b x=\"y.gguf", end = "\x1b[31m";
  GridAbout about = About(evil, 1);
  about.command = "tessera_scale grid --model='" + evil + end + "'";
  about.settings.emplace_back("<i>", "<u>" + end);
  Make(folder_.Path("evil"), about, kSmall);
  for (const GridView& view : {Must(GridView::Read({folder_.Path("evil")})), Must(GridView::Read({folder_.Path("evil"), large_}))}) {
    const std::string page = GridReportHtml(view);
    for (const char* markup : {"<script", "<b ", "<i>", "<u>", "\x1b"}) EXPECT_FALSE(absl::StrContains(page, markup)) << markup;
    EXPECT_TRUE(absl::StrContains(page, "&lt;script&gt;"));
    EXPECT_FALSE(absl::StrContains(GridReportText(view), "\x1b"));
    EXPECT_EQ(Must(JsonValue::Parse(GridReportJson(view))).Array("runs")->size(), static_cast<int64_t>(view.runs().size()));
  }
}

TEST_F(GridReport, UnknownFiguresAreReportedAsUnknownAndNotGuessed) {
  const std::string folder = folder_.Path("bare");
  Must(BeginGrid(folder, About("bare.gguf", 1)));
  Must(WriteGridResults(GridResultsPath(folder), {{.model = "bare.gguf", .task = "gsm8k", .method = "one", .questions = 40,
                                                   .right = {0.5, 0.4, 0.6}}}));
  const GridView bare = Must(GridView::Read({folder}));
  EXPECT_TRUE(bare.ClocksOf("gsm8k").empty());
  EXPECT_TRUE(absl::StrContains(GridReportText(bare), "Energy is not known"));
  const GridView beside = Must(GridView::Read({small_, folder}));
  EXPECT_TRUE(absl::StrContains(GridReportText(beside), "not known"));
  EXPECT_EQ(beside.Frontier("gsm8k", beside.ClocksOf("gsm8k")[0]).size(), 3u) << "what has no cost is in no frontier";
}

TEST_F(GridReport, JsonSaysTheSame) {
  const GridView view = Must(GridView::Read({small_, large_}));
  const JsonValue json = Must(JsonValue::Parse(GridReportJson(view)));
  ASSERT_EQ(json.Array("configurations")->size(), 7);
  EXPECT_EQ(json.Array("frontiers")->size(), 3);
  EXPECT_EQ(json.Array("crossings")->size(), 6);
  const JsonValue frontier = (*json.Array("frontiers"))[0];
  EXPECT_EQ(*frontier.String("clock"), "host");
  EXPECT_EQ(*frontier.Ints("configurations"), (std::vector<int64_t>{0, 1, 3, 6}));
  const std::vector<std::string> lines = absl::StrSplit(GridLines(view), '\n', absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 7u);
  const JsonValue line = Must(JsonValue::Parse(lines[3]));
  EXPECT_EQ(*line.String("model"), "small.gguf");
  EXPECT_EQ(*line.String("method"), "majority");
  EXPECT_EQ(*line.Object("host")->Double("seconds"), 3);
  EXPECT_EQ(*line.Object("phone")->Double("decode_seconds"), 1.5);
}

TEST_F(GridReport, OtherProgramsAtWorkAreToldOf) {
  const std::string folder = folder_.Path("busy");
  Make(folder, About("m.gguf", 1), {{"one", 1, 0.2, 2}});
  HostTimes times = Must(HostTimes::Read(GridTimesPath(folder)));
  EXPECT_FALSE(absl::StrContains(GridReportText(Must(GridView::Read({folder}))), "CPUs busy"));
  Must(times.Add({.task = "gsm8k", .samples = 2, .questions = 1, .seconds = 1, .other_cpus = 1.25, .machine = "m"}));
  Must(WriteGridResults(GridResultsPath(folder),
                        {{.model = "m.gguf", .task = "gsm8k", .method = "majority", .samples = 2, .questions = 40}}));
  EXPECT_TRUE(absl::StrContains(GridReportText(Must(GridView::Read({folder}))), "up to 1.2 CPUs busy"));
}

}  // namespace
}  // namespace tessera
