// Adapters of rows on HostDevice: each row its own, none of them seen by another row.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/paired_run.h"
#include "tessera/tests/fakes/varied_block.h"

namespace tessera {
namespace {

// One Linear of two matrices, 70 and 33 outputs of 96 inputs, placeholder 1 on the first, which is cut in two, and 0 on the
// second.
constexpr int64_t kIn = 96, kFirst = 70, kCut = 64, kSecond = 33;

Graph TwoMatrices(BlockFormat format) {
  Graph graph;
  graph.adapters = 2;
  const BufferId x = graph.AddInput("x", kIn), y = graph.AddOutput("y", kFirst), z = graph.AddOutput("z", kSecond);
  const WeightId top = graph.AddMatrix({"first.0", format, kCut, kIn});
  const WeightId bottom = graph.AddMatrix({"first.1", format, kFirst - kCut, kIn});
  const WeightId second = graph.AddMatrix({"second", format, kSecond, kIn});
  graph.Add(Linear{.x = x,
                   .products = {{.weight = top, .y = y, .adapter = 1},
                                {.weight = bottom, .y = y, .first_column = kCut, .adapter = 1},
                                {.weight = second, .y = z, .adapter = 0}}});
  return graph;
}

// Numbers for both placeholders, or for one. B covers all columns of y, whichever a product fills.
class Adapter {
 public:
  Adapter(int rank, uint64_t seed, bool first = true, bool second = true) {
    Fill(a_[0], rank * kIn, seed), Fill(b_[0], rank * (kFirst + kSecond), seed + 1);
    Fill(a_[1], rank * kIn, seed + 2), Fill(b_[1], rank * (kFirst + kSecond), seed + 3);
    if (second) products_[0] = {a_[0].data(), b_[0].data(), rank, 0.7f};
    if (first) products_[1] = {a_[1].data(), b_[1].data(), rank, -1.3f};
  }
  const AdapterProduct* products() const { return products_; }

  // The same adapter with its numbers rounded to a format of 16 bits, in it or in FP32.
  void Narrow(BlockFormat format, bool keeps_floats) {
    for (int i = 0; i < 2; ++i) {
      if (products_[i].a == nullptr) continue;
      products_[i].a = Rounded(format, keeps_floats, a_[i], narrow_[2 * i]);
      products_[i].b = Rounded(format, keeps_floats, b_[i], narrow_[2 * i + 1]);
      products_[i].format = keeps_floats ? BlockFormat::kF32 : format;
    }
  }

