#include "tessera/npu/switch_choice.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

GraphTimes SameLayers(int rows, int layers, double run, double load) {
  return {.rows = rows, .run_seconds = std::vector<double>(layers, run), .load_seconds = std::vector<double>(layers, load)};
}

GraphTimes RandomLayers(SeededRandom& random, int rows, int layers, double run, double load) {
  GraphTimes graph = {.rows = rows};
  for (int layer = 0; layer < layers; ++layer) {
    graph.run_seconds.push_back(run * (0.5 + random.Uniform()));
    graph.load_seconds.push_back(load * (0.5 + random.Uniform()));
  }
  return graph;
}

TEST(SwitchChoice, HeaderExample) {
  std::vector<GraphTimes> graphs = {SameLayers(32, 24, 0.5, 1), SameLayers(256, 24, 1, 1)};
  graphs[0].fixed_seconds = 0.2;
  const auto choose = [&]() -> absl::StatusOr<SwitchChoice> {
    ASSIGN_OR_RETURN(SwitchChoice choice, ChooseSwitch(graphs, {.prefill_rows = {256}, .decode_rows = {32}, .prompt_tokens = 512}));
    return choice;
  };
  const SwitchChoice choice = Must(choose());
  EXPECT_EQ(choice.prefill_rows, 256);
  EXPECT_EQ(choice.decode_rows, 32);
  EXPECT_EQ(choice.ends.back(), 24);
  EXPECT_EQ(choice.times.size(), choice.ends.size());
  EXPECT_GT(choice.seconds(), 24);
}

// All ways to cut layers into so many blocks.
std::vector<std::vector<int>> AllCuts(int layers, int blocks) {
  if (blocks == 1) return {{layers}};
  std::vector<std::vector<int>> cuts;
  for (int last = blocks - 1; last < layers; ++last) {
    for (std::vector<int> cut : AllCuts(last, blocks - 1)) {
      cut.push_back(layers);
      cuts.push_back(std::move(cut));
    }
  }
  return cuts;
}

double LongestBlock(const std::vector<double>& seconds, const std::vector<int>& ends) {
  double longest = 0;
  int begin = 0;
  for (const int end : ends) {
    longest = std::max(longest, std::accumulate(seconds.begin() + begin, seconds.begin() + end, 0.0));
    begin = end;
  }
  return longest;
}

TEST(SwitchChoice, BalancedSharesAreTheBestOfAllCuts) {
  SeededRandom random(1);
  for (int round = 0; round < 200; ++round) {
    const int layers = 1 + static_cast<int>(random.Below(8)), blocks = 1 + static_cast<int>(random.Below(layers));
    std::vector<double> seconds;
    for (int layer = 0; layer < layers; ++layer) seconds.push_back(round % 3 == 0 ? 1 + random.Below(3) : random.Uniform());
    const std::vector<int> ends = BalancedShares(seconds, blocks);
    ASSERT_EQ(static_cast<int>(ends.size()), blocks);
    EXPECT_EQ(ends.back(), layers);
    int begin = 0;
    for (const int end : ends) EXPECT_LT(std::exchange(begin, end), end) << "round " << round;
    double best = std::numeric_limits<double>::infinity();
    for (const std::vector<int>& cut : AllCuts(layers, blocks)) best = std::min(best, LongestBlock(seconds, cut));
    EXPECT_NEAR(LongestBlock(seconds, ends), best, 1e-9) << "round " << round;
  }
}

// What a load has however small it is, a block of several layers has once.
TEST(SwitchChoice, ABlockPaysTheFixedPartOfALoadOnce) {
  GraphTimes decode = SameLayers(32, 4, 0.5, 1), prefill = SameLayers(256, 4, 1, 2);
  decode.fixed_seconds = 0.75;
  prefill.fixed_seconds = 1.5;
  const std::vector<int> ends = {1, 4};
  const std::vector<SwitchTimes> times = TimesOfBlocks(prefill, decode, ends);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].load_seconds, 1);
  EXPECT_EQ(times[1].load_seconds, 3 - 2 * 0.75);
  EXPECT_EQ(times[0].return_seconds, 2);
  EXPECT_EQ(times[1].return_seconds, 6 - 2 * 1.5);
  EXPECT_EQ(times[1].decode_seconds, 3 * 0.5);
}

