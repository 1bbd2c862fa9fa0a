// Attention of HostDevice: against the reference, and the promise that only logical positions reach a row's bits.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/tests/fakes/paired_run.h"
#include "tessera/tests/fakes/rotated.h"

namespace tessera {
namespace {

struct Heads {
  int heads = 4;
  int kv_heads = 2;
  int head_size = 20;
  int window = 0;
};

constexpr int64_t kNotANumber = -1;  // A row's content: all its inputs are NaN.

// Inputs key, value and query, whose numbers are k / 128 for k of -127 to 127, with one of 127 in each head, so that storing them as
// halves loses nothing; for a cache of bytes such numbers rotated.
PairedRun NewRun(const Heads& heads, KvFormat format, int slots = 64) {
  Graph graph;
  const int64_t keys = heads.kv_heads * heads.head_size, queries = heads.heads * heads.head_size;
  const BufferId k = graph.AddInput("key", keys), v = graph.AddInput("value", keys), q = graph.AddInput("query", queries);
  const float scale = 2.0f / std::sqrt(static_cast<float>(heads.head_size));
  graph.Add(StoreKeyValue{.key = k, .value = v});
  graph.Add(
      Attention{.query = q, .y = graph.AddOutput("y", queries), .heads = heads.heads, .scale = scale, .window = heads.window});
  PairedRun run(graph, {.kv_heads = heads.kv_heads, .head_size = heads.head_size, .slots = slots, .row_capacity = slots});
  run.set_input([format, size = heads.head_size](int external, int64_t content, float* row, int64_t columns) {
    SeededRandom random(CounterRandom(9, content, external));
    for (int64_t c = 0; c < columns; ++c) row[c] = (c % size == 0 ? 127 : static_cast<float>(random.Below(255)) - 127) / 128;
    for (int64_t c = 0; format == KvFormat::kInt8 && c < columns; c += size) {
      const std::vector<float> rotated = Rotated({row + c, static_cast<size_t>(size)});
      std::copy(rotated.begin(), rotated.end(), row + c);
    }
    if (content == kNotANumber) std::fill_n(row, columns, std::numeric_limits<float>::quiet_NaN());
  });
  return run;
}

// A score errs by head_size roundings of at most scale * sum |q k| (an average of 1/4 per product; 1 is safe), a weight by that and exp's
// 3e-7, the mean of values up to 1 by twice the weights' error and a rounding per position. Both sides err.
double Tolerance(const Heads& heads, int positions) {
  const double scores = heads.head_size * 0x1p-24 * 2 * std::sqrt(heads.head_size);
  return 2 * (2 * (scores + 3e-7) + positions * 0x1p-24);
}

class HostAttention : public testing::TestWithParam<KvFormat> {};
INSTANTIATE_TEST_SUITE_P(Formats, HostAttention, testing::Values(KvFormat::kHalf, KvFormat::kInt8),
                         [](const auto& info) { return info.param == KvFormat::kHalf ? "Half" : "Bytes"; });

TEST_P(HostAttention, AgreesWithTheReferenceForAllShapes) {
  SeededRandom random(10);
  for (int head_size : {1, 16, 20, 64, 80, 256}) {
    for (int group : {1, 2, 3, 4, 8}) {
      const int kv_heads = 1 + static_cast<int>(random.Below(3));
      const Heads heads = {group * kv_heads, kv_heads, head_size,
                           random.Below(2) == 0 ? 0 : 1 + static_cast<int>(random.Below(40))};
      SCOPED_TRACE(testing::Message() << "head size " << head_size << ", " << heads.heads << " on " << kv_heads
                                      << " heads, window " << heads.window);
      PairedRun run = NewRun(heads, GetParam());
      ReferenceDevice reference;
      const RowOutputs expected = run.On(reference, Chain(37));
      ThreadPool pool(2);
      HostDevice device(pool, {.kv_format = GetParam()});
      const RowOutputs found = run.On(device, Chain(37));
      for (int r = 0; r < 37; ++r) {
        for (size_t c = 0; c < found[r].size(); ++c)
          ASSERT_NEAR(found[r][c], expected[r][c], Tolerance(heads, r + 1)) << "row " << r;
      }
    }
  }
}

// Sums of values are stored and loaded again every so many positions: of one query, of the heads of a group, and of rows together.
TEST_P(HostAttention, LongRowsHaveTheBitsOfEachAloneAndAgreeWithTheReference) {
  for (const auto& [group, window] : {std::pair{1, 0}, {3, 200}, {4, 0}, {6, 290}, {8, 0}}) {
    SCOPED_TRACE(testing::Message() << "groups of " << group << ", window " << window);
    const Heads heads = {group, 1, 20, window};
    PairedRun run = NewRun(heads, GetParam(), /*slots=*/304);
    ReferenceDevice reference;
    const RowOutputs expected = run.On(reference, Chain(300));
    ThreadPool pool(2);
    HostDevice portable(pool, {.path = KernelPath::kPortable, .kv_format = GetParam()});
    run.ForgetCaches();
    RowOutputs alone;
    for (int r = 0; r < 300; ++r) alone.push_back(run.On(portable, Chain(1, r))[0]);
    for (KernelPath path : SupportedKernelPaths()) {
      HostDevice device(pool, {.path = path, .kv_format = GetParam()});
      run.ForgetCaches();
      const RowOutputs found = run.On(device, Chain(300));
      for (int r = 0; r < 300; ++r) {
        ASSERT_TRUE(SameBits(found[r], alone[r])) << KernelPathName(path) << ", row " << r;
        for (size_t c = 0; c < found[r].size(); ++c) ASSERT_NEAR(found[r][c], expected[r][c], Tolerance(heads, r + 1)) << "row " << r;
      }
    }
  }
}

constexpr int kLength = 50;

// Rows 0 to kLength - 1 of one text, run in pieces, with position p in slot slots[p]; ranges of adjacent slots are joined or not.
RowOutputs RunInSlots(PairedRun& run, Device& device, const std::vector<int>& slots, bool join, int piece) {
  RowOutputs outputs;
  std::vector<TestRow> rows;
  std::vector<SlotRange> path;
  for (int p = 0; p < kLength; ++p) {
    const bool adjacent = join && !path.empty() && path.back().begin + path.back().count == slots[p];
    if (adjacent) {
      ++path.back().count;
    } else {
      path.push_back({slots[p], 1});
    }
    rows.push_back({p, path});
    if (static_cast<int>(rows.size()) < piece && p + 1 < kLength) continue;
    const RowOutputs found = run.On(device, rows);
    outputs.insert(outputs.end(), found.begin(), found.end());
    rows.clear();
  }
  return outputs;
}

std::vector<int> Ascending() {
  std::vector<int> slots(kLength);
  for (int p = 0; p < kLength; ++p) slots[p] = p;
  return slots;
}

std::vector<int> Scattered(uint64_t seed) {
  std::vector<int> slots(128);
  for (int i = 0; i < 128; ++i) slots[i] = i;
  SeededRandom random(seed);
  for (int i = 127; i > 0; --i) std::swap(slots[i], slots[random.Below(i + 1)]);
  return slots;
}

TEST_P(HostAttention, SlotsAndRangesDoNotReachARowsBits) {
  for (int window : {0, 1, 17}) {
    const Heads heads = {6, 2, 20, window};
    PairedRun run = NewRun(heads, GetParam(), /*slots=*/128);
    ThreadPool one(1), three(3);
    HostDevice plain(one, {.path = KernelPath::kPortable, .kv_format = GetParam()});
    const RowOutputs expected = RunInSlots(run, plain, Ascending(), /*join=*/true, /*piece=*/1);
    std::vector<int> shifted = Ascending(), pairs = Ascending();
    for (int& slot : shifted) slot += 70;
    for (int p = 0; p < kLength; ++p) pairs[p] = p / 2 * 5 % 126 + p % 2;  // Ranges of two slots, out of order.
    for (KernelPath path : SupportedKernelPaths()) {
      HostDevice device(three, {.path = path, .kv_format = GetParam()});
      for (const std::vector<int>& slots : {Ascending(), shifted, pairs, Scattered(11), Scattered(12)}) {
        for (const bool join : {true, false}) {
          for (int piece : {7, kLength}) {
            run.ForgetCaches();
            const RowOutputs found = RunInSlots(run, device, slots, join, piece);
            for (int p = 0; p < kLength; ++p) {
              ASSERT_TRUE(SameBits(found[p], expected[p]))
                  << KernelPathName(path) << " window " << window << " position " << p << " first slot " << slots[0] << " join "
                  << join << " piece " << piece;
            }
          }
        }
      }
    }
  }
}

// Behind a trunk of 20 slots a text goes on in single slots `stride` apart: in ever more blocks, or in ever more runs of a few.
TEST_P(HostAttention, EndsOfAnyNumberOfRunsHaveTheBitsOfOneRun) {
  for (const auto& [stride, ends] : {std::pair(2, 20), std::pair(16, 9), std::pair(7, 18)}) {
    for (const Heads heads : {Heads{6, 2, 64, 0}, Heads{6, 2, 64, 21}, Heads{4, 4, 20, 3}}) {
      PairedRun run = NewRun(heads, GetParam(), /*slots=*/176);
      ThreadPool pool(2);
      HostDevice device(pool, {.kv_format = GetParam()});
      const RowOutputs expected = run.On(device, Chain(20 + ends));
      std::vector<TestRow> rows = Chain(20);
      std::vector<SlotRange> path = {{0, 20}};
      for (int i = 0; i < ends; ++i) {
        path.push_back({22 + i * stride, 1});
        rows.push_back({20 + i, path});
      }
      run.ForgetCaches();
      const RowOutputs found = run.On(device, rows);
      for (int r = 0; r < 20 + ends; ++r) ASSERT_TRUE(SameBits(found[r], expected[r])) << "row " << r << " stride " << stride;
    }
  }
}

// From sixteen rows per worker on, each worker stores its own rows; fewer rows are stored by heads, of which there may be fewer than
// workers.
TEST_P(HostAttention, WhoeverStoresKeysAndValuesStoresTheSame) {
  const Heads heads = {6, 2, 20, 0};
  for (int rows : {2, 15, 16, 17, 31, 32, 33, 47, 48, 49, 60}) {
    PairedRun run = NewRun(heads, GetParam());
    ThreadPool one(1);
    HostDevice alone(one, {.kv_format = GetParam()});
    const RowOutputs expected = run.On(alone, Chain(rows));
    for (int workers : {2, 3, 5}) {
      ThreadPool pool(workers);
      HostDevice device(pool, {.kv_format = GetParam()});
      run.ForgetCaches();
      const RowOutputs found = run.On(device, Chain(rows));
      for (int r = 0; r < rows; ++r) {
        ASSERT_TRUE(SameBits(found[r], expected[r])) << "row " << r << " of " << rows << ", " << workers << " workers";
      }
    }
  }
}

// Rows of a tree share a prefix; each must have the bits it has as the end of a text of its own.
TEST_P(HostAttention, BranchesHaveTheBitsOfTextsOfTheirOwn) {
  for (int window : {0, 5, 18}) {
    for (int heads_per_kv : {1, 2, 3, 8}) {
      const Heads heads = {2 * heads_per_kv, 2, 64, window};
      PairedRun run = NewRun(heads, GetParam(), /*slots=*/64);
      ThreadPool pool(2);
      HostDevice device(pool, {.kv_format = GetParam()});
      std::vector<TestRow> tree = Chain(20);  // A trunk, which the branches leave at different places.
      const auto add = [&](int64_t content, const std::vector<SlotRange>& path) { tree.push_back({content, path}); };
      add(100, {{0, 20}, {30, 1}});
      add(101, {{0, 20}, {31, 1}});           // A sister of 100.
      add(102, {{0, 20}, {30, 1}, {40, 1}});  // A child of 100.
      add(103, {{0, 7}, {47, 1}});            // Leaves the trunk at position 7.
      add(104, {{0, 7}, {47, 2}});
      add(105, {{0, 16}, {16, 4}, {31, 1}, {49, 1}});  // A child of 101, its trunk cut in two ranges.
      add(106, {{0, 7}, {54, 1}});
      add(107, {{0, 7}, {54, 2}});
      add(108, {{0, 9}, {54, 3}});  // The slots of 107 again, two positions later.
      const std::vector<std::vector<int64_t>> leaves = {{100},      {101}, {100, 102}, {103},          {103, 104},
                                                        {101, 105}, {106}, {106, 107}, {106, 107, 108}};
      const std::vector<int> trunks = {20, 20, 20, 7, 7, 20, 7, 7, 9};
      const RowOutputs found = run.On(device, tree);
      for (size_t branch = 0; branch < leaves.size(); ++branch) {
        std::vector<TestRow> text = Chain(trunks[branch]);
        for (int64_t content : leaves[branch]) text.push_back({content, {{0, static_cast<int>(text.size()) + 1}}});
        run.ForgetCaches();
        ASSERT_TRUE(SameBits(found[20 + branch], run.On(device, text).back())) << "branch " << branch << " window " << window;
      }
    }
  }
}

// Texts that share a beginning or nothing, each with many positions of its own, whose rows alternate in a pass.
TEST_P(HostAttention, TextsOfAPassHaveTheBitsOfTextsAlone) {
  constexpr int kRows = 40;
  for (int window : {0, 18}) {
    for (int heads_per_kv : {1, 2, 3, 4, 5, 6}) {
      PairedRun run = NewRun({2 * heads_per_kv, 2, 64, window}, GetParam(), /*slots=*/160);
      ThreadPool pool(2);
      HostDevice device(pool, {.kv_format = GetParam()});
      const auto content = [](int text, int row) { return int64_t{text == 2 && row < 16 ? row : 1000 * text + row}; };
      std::vector<TestRow> together;
      for (int row = 0; row < kRows; ++row) {
        together.push_back({content(0, row), {{0, row + 1}}});
        together.push_back({content(1, row), {{60, row + 1}}});
        if (row < 16) continue;   // The last text has its beginning from the first one.
        together.push_back({content(2, row), {{0, 16}, {115, row - 15}}});
      }
      const RowOutputs found = run.On(device, together);
      for (int text = 0; text < 3; ++text) {
        std::vector<TestRow> alone;
        for (int row = 0; row < kRows; ++row) alone.push_back({content(text, row), {{0, row + 1}}});
        run.ForgetCaches();
        const RowOutputs expected = run.On(device, alone);
        for (int row = 16; row < kRows; ++row) {
          ASSERT_TRUE(SameBits(found[32 + 3 * (row - 16) + text], expected[row])) << "text " << text << " row " << row;
        }
      }
    }
  }
}

// With a window of w, a row sees exactly its last w positions: the one before is NaN here, and a change of the first seen shows.
TEST_P(HostAttention, TheWindowEndsExactlyAtItsWidth) {
  for (int window : {1, 2, 15, 16, 17, 31}) {
    PairedRun run = NewRun({.window = window}, GetParam());
    ThreadPool pool(2);
    HostDevice device(pool, {.kv_format = GetParam()});
    std::vector<TestRow> text = Chain(40);
    run.On(device, text);
    const RowOutputs expected = run.On(device, {text.back()});
    const auto spoil = [&](int slot) {
      std::vector<TestRow> row = {{kNotANumber, {{slot, 1}}}};
      run.On(device, row);
    };
    for (int slot = 0; slot < 40 - window; ++slot) spoil(slot);
    EXPECT_TRUE(SameBits(run.On(device, {text.back()})[0], expected[0])) << window;
    if (window == 1) continue;  // The row itself, which the next run stores again.
    spoil(40 - window);
    EXPECT_FALSE(SameBits(run.On(device, {text.back()})[0], expected[0])) << window;
  }
}

// What lies before the window may have no slots: the bits are those of a path that has them all, on every path of kernels.
TEST_P(HostAttention, PositionsBeforeTheWindowNeedNoSlots) {
  for (int window : {1, 16, 17}) {
    PairedRun run = NewRun({.heads = 6, .window = window}, GetParam());
    ThreadPool pool(2);
    ReferenceDevice reference;
    std::vector<Device*> devices = {&reference};
    std::vector<std::unique_ptr<HostDevice>> hosts;
    for (KernelPath path : SupportedKernelPaths()) {
      hosts.push_back(std::make_unique<HostDevice>(pool, HostDevice::Options{.path = path, .kv_format = GetParam()}));
      devices.push_back(hosts.back().get());
    }
    for (Device* device : devices) {
      const std::vector<TestRow> text = Chain(40);
      const RowOutputs expected = run.On(*device, text);
      for (int given_up = 1; given_up <= 40 - window; ++given_up) {
        std::vector<TestRow> rows;  // Those whose windows begin behind what is given up, together; and one alone.
        for (int r = given_up + window - 1; r < 40; ++r) rows.push_back({r, {{kNoSlot, given_up}, {given_up, r + 1 - given_up}}});
        const RowOutputs found = run.On(*device, rows);
        for (size_t r = 0; r < rows.size(); ++r) ASSERT_TRUE(SameBits(found[r], expected[rows[r].content])) << given_up << " " << r;
        ASSERT_TRUE(SameBits(run.On(*device, {rows.back()})[0], expected[39])) << given_up;
      }
    }
  }
}

// In a tile of theirs the one that sees most comes first.
TEST_P(HostAttention, RowsInAnyOrderHaveTheSameBits) {
  for (int window : {0, 17}) {
    PairedRun run = NewRun({.heads = 4, .kv_heads = 2, .head_size = 64, .window = window}, GetParam());
    ThreadPool pool(2);
    HostDevice device(pool, {.kv_format = GetParam()});
    std::vector<TestRow> text = Chain(40);
    const RowOutputs expected = run.On(device, text);
    std::reverse(text.begin(), text.end());
    const RowOutputs found = run.On(device, text);
    for (int r = 0; r < 40; ++r) ASSERT_TRUE(SameBits(found[r], expected[39 - r])) << window << " " << r;
  }
}

TEST_P(HostAttention, OnePositionGivesItsValue) {
  PairedRun run = NewRun({.heads = 4, .kv_heads = 2, .head_size = 20}, GetParam());
  ThreadPool pool(2);
  HostDevice device(pool, {.kv_format = GetParam()});
  const std::vector<float> y = run.On(device, {{5, {{33, 1}}}})[0], value = run.Input(1, 5);
  for (int head = 0; head < 4; ++head) {
    for (int d = 0; d < 20; ++d) EXPECT_EQ(y[head * 20 + d], value[head / 2 * 20 + d]);
  }
}

// Scores a thousand apart: one weight is 1, the others vanish, and nothing overflows.
TEST_P(HostAttention, LargeScoresNeitherOverflowNorVanishTogether) {
  PairedRun run = NewRun({.heads = 2, .kv_heads = 2, .head_size = 16}, GetParam());
  run.set_input([](int external, int64_t content, float* row, int64_t columns) {
    for (int64_t c = 0; c < columns; ++c)
      row[c] = external == 2 ? 100.0f : external == 1 ? static_cast<float>(content) : -static_cast<float>((content + 3) % 7);
  });
  ThreadPool pool(1);
  for (KernelPath path : SupportedKernelPaths()) {
    HostDevice device(pool, {.path = path, .kv_format = GetParam()});
    const RowOutputs found = run.On(device, Chain(7));
    for (int r = 0; r < 7; ++r) {
      const float best =
          r < 4 ? 0.0f : 4.0f;  // Keys are 0 - (3, 4, 5, 6, 0, 1, 2): the largest score is at position 0, later at 4.
      for (float value : found[r]) EXPECT_EQ(value, best) << "row " << r;
    }
  }
}

}  // namespace
}  // namespace tessera