 private:
  static const void* Rounded(BlockFormat format, bool keeps_floats, std::vector<float>& numbers, std::vector<std::byte>& narrow) {
    narrow.resize(numbers.size() * 2);
    InfoOf(format).quantize(numbers.data(), static_cast<int64_t>(numbers.size()), narrow.data());
    InfoOf(format).dequantize(narrow.data(), static_cast<int64_t>(numbers.size()), numbers.data());
    return keeps_floats ? static_cast<const void*>(numbers.data()) : narrow.data();
  }
  static void Fill(std::vector<float>& values, int64_t size, uint64_t seed) {
    SeededRandom random(seed);
    values.resize(size);
    for (float& value : values) value = random.Uniform(-0.2f, 0.2f);
  }
  std::vector<float> a_[2], b_[2];
  std::vector<std::byte> narrow_[4];
  AdapterProduct products_[2];
};

// The rows of every test: no adapter, three ranks, one placeholder alone, the same one again.
struct Rows {
  Adapter one{1, 30}, four{4, 40}, large{64, 50}, first_alone{4, 60, true, false}, second_alone{4, 70, false, true},
      unbound{4, 80, false, false};
  std::vector<TestRow> rows = Chain(9);
  Rows() {
    const AdapterProduct* const products[] = {
        nullptr,           one.products(),         four.products(),         large.products(),
        nullptr,           first_alone.products(), second_alone.products(), four.products(),
        unbound.products()};
    for (int r = 0; r < 9; ++r) rows[r].adapters = products[r];
  }
};

bool Bound(int row) { return row != 0 && row != 4 && row != 8; }

// With float weights all differences are rounding: 96 inputs and 64 ranks, each side.
TEST(HostAdapters, AgreeWithTheReferenceForEveryRank) {
  PairedRun paired(TwoMatrices(BlockFormat::kF32), {});
  const Rows rows;
  ReferenceDevice reference;
  const RowOutputs expected = paired.On(reference, rows.rows), plain = paired.On(reference, Chain(9));
  for (KernelPath path : SupportedKernelPaths()) {
    ThreadPool pool(2);
    HostDevice device(pool, {.path = path});
    const RowOutputs found = paired.On(device, rows.rows);
    for (int r = 0; r < 9; ++r) {
      for (int64_t c = 0; c < kFirst + kSecond; ++c)
        ASSERT_NEAR(found[r][c], expected[r][c], 1e-5) << "row " << r << " column " << c;
      const bool first = Bound(r) && r != 6, second = Bound(r) && r != 5;
      EXPECT_EQ(std::fabs(found[r][7] - plain[r][7]) > 1e-4, first) << "row " << r;
      EXPECT_EQ(std::fabs(found[r][kFirst + 7] - plain[r][kFirst + 7]) > 1e-4, second) << "row " << r;
    }
  }
}

TEST(HostAdapters, BitsDoNotDependOnNeighboursThreadsOrPath) {
  for (BlockFormat format : {BlockFormat::kF16, BlockFormat::kQ4_0}) {
    PairedRun paired(TwoMatrices(format), {});
    const Rows rows;
    ThreadPool one(1);
    HostDevice portable(one, {.path = KernelPath::kPortable});
    RowOutputs alone;
    for (const TestRow& row : rows.rows) alone.push_back(paired.On(portable, {row})[0]);
    for (KernelPath path : SupportedKernelPaths()) {
      for (int threads : {1, 2, 3}) {
        ThreadPool pool(threads);
        HostDevice device(pool, {.path = path});
        const RowOutputs together = paired.On(device, rows.rows);
        for (int r = 0; r < 9; ++r) {
          EXPECT_TRUE(SameBits(together[r], alone[r])) << InfoOf(format).name << " " << KernelPathName(path) << " row " << r;
          EXPECT_TRUE(SameBits(paired.On(device, {rows.rows[r]})[0], alone[r]))
              << "row " << r << " alone, " << threads << " threads";
        }
      }
    }
  }
}

// Widening 16 bits is exact: the bits of a result are those of the same numbers in FP32, on each path, for one row and for many.
TEST(HostAdapters, NumbersOf16BitsGiveTheBitsOfTheSameNumbersInFp32) {
  for (const BlockFormat format : {BlockFormat::kF16, BlockFormat::kBF16}) {
    Rows wide, narrow;
    for (auto& [rows, floats] : {std::pair{&wide, true}, {&narrow, false}}) {
      for (Adapter* adapter : {&rows->one, &rows->four, &rows->large, &rows->first_alone, &rows->second_alone}) {
        adapter->Narrow(format, floats);
      }
    }
    for (const BlockFormat weights : {BlockFormat::kF32, BlockFormat::kQ4_0}) {
      PairedRun paired(TwoMatrices(weights), {});
      ReferenceDevice reference;
      if (weights == BlockFormat::kF32) {
        EXPECT_EQ(paired.On(reference, narrow.rows), paired.On(reference, wide.rows));
      }
      ThreadPool one(1);
      HostDevice portable(one, {.path = KernelPath::kPortable});
      const RowOutputs expected = paired.On(portable, wide.rows);
      for (const KernelPath path : SupportedKernelPaths()) {
        for (const int threads : {1, 3}) {
          ThreadPool pool(threads);
          HostDevice device(pool, {.path = path});
          const RowOutputs found = paired.On(device, narrow.rows);
          for (size_t r = 0; r < expected.size(); ++r) {
            EXPECT_TRUE(SameBits(found[r], expected[r])) << InfoOf(format).name << " " << KernelPathName(path) << " row " << r;
            EXPECT_TRUE(SameBits(paired.On(device, {narrow.rows[r]})[0], expected[r])) << "row " << r << " alone";
          }
        }
      }
    }
  }
}

// Workers have rows of their own then.
TEST(HostAdapters, ManyRowsHaveTheBitsOfEachAlone) {
  PairedRun paired(TwoMatrices(BlockFormat::kQ4_0), {.slots = 208, .row_capacity = 208});
  const Rows few;
  std::vector<TestRow> rows = Chain(203);
  for (size_t r = 0; r < rows.size(); ++r) rows[r].adapters = few.rows[r % 9].adapters;
  ThreadPool one(1), two(2);
  HostDevice alone(one), device(two);
  const RowOutputs together = paired.On(device, rows);
  for (size_t r = 0; r < rows.size(); ++r) ASSERT_TRUE(SameBits(together[r], paired.On(alone, {rows[r]})[0])) << "row " << r;
}

TEST(HostAdapters, RowsWithoutOneKeepTheirBits) {
  PairedRun paired(TwoMatrices(BlockFormat::kQ8_0), {});
  const Rows rows;
  ThreadPool pool(2);
  HostDevice device(pool);
  RunArguments& arguments = paired.Prepare(device, Chain(9));
  arguments.adapters = {};  // As if the graph had no placeholder.
  ASSERT_EQ(device.Run(*device.Load(paired.compiled()).value(), arguments), absl::OkStatus());
  const RowOutputs plain = paired.Outputs(), found = paired.On(device, rows.rows);
  for (int r = 0; r < 9; ++r) EXPECT_EQ(SameBits(found[r], plain[r]), !Bound(r)) << "row " << r;
}

TEST(HostAdapters, TheLargestRankRuns) {
  PairedRun paired(TwoMatrices(BlockFormat::kF32), {});
  const Adapter largest(1024, 90);
  std::vector<TestRow> rows = Chain(2);
  rows[1].adapters = largest.products();
  ThreadPool pool(1);
  HostDevice device(pool);
  ReferenceDevice reference;
  const RowOutputs expected = paired.On(reference, rows), found = paired.On(device, rows);
  for (size_t c = 0; c < found[1].size(); ++c) ASSERT_NEAR(found[1][c], expected[1][c], 1e-4) << c;
}

// A whole block: an adapter reaches the cache, so a row sees its own text's keys, whoever else is in the pass.
TEST(HostAdapters, TextsWithDifferentAdaptersShareAPass) {
  const VariedShape shape = {.adapters = true, .formats = {BlockFormat::kQ4_0}};
  std::vector<float> numbers(2 * 2 * 96);
  SeededRandom random(31);
  for (float& number : numbers) number = random.Uniform(-0.3f, 0.3f);
  const std::vector<AdapterProduct> products(7, {.a = numbers.data(), .b = numbers.data() + 192, .rank = 2, .scale = 1});
  PairedRun paired(VariedBlock(shape), {.kv_heads = 2});
  ThreadPool pool(2);
  HostDevice device(pool);
  const auto text = [&](int slot, const AdapterProduct* adapters) {
    std::vector<TestRow> rows;
    for (int p = 0; p < 5; ++p) rows.push_back({p, {{slot, p + 1}}, adapters});
    return rows;
  };
  const RowOutputs plain = paired.On(device, text(0, nullptr)), adapted = paired.On(device, text(0, products.data()));
  std::vector<TestRow> both = text(3, nullptr);
  for (const TestRow& row : text(24, products.data())) both.push_back(row);
  paired.ForgetCaches();
  const RowOutputs found = paired.On(device, both);
  for (int p = 0; p < 5; ++p) {
    EXPECT_TRUE(SameBits(found[p], plain[p])) << p;
    EXPECT_TRUE(SameBits(found[5 + p], adapted[p])) << p;
    EXPECT_FALSE(SameBits(plain[p], adapted[p])) << p;
  }
}

}  // namespace
}  // namespace tessera
