// A request as a picture: boxes as long as what ran, blocks in the colour of their graph, and nothing after the axis' end.
#include "tessera/apps/lab/papers/sdnpu/request_picture.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "tessera/apps/lab/papers/sdnpu/phone_request.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

constexpr char kPrefill[] = "fill=\"#7fb2d9\"", kDecode[] = "fill=\"#f0a27a\"", kLoad[] = "fill=\"#c9c9c9\"";

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

TimelineEvent Event(Zone zone, Resource resource, int detail, double begin, double end) {
  return {zone, resource, detail, static_cast<int64_t>(begin * 1e9), static_cast<int64_t>(end * 1e9)};
}

TEST(RequestPicture, HeaderExample) {
  RequestCosts costs = {.layers = 4, .call_seconds = 0.001, .load_seconds = 0.1, .load_seconds_per_layer = 0.1};
  costs.layer_run = [](int rows, int64_t) { return RunCost{rows * 1e-3, 0}; };
  costs.head_run = [](int rows) { return RunCost{rows * 1e-3, 0}; };
  costs.cpu_pass = [](int rows, int64_t) { return RunCost{rows * 1e-2, 0}; };
  const RequestSetup setup = {.rule = SwitchRule::kPublished, .blocks = 2};
  const RequestWork work = {.prompt_tokens = 600, .tokens = 4};
  Timeline timeline({.capacity = 1 << 14});
  Must(SimulateRequest(costs, setup, work, &timeline));
  const RequestPicture picture = {"A prompt is read", {{"published rule", timeline.Events()}}};
  const std::string svg = RequestPictureSvg(picture);
  EXPECT_TRUE(absl::StartsWith(svg, "<svg "));
  for (const char* said : {"A prompt is read", "published rule", ">npu<", ">flash<", ">cpu<", "block, prefill graph"}) {
    EXPECT_TRUE(absl::StrContains(svg, said)) << said;
  }
  for (const char* colour : {kPrefill, kDecode, kLoad}) EXPECT_GT(Count(svg, colour), 1) << colour << ": in the legend alone";
}

// The axis has 1000 for 1.1 s.
TEST(RequestPicture, BlocksHaveTheColourOfTheirGraph) {
  const std::string svg = RequestPictureSvg({"", {{"a",
                                                   {Event(Zone::kGraphRun, Resource::kNpu, 7, 0, 0.22),
                                                    Event(Zone::kGraphRun, Resource::kNpu, 8, 0.22, 0.44),
                                                    Event(Zone::kLoad, Resource::kFlash, 8, 0.44, 1),
                                                    Event(Zone::kGraphRun, Resource::kNpu, 7, 1, 1.05),
                                                    Event(Zone::kGraphRun, Resource::kNpu, 8, 1.05, 1.1)}}}});
  EXPECT_EQ(Count(svg, kPrefill), 1 + 3);
  EXPECT_EQ(Count(svg, kDecode), 1 + 1);
  EXPECT_EQ(Count(svg, kLoad), 1 + 1);
  EXPECT_EQ(Count(svg, ">8<"), 3) << "a block's number is in its runs and its load";
  EXPECT_TRUE(absl::StrContains(svg, "width=\"200.00\""));
  EXPECT_TRUE(absl::StrContains(svg, "width=\"509.09\""));
}

TEST(RequestPicture, EndsSoonAfterTheLastLoadOfAll) {
  const std::string svg = RequestPictureSvg({"", {{"short", {Event(Zone::kLoad, Resource::kFlash, 0, 0, 1)}},
                                                  {"long",
                                                   {Event(Zone::kLoad, Resource::kFlash, 1, 0, 2),
                                                    Event(Zone::kSample, Resource::kCpu, 0, 2.1, 4),
                                                    Event(Zone::kPass, Resource::kNpu, 32, 8, 9)}}}});
  EXPECT_EQ(Count(svg, "fill=\"#e0c050\""), 1 + 1);
  EXPECT_EQ(Count(svg, "fill=\"#b79bca\""), 1) << "a pass after the axis' end";
  EXPECT_TRUE(absl::StrContains(svg, "width=\"454.55\""));
  EXPECT_TRUE(absl::StrContains(svg, "width=\"909.09\""));
  EXPECT_FALSE(absl::StrContains(svg, ">2.5 s<"));
}

TEST(RequestPicture, WithoutLoadsAPassFillsTheAxisAndWithoutEventsNothingIsDrawn) {
  const std::string all = RequestPictureSvg({"", {{"a", {Event(Zone::kPass, Resource::kCpu, 1, 0, 8)}}}});
  EXPECT_TRUE(absl::StrContains(all, "width=\"1000.00\""));
  for (const RequestPicture& picture : {RequestPicture(), RequestPicture{"<a&b>", {{"c<d", {}}}}}) {
    const std::string svg = RequestPictureSvg(picture);
    EXPECT_TRUE(absl::StartsWith(svg, "<svg "));
    EXPECT_FALSE(absl::StrContains(svg, "nan"));
    EXPECT_FALSE(absl::StrContains(svg, "<a"));
    EXPECT_FALSE(absl::StrContains(svg, "c<d"));
  }
}

}  // namespace
}  // namespace tessera
