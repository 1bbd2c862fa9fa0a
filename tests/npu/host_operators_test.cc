// Each operator of HostDevice alone, against ReferenceDevice or the definition, with bounds derived from the arithmetic. kUnit is
// the largest relative error of one rounding to FP32.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/half.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/paired_run.h"

namespace tessera {
namespace {

constexpr double kUnit = 0x1p-24;

// The largest difference allowed at a place of a row's outputs.
using Bound = std::function<double(int row, size_t column)>;

// Runs the graph on the reference and on the host, on every path, with one row, with a few and with many, and compares.
void Compare(PairedRun& paired, const Bound& bound) {
  ReferenceDevice reference;
  static ThreadPool& pool = *new ThreadPool(2);  // Starting threads would take longer than the tests.
  const RowOutputs expected = paired.On(reference, Chain(7));
  for (KernelPath path : SupportedKernelPaths()) {
    HostDevice device(pool, {.path = path});
    for (int rows : {1, 3, 7}) {
      const RowOutputs found = paired.On(device, Chain(rows));
      for (int r = 0; r < rows; ++r) {
        ASSERT_EQ(found[r].size(), expected[r].size());
        for (size_t c = 0; c < found[r].size(); ++c) {
          ASSERT_NEAR(found[r][c], expected[r][c], bound(r, c))
              << KernelPathName(path) << " row " << r << " of " << rows << " column " << c;
        }
      }
    }
  }
}

const int64_t kWidths[] = {1, 7, 8, 15, 16, 17, 31, 33, 48, 100};  // Around the sixteen lanes.

// A sum of n squares in 16 lanes errs by n / 16 + 4 roundings, the root halves it; then a root, a division and two products, and
// as much again for the reference.
TEST(HostOperators, RmsNormAgreesForAllWidthsAndGroups) {
  for (int64_t part : kWidths) {
    for (int groups : {1, 3}) {
      SCOPED_TRACE(testing::Message() << groups << " x " << part);
      Graph graph;
      const BufferId x = graph.AddInput("x", part * groups), y = graph.AddOutput("y", part * groups);
      graph.Add(RmsNorm{.x = x, .weight = graph.AddVector("norm", part), .y = y, .epsilon = 1e-3f, .groups = groups});
      PairedRun paired(graph, {});
      ReferenceDevice reference;
      const RowOutputs size = paired.On(reference, Chain(7));
      Compare(paired, [&](int r, size_t c) { return std::fabs(size[r][c]) * (part / 16.0 + 16) * kUnit; });
    }
  }
}

TEST(HostOperators, AddAndAddBiasAreExact) {
  for (int64_t width : kWidths) {
    Graph graph;
    const BufferId a = graph.AddInput("a", width), b = graph.AddInput("b", width);
    const BufferId biased = graph.AddScratch("biased", width), y = graph.AddOutput("y", width);
    graph.Add(AddBias{.x = a, .weight = graph.AddVector("bias", width), .y = biased});
    graph.Add(Add{.a = biased, .b = b, .y = y});
    PairedRun paired(graph, {});
    Compare(paired, [](int, size_t) { return 0.0; });
  }
}

// exp errs by 2e-7, and by the rounding of its argument u, a few units of |u|; what follows is a sum, a division and a product.
TEST(HostOperators, GatedActivationsAgree) {
  for (Activation activation : {Activation::kSilu, Activation::kGeluTanh}) {
    for (int64_t width : kWidths) {
      Graph graph;
      const BufferId gate = graph.AddInput("gate", width), up = graph.AddInput("up", width), y = graph.AddOutput("y", width);
      graph.Add(GatedActivation{.gate = gate, .up = up, .y = y, .activation = activation});
      PairedRun paired(graph, {});
      paired.set_input([](int external, int64_t content, float* row, int64_t columns) {
        SeededRandom random(CounterRandom(5, content, external));
        for (int64_t c = 0; c < columns; ++c) row[c] = random.Uniform(-6.0f, 6.0f);
      });
      Compare(paired, [&](int r, size_t c) {
        const double g = std::fabs(paired.Input(0, r)[c]), u = std::fabs(paired.Input(1, r)[c]);
        const double argument = activation == Activation::kSilu ? g : 1.6 * (g + 0.0447 * g * g * g);
        return g * u * (2e-7 + (4 * std::min(argument, 20.0) + 8) * kUnit);
      });
    }
  }
}

TEST(HostOperators, ActivationsOfLargeNumbersStayNumbers) {
  for (Activation activation : {Activation::kSilu, Activation::kGeluTanh}) {
    Graph graph;
    const BufferId gate = graph.AddInput("gate", 4), up = graph.AddInput("up", 4), y = graph.AddOutput("y", 4);
    graph.Add(GatedActivation{.gate = gate, .up = up, .y = y, .activation = activation});
    PairedRun paired(graph, {});
    paired.set_input([](int external, int64_t, float* row, int64_t) {
      const float numbers[] = {1e20f, -1e20f, 100.0f, -100.0f};
      for (int c = 0; c < 4; ++c) row[c] = external == 0 ? numbers[c] : 1.0f;
    });
    ThreadPool pool(1);
    for (KernelPath path : SupportedKernelPaths()) {
      HostDevice device(pool, {.path = path});
      EXPECT_EQ(paired.On(device, Chain(1))[0], (std::vector<float>{1e20f, 0.0f, 100.0f, 0.0f})) << KernelPathName(path);
    }
  }
}

// Two products and a sum: three roundings here and there, of numbers up to |a| + |b| <= 2. What lies behind the dimensions stays.
TEST(HostOperators, RopeTurnsTheFirstDimensionsOfEachHead) {
  for (RopePairs pairs : {RopePairs::kAdjacent, RopePairs::kHalves}) {
    for (const auto& [head_size, dimensions] :
         std::vector<std::pair<int, int>>{{2, 2}, {16, 16}, {20, 10}, {64, 48}, {80, 80}, {33, 32}}) {
      SCOPED_TRACE(testing::Message() << dimensions << " of " << head_size);
      Graph graph;
      const BufferId x = graph.AddInput("x", 3 * head_size), y = graph.AddOutput("y", 3 * head_size);
      graph.Add(Rope{.x = x, .y = y, .heads = 3, .dimensions = dimensions, .pairs = pairs});
      PairedRun paired(graph, {});
      Compare(paired, [&, head_size = head_size, dimensions = dimensions](int, size_t c) {
        return static_cast<int>(c) % head_size < dimensions ? 2 * 6 * kUnit : 0.0;
      });
    }
  }
}

// Half a step of a group's rounding, amax / 254 or for a fine row amax / 65024, for each weight it meets, plus n roundings of a sum of
// magnitudes on each side.
double ProductBound(const std::vector<float>& x, const float* w, bool rounded, bool fine) {
  double bound = 0;
  for (size_t first = 0; first < x.size(); first += 32) {
    double largest = 0, weights = 0, magnitude = 0;
    for (size_t k = first; k < std::min(first + 32, x.size()); ++k) {
      largest = std::max(largest, std::fabs(double{x[k]}));
      weights += std::fabs(double{w[k]});
      magnitude += std::fabs(double{x[k]} * w[k]);
    }
    if (rounded) bound += weights * largest / (fine ? 65024.0 : 254.0);
    bound += magnitude * 2 * static_cast<double>(x.size() + 4) * kUnit;
  }
  return bound;
}

TEST(HostOperators, LinearAgreesInEveryFormatFineOrNot) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const bool rounded = info.values_per_block > 1;
    const int64_t in = rounded ? 256 : 77;
    for (int64_t out : {1, 31, 33, 70}) {
      for (bool fine : {false, true}) {
        SCOPED_TRACE(testing::Message() << info.name << " N = " << out << (fine ? " fine" : ""));
        Graph graph;
        const BufferId x = graph.AddInput("x", in), y = graph.AddOutput("y", out);
        const WeightId w = graph.AddMatrix({"w", info.format, out, in});
        graph.Add(Linear{.x = x, .products = {{.weight = w, .y = y, .fine = fine}}});
        PairedRun paired(graph, {});
        Compare(paired,
                [&](int r, size_t c) { return ProductBound(paired.Input(0, r), paired.weight(w) + c * in, rounded, fine); });
      }
    }
  }
}

