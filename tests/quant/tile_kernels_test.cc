#include "tessera/quant/tile_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/half.h"
#include "tessera/base/random.h"
#include "tessera/quant/tile_matrix.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/sanitized.h"

namespace tessera {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kUntouched = 99;

float Half(float x) { return HalfToFloat(FloatToHalf(x)); }
bool HasScales(TileScheme scheme) { return scheme.code != TileCode::kHalf; }
bool HasHeader(TileScheme scheme) {
  return HasScales(scheme) && (scheme.scales == TileScales::kChannel || scheme.scales == TileScales::kTensor);
}

std::vector<TileScheme> AllSchemes() {
  std::vector<TileScheme> all = {{TileCode::kHalf}};
  for (const TileCode code : {TileCode::kInt4, TileCode::kIq4Nl, TileCode::kNf4, TileCode::kFp4, TileCode::kInt8}) {
    for (int scales = 0; scales < kTileScales; ++scales) all.push_back({code, static_cast<TileScales>(scales)});
  }
  return all;
}

// NaNs may differ in sign and payload, which nothing looks at.
bool SameBits(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b)); }

// A matrix of any bits (codes that no quantizer writes, scales that are no numbers) or of random numbers, with rows and a bias.
struct Product {
  enum class Bytes { kAny, kNumbers };

  Product(TileScheme wanted, int64_t out, int64_t in, int64_t row_count, Bytes bytes)
      : scheme(wanted), spec({"w", BlockFormat::kF32, out, in}), rows(row_count), x_stride((in + 31) / 32 * 32 + 16),
        buffer(Must(AlignedBuffer::Allocate(Must(TileMatrix::BytesFor(spec, wanted))))), x(static_cast<size_t>(row_count * x_stride)) {
    SeededRandom random(static_cast<uint64_t>(7 * out + in));
    if (bytes == Bytes::kAny) {
      for (std::byte& byte : buffer.bytes()) byte = static_cast<std::byte>(random.Next());
    } else {
      std::vector<float> numbers(static_cast<size_t>(out * in));
      for (float& number : numbers) number = static_cast<float>(random.Gaussian());
      Must(TileMatrix::Quantize(spec, scheme, {numbers.data(), out, in}, {.largest = 6}, buffer.bytes()));
    }
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t k = 0; k < in; ++k) Row(r)[k] = Half(static_cast<float>(random.Gaussian()));
    }
    for (int64_t o = 0; o < out; ++o) bias.push_back(static_cast<float>(random.Gaussian()));
  }

  float* Row(int64_t r) { return x.data() + r * x_stride; }
  int64_t panels() const { return (spec.out_features + 31) / 32; }
  int64_t y_stride() const { return spec.out_features + 1; }

  // The stated model, in plain loops. All panels' padding is there, too, as outputs and inputs of a larger matrix of the same bytes.
  std::vector<float> Expected(bool with_bias) {
    const MatrixSpec padded = {"w", BlockFormat::kF32, 32 * panels(), (spec.in_features + 31) / 32 * 32};
    AlignedBuffer numbers = Must(AlignedBuffer::Allocate(buffer.size()));
    std::copy_n(buffer.data(), buffer.size(), numbers.data());
    const int64_t panel_bytes = TileMatrix::ShapeOf(spec, scheme).panel_bytes;
    const uint16_t one = 0x3C00;
    for (int64_t o = 0; HasHeader(scheme) && o < padded.out_features; ++o) {   // Sums are multiplied, not weights.
      std::memcpy(numbers.data() + o / 32 * panel_bytes + o % 32 * 2, &one, sizeof one);
    }
    const TileMatrix matrix = Must(TileMatrix::Open(padded, scheme, numbers.bytes()));
    std::vector<float> y(static_cast<size_t>(rows * y_stride()), kUntouched), weights(static_cast<size_t>(padded.in_features));
    for (int64_t o = 0; o < spec.out_features; ++o) {
      matrix.ReadRow(o, weights.data());
      uint16_t scale;
      std::memcpy(&scale, buffer.data() + o / 32 * panel_bytes + o % 32 * 2, sizeof scale);
      for (int64_t r = 0; r < rows; ++r) {
        float sum = 0;
        for (int64_t k = 0; k < padded.in_features; ++k) sum = std::fmaf(weights[static_cast<size_t>(k)], Row(r)[k], sum);
        if (HasHeader(scheme)) sum *= HalfToFloat(scale);
        if (with_bias) sum += bias[static_cast<size_t>(o)];
        y[static_cast<size_t>(r * y_stride() + o)] = Half(sum);
      }
    }
    return y;
  }

  // Rows [first, first + count). What lies beyond the outputs must stay.
  std::vector<float> Run(const TileKernels& kernels, int64_t first, int64_t count, bool with_bias, int64_t panels_per_call = 1 << 20) {
    std::vector<float> y(static_cast<size_t>(count * y_stride()), kUntouched);
    TileJob job = {.panels = buffer.data(), .in_features = spec.in_features, .out_features = spec.out_features, .rows = count};
    job.x = Row(first);
    job.x_stride = x_stride;
    job.bias = with_bias ? bias.data() : nullptr;
    job.y = y.data();
    job.y_stride = y_stride();
    for (job.panel_begin = 0; job.panel_begin < panels(); job.panel_begin = job.panel_end) {
      job.panel_end = std::min(panels(), job.panel_begin + panels_per_call);
      kernels.multiply(scheme, job);
    }
    return y;
  }

  // The rows of which some number differs from the stated model's.
  int WrongRows(const std::vector<float>& y, int64_t first, const std::vector<float>& expected) const {
    int wrong = 0;
    const int64_t count = static_cast<int64_t>(y.size()) / y_stride();
    for (int64_t r = 0; r < count; ++r) {
      bool same = true;
      for (int64_t o = 0; o < y_stride(); ++o) {
        same &= SameBits(y[static_cast<size_t>(r * y_stride() + o)], expected[static_cast<size_t>((first + r) * y_stride() + o)]);
      }
      wrong += !same;
    }
    return wrong;
  }

  TileScheme scheme;
  MatrixSpec spec;
  int64_t rows, x_stride;
  AlignedBuffer buffer;
  std::vector<float> x, bias;
};

