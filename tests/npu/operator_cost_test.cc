#include "tessera/npu/modeled/operator_cost.h"

#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tessera/npu/compiler.h"
#include "tessera/tests/fakes/must.h"

namespace tessera {
namespace {

DeviceProfile Phone() { return LoadDeviceProfile("8gen3").value(); }
ExecutionStyle Style(const char* name) { return ExecutionStyleByName(name).value(); }

// A layer's products, attention and norm, with weights of a scheme.
Graph Layer(std::optional<TileScheme> scheme, int64_t width = 2048) {
  Graph graph;
  const BufferId x = graph.AddInput("hidden", width), normed = graph.AddScratch("normed", width);
  graph.Add(RmsNorm{.x = x, .weight = graph.AddVector("norm.weight", width), .y = normed, .epsilon = 1e-5f});
  const BufferId q = graph.AddScratch("query", width), k = graph.AddScratch("key", 512), v = graph.AddScratch("value", 512);
  graph.Add(Linear{.x = normed, .products = {{.weight = graph.AddMatrix({"q", BlockFormat::kQ4_0, width, width}, scheme), .y = q},
                                             {.weight = graph.AddMatrix({"k", BlockFormat::kQ4_0, 512, width}, scheme), .y = k},
                                             {.weight = graph.AddMatrix({"v", BlockFormat::kQ4_0, 512, width}, scheme), .y = v}}});
  graph.Add(StoreKeyValue{.key = k, .value = v});
  graph.Add(Attention{.query = q, .y = graph.AddOutput("out", width), .heads = static_cast<int>(width / 64), .scale = 0.125f});
  return graph;
}

constexpr TileScheme kInt4 = {}, kChannel = {TileCode::kInt4, TileScales::kChannel, TileInput::kInt16};

GraphCost Cost(const Graph& graph, const CostSetting& setting) { return CostOfGraph(graph, setting).value(); }

TEST(OperatorCost, HeaderExample) {
  const DeviceProfile profile = Phone();
  const CompiledGraph compiled = Compile(Layer(kInt4), {.row_capacity = 32}).value();
  const CostSetting setting = {.profile = profile, .style = Style("operators"), .rows = 32, .positions = 1024};
  const GraphCost cost = CostOfGraph(compiled.graph, setting).value();
  EXPECT_GT(cost.seconds, 0);
  EXPECT_GT(cost.read_bytes, 0);
  EXPECT_FALSE(BoundName(cost.bound).empty());
}

// Rows up to a tile's 32 cost the matrix unit the same: what they cost more lies with the vector unit (note (h) 6).
TEST(OperatorCost, ATileOfRowsCostsTheMatrixUnitNoMoreThanOne) {
  const DeviceProfile profile = Phone();
  const auto of = [&](int64_t rows) {
    return Cost(Layer(kInt4), {.profile = profile, .style = Style("operators"), .rows = rows, .positions = 512}).operators[1];
  };
  EXPECT_EQ(of(1).busy[0], of(32).busy[0]);
  EXPECT_LT(of(32).busy[0], of(33).busy[0]);
  EXPECT_EQ(of(1).read_bytes, of(32).read_bytes);
}

TEST(OperatorCost, AStaticGraphCostsItsRowsAndContext) {
  const DeviceProfile profile = Phone();
  const ExecutionStyle style = Style("static");
  const auto of = [&](int64_t rows, int64_t context) {
    return Cost(Layer(kChannel), {.profile = profile, .style = style, .rows = rows, .positions = context});
  };
  EXPECT_LT(of(32, 1024).seconds, of(128, 1024).seconds);
  EXPECT_LT(of(32, 1024).seconds, of(32, 4096).seconds);
  EXPECT_LE(of(1, 1024).seconds, of(32, 1024).seconds);
}

// Each number of the profile that such graphs use makes a difference, and in the direction of its meaning.
TEST(OperatorCost, EachParameterMovesThePrediction) {
  const DeviceProfile base = Phone();
  const Graph half = Layer(kInt4), integers = Layer(kChannel), plain = Layer({});
  const auto seconds = [&](const DeviceProfile& profile) {
    double sum = 0;
    for (const char* style : {"operators", "static", "unshared"}) {
      for (const Graph* graph : {&half, &integers, &plain}) {
        for (const int64_t rows : {1, 1024}) {
          for (const ModeledExp exp : {ModeledExp::kTable, ModeledExp::kHalfPolynomial}) {
            for (const WeightArrangement arrangement :
                 {WeightArrangement::kSuperGroups, WeightArrangement::kTileGroups, WeightArrangement::kScattered}) {
              const CostSetting setting = {.profile = profile, .style = Style(style), .rows = rows, .positions = 2048,
                                           .arrangement = arrangement, .exp = exp};
              sum += Cost(*graph, setting).seconds + CallSeconds(profile, Style(style));
            }
          }
        }
      }
    }
    return sum;
  };
  const double before = seconds(base);
  for (const ProfileField& field : ProfileFields()) {
    const std::string name = field.name;
    // These are of the memory's size, of loading, of power, and of drafting: other tests have them.
    if (name.find("watts") != std::string::npos || name.rfind("load_", 0) == 0 || name == "session_bytes" || name == "switch_seconds" ||
        name == "draft_seconds" || name == "calibrate_seconds" || name == "ddr_bytes_per_second" || name == "tcm_bytes") {
      continue;
    }
    DeviceProfile changed = base;
    changed.*field.value *= 1.1;
    const bool is_rate = name.find("per_second") != std::string::npos || name.find("hertz") != std::string::npos ||
                         name.find("threads") != std::string::npos || name.find("speedup") != std::string::npos ||
                         name.find("efficiency") != std::string::npos || name == "gather_packets";
    EXPECT_NE(seconds(changed), before) << name;
    EXPECT_EQ(seconds(changed) < before, is_rate) << name;
  }
}

// The test-time scaling paper, section 7.4: tiles one by one and scattered groups cost more than super-groups, a copy less; 2^x by table
// is cheapest.
TEST(OperatorCost, AblationsAreInThePapersOrder) {
  const DeviceProfile profile = Phone();
  const auto of = [&](WeightArrangement arrangement) {
    const CostSetting setting = {
        .profile = profile, .style = Style("operators"), .rows = 4, .positions = 512, .arrangement = arrangement};
    return Cost(Layer(kInt4), setting).seconds;
  };
  EXPECT_LT(of(WeightArrangement::kNotDequantized), of(WeightArrangement::kSuperGroups));
  EXPECT_LT(of(WeightArrangement::kSuperGroups), of(WeightArrangement::kTileGroups));
  EXPECT_LT(of(WeightArrangement::kTileGroups), of(WeightArrangement::kScattered));
  const auto softmax = [&](ModeledExp exp) {
    const CostSetting setting = {.profile = profile, .style = Style("operators"), .rows = 16, .positions = 4096, .exp = exp};
    return Cost(Layer(kInt4), setting).operators.back().busy[static_cast<int>(Bound::kVector)];
  };
  EXPECT_LT(softmax(ModeledExp::kHalfPolynomial), softmax(ModeledExp::kFloatPolynomial));
  EXPECT_LT(softmax(ModeledExp::kTable), softmax(ModeledExp::kFloatPolynomial));
}

TEST(OperatorCost, MatricesWithoutTilesAreTheStylesPlaces) {
  const DeviceProfile profile = Phone();
  const auto busy = [&](const char* style, Bound bound) {
    const GraphCost cost = Cost(Layer({}), {.profile = profile, .style = Style(style), .rows = 8, .positions = 64});
    return cost.operators[1].busy[static_cast<int>(bound)];
  };
  EXPECT_GT(busy("operators", Bound::kCpu), 0);
  EXPECT_EQ(busy("operators", Bound::kDma), 0);
  EXPECT_GT(busy("static", Bound::kDma), 0);
  EXPECT_EQ(busy("static", Bound::kCpu), 0);
}

// An assumption that nothing makes by default: empty rows of a static graph cost the CPU's attention nothing.
TEST(OperatorCost, AttentionOfFewerRowsIsTheCpusAlone) {
  const DeviceProfile profile = Phone();
  const auto seconds = [&](const char* style, int64_t attention_rows) {
    return Cost(Layer(kChannel), {.profile = profile, .style = Style(style), .rows = 32, .positions = 4096,
                                  .attention_rows = attention_rows}).seconds;
  };
  EXPECT_EQ(seconds("unshared", 32), seconds("unshared", -1));
  EXPECT_LT(seconds("unshared", 1), seconds("unshared", 8));
  EXPECT_LT(seconds("unshared", 8), seconds("unshared", 32));
  for (const char* const style : {"operators", "static"}) EXPECT_EQ(seconds(style, 1), seconds(style, -1)) << style;
}

TEST(OperatorCost, PartsAreNotBusierThanTheOperatorTakes) {
  const DeviceProfile profile = Phone();
  for (const char* style : {"operators", "static", "unshared"}) {
    for (const int64_t rows : {1, 31, 64, 700, 2048}) {
      for (const Graph& graph : {Layer(kInt4), Layer(kChannel), Layer({})}) {
        const GraphCost cost = Cost(graph, {.profile = profile, .style = Style(style), .rows = rows, .positions = 3000});
        double sum = 0;
        for (const OperatorCost& op : cost.operators) {
          sum += op.seconds;
          for (const double busy : op.busy) EXPECT_LE(busy, op.seconds * (1 + 1e-9)) << style << " " << rows;
        }
        EXPECT_DOUBLE_EQ(sum, cost.seconds);
      }
    }
  }
}

TEST(OperatorCost, BadCountsAreRefusedAndOperatorsNamed) {
  const DeviceProfile profile = Phone();
  const auto error = [&](const Graph& graph, int64_t rows, int64_t positions) {
    return std::string(
        CostOfGraph(graph, {.profile = profile, .style = Style("operators"), .rows = rows, .positions = positions}).status().message());
  };
  EXPECT_EQ(error(Layer(kInt4), 0, 1), "cost of a graph: rows: found 0, expected 1 to 16777216");
  EXPECT_EQ(error(Layer(kInt4), 1, -4), "cost of a graph: positions: found -4, expected 1 to 16777216");
  EXPECT_EQ(error(Layer(kInt4, 32832), 1, 1), "operator 1 (Linear): tile product: inputs: found 32832, expected 1 to 32768");
}

}  // namespace
}  // namespace tessera