// Products of one Linear: parts of one output in any order, float beside rounded, 8 bits beside 16.
TEST(HostOperators, ProductsOfOneLinearFillTheirColumns) {
  Graph graph;
  const BufferId x = graph.AddInput("x", 256), parts = graph.AddOutput("parts", 110), other = graph.AddOutput("other", 45);
  const WeightId right = graph.AddMatrix({"right", BlockFormat::kQ6_K, 46, 256});
  const WeightId left = graph.AddMatrix({"left", BlockFormat::kF16, 64, 256});
  const WeightId alone = graph.AddMatrix({"alone", BlockFormat::kQ8_0, 45, 256});
  graph.Add(Linear{.x = x,
                   .products = {{.weight = right, .y = parts, .first_column = 64},
                                {.weight = alone, .y = other, .fine = true},
                                {.weight = left, .y = parts}}});
  PairedRun paired(graph, {});
  Compare(paired, [&](int r, size_t c) {
    const std::vector<float> row = paired.Input(0, r);
    if (c < 64) return ProductBound(row, paired.weight(left) + c * 256, false, false);
    if (c < 110) return ProductBound(row, paired.weight(right) + (c - 64) * 256, true, false);
    return ProductBound(row, paired.weight(alone) + (c - 110) * 256, true, true);
  });
}