// Plain C++ takes thousands of times as long as a vector instruction does.
std::vector<int64_t> RowCounts(KernelPath path) {
  if (path == KernelPath::kPortable || kSanitized) return {1, 3, 9};
  std::vector<int64_t> counts;
  for (int64_t rows = 1; rows <= 40; ++rows) counts.push_back(rows);
  return counts;
}

TEST(TileKernels, HeaderExample) {
  Product product({TileCode::kInt4, TileScales::kTileGroup}, 70, 100, 1, Product::Bytes::kNumbers);
  const TileMatrix matrix = Must(TileMatrix::Open(product.spec, product.scheme, product.buffer.bytes()));
  const int64_t in_features = 100;
  std::vector<float> x(in_features, 0.3f), rounded(128, kUntouched), y(70);
  TileJob job = {.panels = matrix.data(), .panel_end = 3, .in_features = in_features, .out_features = 70, .rows = 1};
  job.x = rounded.data(), job.x_stride = 128, job.y = y.data(), job.y_stride = 70;

  const TileKernels& kernels = TileKernelsFor(BestKernelPath());
  kernels.round_row(x.data(), in_features, TileInput::kHalf, rounded.data());
  kernels.multiply(matrix.scheme(), job);
  EXPECT_EQ(rounded[5], Half(0.3f));
  EXPECT_EQ(rounded[127], 0);
  std::vector<float> weights(100);
  matrix.ReadRow(69, weights.data());
  double expected = 0;
  for (const float weight : weights) expected += static_cast<double>(weight) * Half(0.3f);
  EXPECT_NEAR(y[69], expected, 0.01);
}