TEST(SwitchChoice, EqualSharesCoverAllLayers) {
  EXPECT_EQ(EqualShares(24, 3), (std::vector<int>{8, 16, 24}));
  EXPECT_EQ(EqualShares(7, 3), (std::vector<int>{2, 4, 7}));
  EXPECT_EQ(EqualShares(5, 5), (std::vector<int>{1, 2, 3, 4, 5}));
}

// What a way to cut and a pair of graphs come to, planned and simulated here.
double SecondsOf(const GraphTimes& prefill, const GraphTimes& decode, const std::vector<int>& ends, const SwitchQuestion& question) {
  const std::vector<SwitchTimes> times = TimesOfBlocks(prefill, decode, ends);
  const SwitchPrompt prompt = PromptOf(question.prompt_tokens, prefill.rows, decode.rows);
  const SwitchPlan plan = Must(PlanSwitch(times, prompt, question.rule));
  const bool padded = question.rule == SwitchRule::kPadded;
  const GraphTimes& decodes = padded ? prefill : decode;
  const int runs = (question.pass_rows + decodes.rows - 1) / decodes.rows;
  return Must(SimulateSwitch(times, prompt, plan)).total_seconds() +
         question.decode_passes * runs * std::accumulate(decodes.run_seconds.begin(), decodes.run_seconds.end(), 0.0);
}

// Every number of blocks, by equal and by balanced shares.
TEST(SwitchChoice, IsTheBestOfAllAllowedChoices) {
  SeededRandom random(2);
  for (int round = 0; round < 100; ++round) {
    const int layers = 1 + static_cast<int>(random.Below(6));
    const double load = 0.2 + 4 * random.Uniform();
    GraphTimes decode = RandomLayers(random, 4, layers, 0.4, load), prefill = RandomLayers(random, 16, layers, 1, load);
    for (GraphTimes* const graph : {&decode, &prefill}) {   // At least half of `load` is in each of them.
      if (round % 2 == 1) graph->fixed_seconds = 0.5 * load * random.Uniform();
    }
    SwitchQuestion question = {.rule = kSwitchRules[round % 5], .prefill_rows = {16}, .decode_rows = {4}, .decode_passes = 3,
                               .pass_rows = 5};
    question.prompt_tokens = 1 + static_cast<int>(random.Below(64));
    const SwitchChoice choice = Must(ChooseSwitch({decode, prefill}, question));
    double best = std::numeric_limits<double>::infinity();
    size_t fewest = 0;
    for (int blocks = 1; blocks <= layers; ++blocks) {
      std::vector<double> weights;
      for (int layer = 0; layer < layers; ++layer) {
        weights.push_back(prefill.run_seconds[layer] + decode.load_seconds[layer] - decode.fixed_seconds);
      }
      for (const std::vector<int>& ends : {EqualShares(layers, blocks), BalancedShares(weights, blocks)}) {
        const double seconds = SecondsOf(prefill, decode, ends, question);
        if (seconds < best * (1 - 1e-9)) fewest = ends.size();
        best = std::min(best, seconds);
      }
    }
    EXPECT_NEAR(choice.seconds(), best, 1e-9 * best) << "round " << round;
    EXPECT_NEAR(SecondsOf(prefill, decode, choice.ends, question), best, 2e-9 * best) << "round " << round;
    EXPECT_EQ(choice.ends.size(), fewest) << "of equally good ones the fewest blocks, round " << round;
  }
}

TEST(SwitchChoice, RowsAreChosenByTheirTime) {
  // A chunk of 256 takes less than two of 128, and a sub-chunk of 64 as long as one of 32.
  const std::vector<GraphTimes> graphs = {SameLayers(32, 4, 1, 2), SameLayers(64, 4, 1, 2), SameLayers(128, 4, 3, 2),
                                          SameLayers(256, 4, 4, 2)};
  SwitchQuestion question = {.prefill_rows = {128, 256}, .decode_rows = {32, 64}, .prompt_tokens = 512, .pass_rows = 64};
  EXPECT_EQ(Must(ChooseSwitch(graphs, question)).prefill_rows, 256);
  EXPECT_EQ(Must(ChooseSwitch(graphs, question)).decode_rows, 64) << "passes of 64 rows";
  question.prefill_rows = {128};
  EXPECT_EQ(Must(ChooseSwitch(graphs, question)).prefill_rows, 128);
}