// A product beside a fine one has the bits it has alone.
TEST(HostOperators, AProductIsTheSameBesideAFineOne) {
  const auto first_product = [](bool with_other) {
    Graph graph;
    const BufferId x = graph.AddInput("x", 64), y = graph.AddOutput("y", 40), other = graph.AddOutput("other", 40);
    Linear linear{.x = x, .products = {{.weight = graph.AddMatrix({"w", BlockFormat::kQ4_0, 40, 64}), .y = y}}};
    const WeightId w = graph.AddMatrix({"v", BlockFormat::kQ4_0, 40, 64});
    linear.products.push_back({.weight = w, .y = other, .fine = with_other});
    graph.Add(linear);
    PairedRun paired(graph, {});
    ThreadPool pool(2);
    HostDevice device(pool);
    return paired.On(device, Chain(3));
  };
  const RowOutputs alone = first_product(false), beside = first_product(true);
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 40; ++c) EXPECT_EQ(beside[r][c], alone[r][c]);
    EXPECT_FALSE(SameBits(beside[r], alone[r])) << "the other product must have changed";
  }
}

TEST(HostOperators, EmbeddingIsExactAndLeavesRowsOfOtherTablesAlone) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    SCOPED_TRACE(info.name);
    Graph graph;
    const BufferId y = graph.AddOutput("y", 256);
    const WeightId low = graph.AddMatrix({"low", info.format, 3, 256}), high = graph.AddMatrix({"high", info.format, 2, 256});
    graph.Add(Embedding{.table = low, .y = y, .first_token = 0, .scale = 0.1f});
    graph.Add(Embedding{.table = high, .y = y, .first_token = 4, .scale = 0.1f});
    PairedRun paired(graph, {});
    ThreadPool pool(2);
    HostDevice device(pool);
    const RowOutputs found = paired.On(device, Chain(7));  // Tokens 0 to 6; 3 and 6 are in neither table.
    for (int token = 0; token < 7; ++token) {
      const float* row = token < 3 ? paired.weight(low) + 256 * token : paired.weight(high) + 256 * (token - 4);
      for (int c = 0; c < 256; ++c)
        ASSERT_EQ(found[token][c], token % 3 == 0 && token > 0 ? PairedRun::kMark : row[c] * 0.1f) << token;
    }
    Compare(paired, [](int, size_t) { return 0.0; });
  }
}

TEST(HostOperators, StoreRoundsToHalvesInTheRowsSlotAndNowhereElse) {
  for (int head_size : {16, 20, 64}) {
    Graph graph;
    graph.Add(
        StoreKeyValue{.key = graph.AddInput("key", 3 * head_size), .value = graph.AddInput("value", 3 * head_size), .layer = 1});
    for (int rows : {1, 4}) {
      PairedRun paired(graph, {.kv_heads = 3, .head_size = head_size, .slots = 32});
      ThreadPool pool(2);
      HostDevice device(pool);
      std::vector<TestRow> in_slots;
      for (int r = 0; r < rows; ++r) in_slots.push_back({r, {{(13 * r + 5) % 32, 1}}});
      paired.On(device, in_slots);
      const KvView kv = paired.kv(KvFormat::kHalf);
      for (int head = 0; head < 3; ++head) {
        for (int slot = 0; slot < 32; ++slot) {
          const int row = slot % 13 == 5 ? slot / 13 : slot == 12 ? 3 : 4;  // 5, 18, 31, 44 % 32.
          for (int d = 0; d < head_size; ++d) {
            const uint16_t key = kv.Keys<uint16_t>(1, head)[kv.KeyIndex(slot, d)];
            const uint16_t value = kv.Values<uint16_t>(1, head)[kv.ValueIndex(slot, d)];
            ASSERT_EQ(key, row < rows ? FloatToHalf(paired.Input(0, row)[head * head_size + d]) : 0xffff) << slot << " " << d;
            ASSERT_EQ(value, row < rows ? FloatToHalf(paired.Input(1, row)[head * head_size + d]) : 0xffff) << slot << " " << d;
          }
        }
      }
      EXPECT_EQ(kv.Keys<uint16_t>(0, 2)[kv.KeyIndex(31, head_size - 1)], 0xffff) << "layer 0 is another's";
    }
  }
}

}  // namespace
}  // namespace tessera