TEST(TileKernels, TheTableOfAPathBearsItsName) {
  for (const KernelPath path : SupportedKernelPaths()) EXPECT_EQ(TileKernelsFor(path).path, path);
}

// In one test all that may change how work is cut: scheme, path, rows, outputs, inputs, panels per call; with bits of any kind.
TEST(TileKernels, EveryPathComputesTheStatedModelHoweverWorkIsCut) {
  for (const TileScheme scheme : AllSchemes()) {
    for (const auto& [out, in] : {std::pair<int64_t, int64_t>{70, 100}, {1, 1}, {17, 32}, {33, 200}}) {
      for (const Product::Bytes bytes : {Product::Bytes::kAny, Product::Bytes::kNumbers}) {
        const bool with_bias = in != 200;
        Product product(scheme, out, in, 40, bytes);
        const std::vector<float> expected = product.Expected(with_bias);
        for (const KernelPath path : SupportedKernelPaths()) {
          SCOPED_TRACE(testing::Message() << TileSchemeName(scheme) << " " << KernelPathName(path) << " " << out << " x " << in);
          const TileKernels& kernels = TileKernelsFor(path);
          for (const int64_t rows : RowCounts(path)) {
            const int64_t first = 40 - rows;
            EXPECT_EQ(product.WrongRows(product.Run(kernels, first, rows, with_bias), first, expected), 0) << rows << " rows";
          }
          EXPECT_EQ(product.WrongRows(product.Run(kernels, 0, 3, with_bias, /*panels_per_call=*/1), 0, expected), 0);
        }
      }
    }
  }
}

// More rows than are multiplied with a widened tile, and more tiles than are widened at once.
TEST(TileKernels, ManyRowsHaveTheBitsOfFew) {
  const int64_t rows = Fewer(210, 100);
  Product product({TileCode::kNf4, TileScales::kTileGroup}, 40, 330, rows, Product::Bytes::kNumbers);
  const std::vector<float> expected = product.Expected(/*with_bias=*/true);
  for (const KernelPath path : SupportedKernelPaths()) {
    const TileKernels& kernels = TileKernelsFor(path);
    for (const int64_t count : {rows, int64_t{97}, int64_t{96}}) {
      EXPECT_EQ(product.WrongRows(product.Run(kernels, 0, count, true), 0, expected), 0) << KernelPathName(path) << " " << count;
    }
  }
}

TEST(TileKernels, ALargeSumIsInfiniteAndOneThatIsNoNumberStaysInItsRow) {
  for (const KernelPath path : SupportedKernelPaths()) {
    Product product({TileCode::kInt4, TileScales::kChannel}, 33, 64, 4, Product::Bytes::kNumbers);
    const std::vector<float> alone = product.Run(TileKernelsFor(path), 3, 1, false);
    product.Row(0)[5] = kNaN;
    product.Row(1)[6] = -kInfinity;
    std::fill_n(product.Row(2), 64, 65504.0f);
    const std::vector<float> y = product.Run(TileKernelsFor(path), 0, 4, false);
    EXPECT_EQ(product.WrongRows(y, 0, product.Expected(false)), 0) << KernelPathName(path);
    EXPECT_TRUE(std::isnan(y[32]));
    bool overflows = false;
    for (int64_t o = 0; o < 33; ++o) {
      overflows |= std::isinf(y[static_cast<size_t>(2 * 34 + o)]);
      EXPECT_TRUE(SameBits(y[static_cast<size_t>(3 * 34 + o)], alone[static_cast<size_t>(o)]));
    }
    EXPECT_TRUE(overflows);
  }
}