TEST(SwitchChoice, IsTheSameEachTimeAndAsManyBlocksAsAsked) {
  SeededRandom random(3);
  const std::vector<GraphTimes> graphs = {RandomLayers(random, 32, 24, 0.5, 1), RandomLayers(random, 256, 24, 1, 1)};
  SwitchQuestion question = {.prefill_rows = {256}, .decode_rows = {32}};
  const SwitchChoice first = Must(ChooseSwitch(graphs, question)), second = Must(ChooseSwitch(graphs, question));
  EXPECT_EQ(first.ends, second.ends);
  EXPECT_EQ(first.seconds(), second.seconds());
  for (const int blocks : {1, 5, 24}) {
    question.blocks = blocks;
    EXPECT_EQ(static_cast<int>(Must(ChooseSwitch(graphs, question)).ends.size()), blocks);
  }
}

// A block's prefill graphs are not exchanged, so cutting gains nothing.
TEST(SwitchChoice, PaddedDecodingHasOneBlock) {
  const std::vector<GraphTimes> graphs = {SameLayers(32, 6, 0.5, 1), SameLayers(256, 6, 1, 1)};
  const SwitchChoice choice = Must(ChooseSwitch(graphs, {.rule = SwitchRule::kPadded, .prefill_rows = {256}, .decode_rows = {32}}));
  EXPECT_EQ(choice.ends, std::vector<int>{6});
  EXPECT_EQ(choice.decode_seconds, 64 * 6) << "each pass takes what a chunk takes";
}

TEST(SwitchChoice, AnImpossibleQuestionIsRefused) {
  const std::vector<GraphTimes> good = {SameLayers(4, 3, 1, 1), SameLayers(16, 3, 1, 1)};
  const auto error = [](const std::vector<GraphTimes>& graphs, const SwitchQuestion& question) {
    const absl::Status status = ChooseSwitch(graphs, question).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const SwitchQuestion asked = {.prefill_rows = {16}, .decode_rows = {4}};
  EXPECT_EQ(error({}, asked), "switching: found no graphs, expected some");
  EXPECT_EQ(error({{.rows = 4}}, asked), "switching: layers: found 0, expected 1 to 256");
  EXPECT_EQ(error({good[1], good[0]}, asked), "switching: rows of a graph: found 4, expected 17 to 65536");
  EXPECT_EQ(error({good[0], SameLayers(16, 2, 1, 1)}, asked),
            "switching: run_seconds of graphs of 16 rows: found 2 layers, expected 3");
  EXPECT_EQ(error({good[0], SameLayers(16, 3, 1, -1)}, asked),
            "switching: load_seconds of graphs of 16 rows: found -1, expected 0 to 1e+09");
  GraphTimes all_fixed = SameLayers(16, 3, 1, 1);
  all_fixed.fixed_seconds = 2;
  EXPECT_EQ(error({good[0], all_fixed}, asked), "switching: fixed_seconds of graphs of 16 rows: found 2, expected 0 to 1");
  all_fixed.fixed_seconds = -1;
  EXPECT_EQ(error({good[0], all_fixed}, asked), "switching: fixed_seconds of graphs of 16 rows: found -1, expected 0 to 1");
  EXPECT_EQ(error(good, {.prefill_rows = {8}, .decode_rows = {4}}),
            "switching: prefill_rows: found 8, expected rows of graphs: 4, 16");
  EXPECT_EQ(error(good, {.prefill_rows = {4}, .decode_rows = {16}}),
            "switching: found no rows to choose from, expected a decode graph as small as a prefill graph");
  EXPECT_EQ(error(good, {.prefill_rows = {16}, .decode_rows = {4}, .blocks = 4}), "switching: blocks: found 4, expected 0 to 3");
  EXPECT_EQ(error(good, {.prefill_rows = {16}, .decode_rows = {4}, .prompt_tokens = 0}),
            "switching: tokens of a prompt: found 0, expected 1 to 16777216");
}

}  // namespace
}  // namespace tessera
