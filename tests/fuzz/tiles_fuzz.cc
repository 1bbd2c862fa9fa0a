// Tiles, recipes and statistics; an input's first byte says which.
//
// Tiles: a matrix of any shape is refused by name, or its bytes, whatever they are, are read without harm, and all kernels compute the same
// bits from them; numbers that are quantized are refused by name, or what is held errs by no more than the largest of them allows. Recipes:
// a text is refused by name, or its canonical text means the same. Statistics: a file of either form is refused in words that name it, or
// its numbers are finite and not negative, and what is written from them reads as as many entries.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/cpu_features.h"
#include "tessera/model/files/importance.h"
#include "tessera/model/files/weight_recipe.h"
#include "tessera/quant/tile_kernels.h"
#include "tessera/quant/tile_matrix.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fuzz/fuzz_bytes.h"
#include "tessera/tests/fuzz/fuzz_target.h"

namespace tessera {
namespace {

constexpr int kBytes = 0, kNumbers = 1, kRecipe = 2, kStatistics = 3, kKinds = 4;
constexpr char kName[] = "fuzzed";

TileScheme SchemeOf(FuzzBytes& bytes) {
  TileScheme scheme;
  scheme.code = static_cast<TileCode>(bytes.Below(kTileCodes));
  scheme.scales = scheme.code == TileCode::kHalf ? TileScales::kTileGroup : static_cast<TileScales>(bytes.Below(kTileScales));
  scheme.input = static_cast<TileInput>(bytes.Below(3));
  return scheme;
}

// Mostly small; now and then beyond what is allowed.
int64_t DimensionOf(FuzzBytes& bytes) {
  switch (bytes.Below(32)) {
    case 0: return -bytes.Below(2);
    case 1: return int64_t{1} << bytes.Below(63);
    default: return 1 + bytes.Below(80);
  }
}

// What one kernel path makes of the matrix and rows of small numbers.
std::vector<float> Product(KernelPath path, const TileMatrix& matrix) {
  constexpr int kRows = 3;
  const TileKernels& kernels = TileKernelsFor(path);
  const int64_t in = matrix.shape().in_features, out = matrix.shape().out_features, stride = (in + 31) / 32 * 32;
  std::vector<float> x(static_cast<size_t>(kRows * stride)), y(static_cast<size_t>(kRows * out)), row(static_cast<size_t>(in));
  for (int r = 0; r < kRows; ++r) {
    for (int64_t k = 0; k < in; ++k) row[static_cast<size_t>(k)] = static_cast<float>((k * 7 + r) % 11 - 5) / 4;
    kernels.round_row(row.data(), in, matrix.scheme().input, x.data() + r * stride);
  }
  kernels.multiply(matrix.scheme(), {.panels = matrix.data(), .panel_end = matrix.shape().panels, .in_features = in, .out_features = out,
                                     .rows = kRows, .x = x.data(), .x_stride = stride, .y = y.data(), .y_stride = out});
  return y;
}

void CheckSame(const std::vector<float>& found, const std::vector<float>& expected) {
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]))) << found[i] << ", not " << expected[i];
  }
}

void CheckProducts(const TileMatrix& matrix) {
  const std::vector<float> expected = Product(KernelPath::kPortable, matrix);
  for (const KernelPath path : SupportedKernelPaths()) CheckSame(Product(path, matrix), expected);
}

absl::Status RunBytes(FuzzBytes& bytes) {
  const TileScheme scheme = SchemeOf(bytes);
  const MatrixSpec spec = {kName, BlockFormat::kF32, DimensionOf(bytes), DimensionOf(bytes)};
  const absl::StatusOr<int64_t> size = TileMatrix::BytesFor(spec, scheme);
  if (!size.ok()) {
    CHECK(absl::StrContains(size.status().message(), kName) || absl::IsOutOfRange(size.status())) << size.status();
    return size.status();
  }
  if (*size > 1 << 20) return absl::OkStatus();
  AlignedBuffer buffer = AlignedBuffer::Allocate(*size).value();
  const std::string given = bytes.Rest();
  for (int64_t i = 0; i < *size && !given.empty(); ++i) {
    buffer.data()[i] = static_cast<std::byte>(given[static_cast<size_t>(i) % given.size()]);
  }
  const TileMatrix matrix = TileMatrix::Open(spec, scheme, buffer.bytes()).value();
  std::vector<float> row(static_cast<size_t>(spec.in_features));
  for (int64_t r = 0; r < spec.out_features; ++r) matrix.ReadRow(r, row.data());
  CheckProducts(matrix);
  return absl::OkStatus();
}