// An output is rounded once, after its bias.
TEST(TileKernels, TheBiasIsAddedBeforeTheOneRounding) {
  Product product({TileCode::kHalf}, 1, 2, 1, Product::Bytes::kNumbers);
  const uint16_t one = FloatToHalf(1);
  std::memcpy(product.buffer.data(), &one, sizeof one);
  std::memcpy(product.buffer.data() + 2, &one, sizeof one);
  product.Row(0)[0] = 2048, product.Row(0)[1] = 0.75f;
  product.bias[0] = 0.75f;
  for (const KernelPath path : SupportedKernelPaths()) {
    EXPECT_EQ(product.Run(TileKernelsFor(path), 0, 1, false)[0], 2048);
    EXPECT_EQ(product.Run(TileKernelsFor(path), 0, 1, true)[0], 2050) << "2049.5 is nearer to 2050; 2048 + 0.75 is not";
  }
}

std::vector<float> RoundedRow(const std::vector<float>& x, TileInput input) {
  std::vector<float> out((x.size() + 31) / 32 * 32, 0.0f);
  float largest = 0;
  bool finite = true;
  for (const float value : x) largest = std::max(largest, std::fabs(value)), finite &= std::isfinite(value);
  const float codes = input == TileInput::kInt8 ? 127.0f : 32767.0f;
  for (size_t i = 0; i < x.size(); ++i) {
    if (input == TileInput::kHalf) out[i] = Half(x[i]);
    else if (!finite) out[i] = kNaN;
    else if (largest >= 0x1p-100f) out[i] = Half(std::nearbyint(x[i] * (codes / largest)) * (largest / codes));
    else out[i] = Half(x[i] * 0);
  }
  return out;
}

TEST(TileKernels, RowsAreRoundedAsTheSchemeSays) {
  SeededRandom random(5);
  for (const TileInput input : {TileInput::kHalf, TileInput::kInt8, TileInput::kInt16}) {
    for (const int64_t inputs : {1, 15, 16, 17, 31, 32, 33, 100}) {
      for (const float size : {1.0f, 3e-6f, 1e5f, 1e-35f, 0.0f, kInfinity, kNaN}) {
        std::vector<float> x(static_cast<size_t>(inputs));
        for (float& value : x) value = static_cast<float>(random.Gaussian());
        if (std::isfinite(size)) std::transform(x.begin(), x.end(), x.begin(), [size](float value) { return value * size; });
        else x[static_cast<size_t>(random.Below(inputs))] = size;
        const std::vector<float> expected = RoundedRow(x, input);
        for (const KernelPath path : SupportedKernelPaths()) {
          SCOPED_TRACE(testing::Message() << KernelPathName(path) << " " << static_cast<int>(input) << " " << inputs << " " << size);
          std::vector<float> out(expected.size() + 1, kUntouched), in_place = x;
          TileKernelsFor(path).round_row(x.data(), inputs, input, out.data());
          in_place.resize(expected.size(), kUntouched);
          TileKernelsFor(path).round_row(in_place.data(), inputs, input, in_place.data());
          for (size_t i = 0; i < expected.size(); ++i) {
            ASSERT_TRUE(SameBits(out[i], expected[i])) << i << ": found " << out[i] << ", expected " << expected[i];
            ASSERT_TRUE(SameBits(in_place[i], expected[i])) << i;
          }
          EXPECT_EQ(out.back(), kUntouched);
        }
      }
    }
  }
}

TEST(TileKernels, ARowOfEightBitsHasWholeMultiplesOfItsScale) {
  const TileKernels& kernels = TileKernelsFor(BestKernelPath());
  std::vector<float> x(32, 0.0f);
  x[0] = -127, x[1] = 2.5f, x[2] = 3.5f, x[3] = -0.4f;
  kernels.round_row(x.data(), 32, TileInput::kInt8, x.data());
  EXPECT_EQ(std::vector<float>(x.begin(), x.begin() + 4), (std::vector<float>{-127, 2, 4, 0}));
  std::vector<float> large(32, 70000.0f);
  kernels.round_row(large.data(), 32, TileInput::kHalf, large.data());
  EXPECT_EQ(large[31], kInfinity);
}

}  // namespace
}  // namespace tessera
