#include "tessera/model/lora.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/half.h"
#include "tessera/base/status_macros.h"
#include "tessera/tests/fakes/adapter_numbers.h"

namespace tessera {
namespace {

// [2, 3] and [2, 5], with numbers that tell where they belong.
LoraMatrices Small(float first) {
  return {.in = 3, .out = 5, .rank = 2, .scale = 0.5f, .a = std::vector<float>(6, first), .b = std::vector<float>(10, first + 1)};
}

// Small(4) as the last of two layers and two places.
constexpr char kSmallSum[] = "6115cfad254645b5704e443511a4370a02e3fd818b97afbf2e40a40ac735ecc9";

LoraAdapter Empty(int layers, int placeholders) {
  absl::StatusOr<LoraAdapter> adapter = LoraAdapter::Create(layers, placeholders);
  EXPECT_TRUE(adapter.ok()) << adapter.status();
  return *std::move(adapter);
}

TEST(LoraAdapter, HeaderExample) {
  const auto run = [](int layer, const std::vector<float>& a, const std::vector<float>& b) -> absl::StatusOr<float> {
    ASSIGN_OR_RETURN(LoraAdapter adapter, LoraAdapter::Create(/*layers=*/30, kLoraTargets));
    RETURN_IF_ERROR(adapter.Set(layer, LoraTarget::kQuery, {.in = 576, .out = 576, .rank = 8, .scale = 2, .a = a, .b = b}));
    const AdapterProduct* of_row = adapter.Layer(layer).data();
    return WideB(of_row[static_cast<int>(LoraTarget::kQuery)], 576)[8 * 576 - 1];
  };
  std::vector<float> b(8 * 576, 1.0f);
  b.back() = 7;
  const absl::StatusOr<float> last = run(29, std::vector<float>(8 * 576, 1.0f), b);
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(*last, 7);
}

TEST(LoraAdapter, LayersLieOneBehindTheOther) {
  LoraAdapter adapter = Empty(3, 4);
  ASSERT_TRUE(adapter.Set(0, 3, Small(10)).ok());
  ASSERT_TRUE(adapter.Set(1, 0, Small(20)).ok());
  ASSERT_TRUE(adapter.Set(2, 2, Small(30)).ok());
  const AdapterProduct* entries = adapter.Layer(0).data();
  for (int layer = 0; layer < 3; ++layer) {
    EXPECT_EQ(adapter.Layer(layer).size(), 4u);
    EXPECT_EQ(adapter.Layer(layer).data(), entries + 4 * layer);
  }
  for (int i = 0; i < 12; ++i) {
    const float expected = i == 3 ? 10 : i == 4 ? 20 : i == 10 ? 30 : 0;
    if (expected == 0) {
      EXPECT_EQ(entries[i].a, nullptr) << i;
      continue;
    }
    ASSERT_NE(entries[i].a, nullptr) << i;
    EXPECT_EQ(WideA(entries[i], 3)[5], expected);
    EXPECT_EQ(WideB(entries[i], 5)[9], expected + 1);
    EXPECT_EQ(entries[i].rank, 2);
    EXPECT_EQ(entries[i].scale, 0.5f);
  }
  EXPECT_EQ(adapter.bytes(), 3 * (6 + 10) * 2);
}

TEST(LoraAdapter, MovingLeavesTheNumbersInPlace) {
  LoraAdapter adapter = Empty(2, 2);
  ASSERT_TRUE(adapter.Set(1, 1, Small(4)).ok());
  const AdapterProduct* entry = &adapter.Layer(1)[1];
  const void* a = entry->a;
  const LoraAdapter moved = std::move(adapter);
  EXPECT_EQ(&moved.Layer(1)[1], entry);
  EXPECT_EQ(moved.Layer(1)[1].a, a);
  EXPECT_EQ(WideA(*entry, 3)[0], 4);
  static_assert(!std::is_copy_constructible_v<LoraAdapter>, "a copy's entries would point at the numbers of the original");
}

TEST(LoraAdapter, AnAdapterKeepsItsIdAfterMoves) {
  LoraAdapter one = Empty(2, 2), other = Empty(2, 2);
  EXPECT_NE(one.id(), 0u);
  EXPECT_NE(one.id(), other.id());
  const uint64_t id = one.id();
  LoraAdapter moved = std::move(one);
  EXPECT_EQ(moved.id(), id);
  other.BecomeAgain(id);
  EXPECT_EQ(other.id(), id);
}

// What files know an adapter by.
TEST(LoraAdapter, TheSumDependsOnThePlacesAndTheNumbers) {
  const auto content = [](std::vector<std::pair<int, LoraMatrices>> places) {
    LoraAdapter adapter = Empty(2, 2);
    for (auto& [place, matrices] : places) EXPECT_TRUE(adapter.Set(place / 2, place % 2, std::move(matrices)).ok());
    return adapter.Sum().Hex();
  };
  const std::string both = content({{0, Small(1)}, {3, Small(4)}});
  EXPECT_EQ(content({{3, Small(4)}, {0, Small(1)}}), both) << "in any order";
  EXPECT_EQ(content({{3, Small(4)}}), kSmallSum) << "in every process";
  std::vector<std::string> others = {"", both, content({}), content({{0, Small(1)}}), content({{3, Small(1)}, {0, Small(4)}}),
                                  content({{1, Small(1)}, {3, Small(4)}}), content({{2, Small(1)}, {3, Small(4)}})};
  const auto spoilt = [&](auto&& spoil) {
    LoraMatrices matrices = Small(1);
    spoil(matrices);
    others.push_back(content({{0, std::move(matrices)}, {3, Small(4)}}));
  };
  spoilt([](LoraMatrices& m) { m.scale = 1; });
  spoilt([](LoraMatrices& m) { m.scale = -m.scale; });
  spoilt([](LoraMatrices& m) { m.a[5] += 1e-6f; });
  spoilt([](LoraMatrices& m) { m.b[0] = -m.b[0]; });
  spoilt([](LoraMatrices& m) { m.a[0] = 7, m.a[1] = 8; });
  spoilt([](LoraMatrices& m) { m.a[0] = 8, m.a[1] = 7; });
  spoilt([](LoraMatrices& m) { m.rank = 1, m.in = 6, m.out = 10; });
  spoilt([](LoraMatrices& m) { std::swap(m.a, m.b), std::swap(m.in, m.out); });
  std::sort(others.begin(), others.end());
  EXPECT_EQ(std::unique(others.begin(), others.end()), others.end());
}

// 16 bits where that loses nothing, the sign of a zero and subnormal numbers included.
TEST(LoraAdapter, NumbersAreKeptInTheFewestBitsThatHoldThem) {
  const auto format_with = [](float number) {
    LoraAdapter adapter = Empty(1, 1);
    LoraMatrices matrices = Small(1);
    matrices.b[7] = number;
    EXPECT_TRUE(adapter.Set(0, 0, matrices).ok());
    const AdapterProduct& product = adapter.Layer(0)[0];
    EXPECT_EQ(std::signbit(WideB(product, 5)[7]), std::signbit(number));
    EXPECT_EQ(WideB(product, 5)[7], number) << "exactly";
    EXPECT_EQ(adapter.bytes(), (6 + 10) * (product.format == BlockFormat::kF32 ? 4 : 2));
    return product.format;
  };
  for (const float half : {0.0f, -0.0f, 1.5f, -65504.0f, HalfToFloat(0x0001), HalfToFloat(0x83ff), 1 + 0x1p-10f}) {
    EXPECT_EQ(format_with(half), BlockFormat::kF16) << half;
  }
  for (const float wide : {65536.0f, 0x1p100f, -0x1p-100f, 0x1.02p-30f}) EXPECT_EQ(format_with(wide), BlockFormat::kBF16) << wide;
  for (const float fine : {0.1f, 1 + 0x1p-11f, 65535.0f, std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min()}) {
    EXPECT_EQ(format_with(fine), BlockFormat::kF32) << fine;
  }
}

TEST(LoraAdapter, NumbersOf16BitsStayUnchanged) {
  LoraAdapter set = Empty(1, 2), given = Empty(1, 2);
  ASSERT_TRUE(set.Set(0, 1, Small(4)).ok());
  LoraNumbers numbers = {.in = 3, .out = 5, .rank = 2, .scale = 0.5f};
  for (const auto& [bytes, count, number] : {std::tuple(&numbers.a, 6, 4.0f), {&numbers.b, 10, 5.0f}}) {
    const std::vector<uint16_t> halves(static_cast<size_t>(count), FloatToHalf(number));
    const auto* const first = reinterpret_cast<const std::byte*>(halves.data());
    bytes->assign(first, first + 2 * count);
  }
  ASSERT_TRUE(given.SetNumbers(0, 1, numbers).ok());
  EXPECT_EQ(given.Sum(), set.Sum()) << "one adapter";
  EXPECT_EQ(WideA(given.Layer(0)[1], 3), std::vector<float>(6, 4));
  LoraAdapter other = Empty(1, 2);
  numbers.format = BlockFormat::kBF16;   // Other numbers, of the same bits.
  ASSERT_TRUE(other.SetNumbers(0, 1, numbers).ok());
  EXPECT_NE(other.Sum(), set.Sum());
  numbers.format = BlockFormat::kQ8_0;
  EXPECT_EQ(other.SetNumbers(0, 0, numbers).message(), "adapter layer 0 placeholder 0 format: found Q8_0, expected F32, F16 or BF16");
  numbers.format = BlockFormat::kF16;
  numbers.a.pop_back();
  EXPECT_EQ(other.SetNumbers(0, 0, numbers).message(), "adapter layer 0 placeholder 0 A: found 5 numbers, expected 6 (rank 2 x 3)");
}

// The memory of larger ranks, and of places that are not changed; products are as before.
TEST(LoraAdapter, PaddingIsMemoryAlone) {
  LoraAdapter adapter = Empty(2, 2);
  ASSERT_TRUE(adapter.Set(0, 1, Small(4)).ok());
  LoraMatrices fine = Small(4);
  fine.a[0] = 0.1f;
  ASSERT_TRUE(adapter.Set(1, 0, fine).ok());
  const Sha256Sum sum = adapter.Sum();
  EXPECT_EQ(adapter.Ranks(), (std::vector<int>{0, 2, 2, 0}));
  adapter.PadTo({4, 5, 2, 0}, std::vector<LoraShape>(4, {3, 5}));
  EXPECT_EQ(adapter.bytes(), 8 * (4 * 2 + 5 * 2 + 2 * 4));
  EXPECT_EQ(adapter.Ranks(), (std::vector<int>{0, 2, 2, 0}));
  EXPECT_EQ(adapter.Sum(), sum);
  EXPECT_EQ(WideA(adapter.Layer(0)[1], 3), std::vector<float>(6, 4));
  EXPECT_EQ(WideA(adapter.Layer(1)[0], 3), fine.a);
  EXPECT_EQ(adapter.Layer(0)[0].a, nullptr);
}

TEST(LoraAdapter, EveryWrongFieldIsNamedAndChangesNothing) {
  LoraAdapter adapter = Empty(2, 7);
  const auto message = [&](int layer, int placeholder, auto&& spoil) {
    LoraMatrices matrices = Small(1);
    spoil(matrices);
    const absl::Status status = adapter.Set(layer, placeholder, std::move(matrices));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const auto nothing = [](LoraMatrices&) {};
  EXPECT_EQ(message(2, 0, nothing), "adapter layer: found 2, expected 0 to 1");
  EXPECT_EQ(message(-1, 0, nothing), "adapter layer: found -1, expected 0 to 1");
  EXPECT_EQ(message(1, 7, nothing), "adapter layer 1 placeholder: found 7, expected 0 to 6");
  const std::string place = "adapter layer 1 placeholder 3 ";
  EXPECT_EQ(message(1, 3, [](LoraMatrices& m) { m.rank = 0; }), place + "rank: found 0, expected 1 to 1024");
  EXPECT_EQ(message(1, 3, [](LoraMatrices& m) { m.rank = 1025; }), place + "rank: found 1025, expected 1 to 1024");
  EXPECT_EQ(message(1, 3, [](LoraMatrices& m) { m.in = 0; }), place + "in: found 0, expected 1 or more");
  EXPECT_EQ(message(1, 3, [](LoraMatrices& m) { m.out = -5; }), place + "out: found -5, expected 1 or more");
  EXPECT_EQ(message(1, 3, [](LoraMatrices& m) { m.in = 4; }), place + "A: found 6 numbers, expected 8 (rank 2 x 4)");
  EXPECT_EQ(message(1, 3, [](LoraMatrices& m) { m.b.pop_back(); }), place + "B: found 9 numbers, expected 10 (rank 2 x 5)");
  EXPECT_EQ(message(1, 3, [](LoraMatrices& m) { m.b[7] = NAN; }), place + "B[1, 2]: found nan, expected a finite number");
  EXPECT_EQ(message(1, 3, [](LoraMatrices& m) { m.scale = INFINITY; }), place + "scale: found inf, expected a finite number");
  EXPECT_EQ(adapter.Layer(1)[3].a, nullptr);
  EXPECT_EQ(adapter.bytes(), 0);
}

TEST(LoraAdapter, ShapesThatOverflowAreErrors) {
  LoraAdapter adapter = Empty(1, 1);
  LoraMatrices matrices = Small(1);
  matrices.in = std::numeric_limits<int64_t>::max() / 2 + 4;  // Times the rank of 2: 6, if it wrapped.
  EXPECT_EQ(adapter.Set(0, 0, std::move(matrices)).code(), absl::StatusCode::kOutOfRange);
}

TEST(LoraAdapter, APlaceTakesOnePair) {
  LoraAdapter adapter = Empty(1, 2);
  ASSERT_TRUE(adapter.Set(0, 1, Small(1)).ok());
  EXPECT_EQ(adapter.Set(0, 1, Small(2)).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(WideA(adapter.Layer(0)[1], 3)[0], 1);
}

TEST(LoraAdapter, ImpossibleCountsAreErrors) {
  for (const auto& [layers, placeholders] : {std::pair{0, 7}, {30, 0}, {-1, 7}, {1 << 16, 1 << 16}, {1, (1 << 20) + 1}}) {
    EXPECT_EQ(LoraAdapter::Create(layers, placeholders).status().code(), absl::StatusCode::kInvalidArgument) << layers;
  }
}

TEST(LoraTarget, NamesFollowTheOrderOfTheGraph) {
  const absl::string_view names[] = {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"};
  ASSERT_EQ(std::size(names), static_cast<size_t>(kLoraTargets));
  for (int i = 0; i < kLoraTargets; ++i) EXPECT_EQ(LoraTargetName(static_cast<LoraTarget>(i)), names[i]);
  EXPECT_EQ(LoraTargetName(LoraTarget::kDown), "ffn_down");
}

}  // namespace
}  // namespace tessera