absl::Status RunNumbers(FuzzBytes& bytes) {
  const TileScheme scheme = SchemeOf(bytes);
  const int64_t out = 1 + bytes.Below(40), in = 1 + bytes.Below(70);
  const MatrixSpec spec = {kName, BlockFormat::kF32, out, in};
  const std::string given = bytes.Rest();
  std::vector<float> numbers(static_cast<size_t>(out * in), 0.5f), row(static_cast<size_t>(in));
  std::memcpy(numbers.data(), given.data(), std::min(given.size(), numbers.size() * sizeof(float)));
  float largest = 0;
  for (const float number : numbers) largest = std::max(largest, std::fabs(number));
  const int64_t size = TileMatrix::BytesFor(spec, scheme).value();
  AlignedBuffer buffer = AlignedBuffer::Allocate(size).value();
  const absl::Status status =
      TileMatrix::Quantize(spec, scheme, {numbers.data(), out, in}, {.largest = largest}, buffer.bytes());
  if (!status.ok()) {
    CHECK(absl::IsInvalidArgument(status) && absl::StrContains(status.message(), kName)) << status;
    return status;
  }
  const TileMatrix matrix = TileMatrix::Open(spec, scheme, buffer.bytes()).value();
  for (int64_t r = 0; r < out; ++r) {
    matrix.ReadRow(r, row.data());
    for (int64_t k = 0; k < in; ++k) {   // FP4's widest step is a third of its largest number; a scale errs by 2^-25 if it is subnormal.
      const float off = std::fabs(row[static_cast<size_t>(k)] - numbers[static_cast<size_t>(r * in + k)]);
      CHECK_LE(off, 0.26f * largest + 4e-6f) << "output " << r << " input " << k;
    }
  }
  CheckProducts(matrix);
  return absl::OkStatus();
}

absl::Status RunRecipe(FuzzBytes& bytes) {
  const absl::StatusOr<WeightRecipe> recipe = WeightRecipe::Parse(bytes.Rest());
  if (!recipe.ok()) {
    CHECK(absl::StrContains(recipe.status().message(), "found")) << recipe.status();
    return recipe.status();
  }
  CHECK(WeightRecipe::Parse(recipe->text()).value() == *recipe) << recipe->text();
  return absl::OkStatus();
}

absl::Status RunStatistics(FuzzBytes& bytes) {
  const TemporaryFolder folder{TemporaryFolder::InMemory()};
  const std::string path = folder.Path("statistics"), copy = folder.Path("copy");
  std::ofstream(path, std::ios::binary) << bytes.Rest();
  const absl::StatusOr<Importance> read = Importance::Read(path);
  if (!read.ok()) {
    CHECK(absl::StrContains(read.status().message(), path)) << read.status();
    return read.status();
  }
  for (const auto& [tensor, entry] : read->entries()) {
    CHECK(entry.rows > 0 && !entry.mean_squares.empty()) << tensor;
    for (const float square : entry.mean_squares) CHECK(std::isfinite(square) && square >= 0) << tensor;
  }
  const absl::Status written = read->Write(copy);
  if (written.ok()) CHECK_EQ(Importance::Read(copy).value().entries().size(), read->entries().size());
  return absl::OkStatus();
}

// The older form: two matrices with three and one inputs.
std::string OldStatistics() {
  std::string bytes;
  const auto put = [&bytes](auto number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof number); };
  put(int32_t{2});
  for (const auto& [name, count] : {std::pair<std::string, int32_t>("blk.0.attn_q.weight", 3), {"blk.0.ffn_up.weight", 1}}) {
    put(static_cast<int32_t>(name.size()));
    bytes += name;
    put(int32_t{7});
    put(count);
    for (int32_t i = 0; i < count; ++i) put(static_cast<float>(i) + 0.5f);
  }
  return bytes;
}

}  // namespace

absl::Status RunInput(absl::Span<const std::byte> input) {
  FuzzBytes bytes(input);
  switch (bytes.Below(kKinds)) {
    case kBytes: return RunBytes(bytes);
    case kNumbers: return RunNumbers(bytes);
    case kRecipe: return RunRecipe(bytes);
    default: return RunStatistics(bytes);
  }
}

std::vector<FuzzSeed> Seeds() {
  std::vector<FuzzSeed> seeds = {{"empty", ""}};
  for (int code = 0; code < kTileCodes; ++code) {
    const std::string scheme = {static_cast<char>(code), static_cast<char>(code % kTileScales), static_cast<char>(code % 3)};
    seeds.push_back({absl::StrCat("bytes_", code), std::string(1, kBytes) + scheme + std::string({5, 40, 6, 70}) + "some bytes of codes"});
    std::string numbers(1, kNumbers);
    numbers += scheme + std::string({33, 40});
    for (int i = 0; i < 300; ++i) {
      const float number = static_cast<float>(i % 17 - 8) / 8;
      numbers.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    seeds.push_back({absl::StrCat("numbers_", code), numbers});
  }
  for (const char* const text : {"001", "int4-tile,ffn_down=int8-tile,head=keep", "fp16", "nf4-common,attn_v=Q8_0,head=Q4_K"}) {
    seeds.push_back({absl::StrCat("recipe_", seeds.size()), std::string(1, kRecipe) + text});
  }
  seeds.push_back({"statistics", std::string(1, kStatistics) + OldStatistics()});
  return seeds;
}

}  // namespace tessera
