#include "tessera/quant/matmul_kernels.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/random.h"
#include "tessera/quant/internal/panels/panel_format.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/tests/fakes/random_blocks.h"

namespace tessera {
namespace {

// A packed matrix and rows for it, rounded or not as its format wants them.
struct Product {
  MatrixSpec spec;
  AlignedBuffer packed;
  std::vector<float> x;
  bool fine;

  Product(BlockFormat format, int64_t out, int64_t in, int64_t rows, bool fine = false)
      : spec({"w", format, out, in}),
        packed(AlignedBuffer::Allocate(PackedMatrix::BytesFor(spec).value()).value()),
        x(rows * in),
        fine(fine) {
    EXPECT_EQ(PackedMatrix::Pack(spec, RandomBlocks(format, out * in, 1), packed.bytes()), absl::OkStatus());
    SeededRandom random(2);
    for (float& value : x) value = random.Uniform(-1.0f, 1.0f);
  }

  // Rows [first, first + rows), the panels in calls of `panels_per_call`. Numbers beyond the outputs must stay.
  std::vector<float> Run(const MatMulKernels& kernels, int64_t first, int64_t rows, int64_t panels_per_call = 1 << 20) const {
    const bool floats = PanelFormatOf(spec.format).float_activations;
    const AlignedBuffer storage = AlignedBuffer::Allocate(QuantizedRows::BytesFor(rows, spec.in_features)).value();
    const QuantizedRows rounded(storage.data(), spec.in_features);
    for (int64_t r = 0; r < rows && !floats; ++r) {
      const float* row = &x[(first + r) * spec.in_features];
      fine ? kernels.quantize_row_fine(row, spec.in_features, rounded.FineRow(r))
           : kernels.quantize_row(row, spec.in_features, rounded.Row(r));
    }
    const int64_t stride = spec.out_features + 1;
    std::vector<float> y(rows * stride, 99.0f);
    PanelJob job = {.panels = packed.data(), .in_features = spec.in_features, .out_features = spec.out_features, .rows = rows};
    job.x = floats ? reinterpret_cast<const std::byte*>(&x[first * spec.in_features]) : rounded.Rows(fine);
    job.x_stride = floats ? spec.in_features * static_cast<int64_t>(sizeof(float)) : rounded.stride();
    job.fine = fine;
    job.y = y.data();
    job.y_stride = stride;
    const int64_t panels = (spec.out_features + 31) / 32;
    for (job.panel_begin = 0; job.panel_begin < panels; job.panel_begin = job.panel_end) {
      job.panel_end = std::min(panels, job.panel_begin + panels_per_call);
      kernels.panels[static_cast<int>(spec.format)](job);
    }
    for (int64_t r = 0; r < rows; ++r)
      EXPECT_EQ(y[r * stride + spec.out_features], 99.0f) << "stored beyond the outputs of row " << r;
    return y;
  }
};

// How many of the runs of 1 to `rows` rows have a row whose bits differ from those it has alone.
int RunsWithOtherBits(const Product& product, const MatMulKernels& kernels, int64_t rows) {
  const int64_t stride = product.spec.out_features + 1;
  std::vector<float> alone;
  for (int64_t r = 0; r < rows; ++r) {
    const std::vector<float> y = product.Run(kernels, r, 1);
    alone.insert(alone.end(), y.begin(), y.end());
  }
  int different = 0;
  for (int64_t n = 1; n <= rows; ++n)
    different += std::memcmp(product.Run(kernels, 0, n).data(), alone.data(), n * stride * sizeof(float)) != 0;
  return different;
}

TEST(MatMulKernels, HeaderExample) {
  const Product product(BlockFormat::kQ4_0, 32, 64, 1);
  const int64_t in_features = 64;
  const float* x = product.x.data();
  const AlignedBuffer storage = AlignedBuffer::Allocate(QuantizedRows::BytesFor(1, in_features)).value();
  const QuantizedRows rows(storage.data(), in_features);
  std::vector<float> y(32);
  PanelJob job = {.panels = product.packed.data(),
                  .panel_end = 1,
                  .in_features = in_features,
                  .out_features = 32,
                  .rows = 1,
                  .x = storage.data(),
                  .x_stride = rows.stride(),
                  .y = y.data(),
                  .y_stride = 32};

  const MatMulKernels& kernels = MatMulKernelsFor(BestKernelPath());
  kernels.quantize_row(x, in_features, rows.Row(0));
  kernels.panels[static_cast<int>(BlockFormat::kQ4_0)](job);
  EXPECT_EQ(std::memcmp(y.data(), product.Run(kernels, 0, 1).data(), sizeof(float) * 32), 0);
  EXPECT_NE(y, std::vector<float>(32));
}

TEST(MatMulKernels, TheTableOfAPathBearsItsName) {
  for (KernelPath path : SupportedKernelPaths()) EXPECT_EQ(MatMulKernelsFor(path).path, path);
}

// Everything that may change how work is cut, in one test: format, path, rows, rounding, outputs, panels per call.
TEST(MatMulKernels, BitsDoNotDependOnHowTheWorkIsCut) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    for (int64_t out : {1, 31, 33, 70}) {
      for (bool fine : {false, true}) {
        if (fine && info.values_per_block == 1) continue;
        const Product product(info.format, out, 256, 17, fine);
        const std::vector<float> expected = product.Run(MatMulKernelsFor(KernelPath::kPortable), 0, 17);
        for (KernelPath path : SupportedKernelPaths()) {
          SCOPED_TRACE(testing::Message() << info.name << " " << KernelPathName(path) << " N = " << out << (fine ? " fine" : ""));
          const MatMulKernels& kernels = MatMulKernelsFor(path);
          const std::vector<float> whole = product.Run(kernels, 0, 17), cut = product.Run(kernels, 0, 17, 1);
          EXPECT_EQ(std::memcmp(whole.data(), expected.data(), expected.size() * sizeof(float)), 0);
          EXPECT_EQ(std::memcmp(cut.data(), expected.data(), expected.size() * sizeof(float)), 0);
          EXPECT_EQ(RunsWithOtherBits(product, kernels, path == KernelPath::kPortable ? 2 : 17), 0);
        }
      }
    }
  }
}

TEST(MatMulKernels, APanelOfRaggedOutputsHasTheBitsOfAWholeOne) {
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    const Product whole(info.format, 96, 256, 2);
    const MatMulKernels& kernels = MatMulKernelsFor(BestKernelPath());
    const std::vector<float> all = whole.Run(kernels, 0, 2);
    for (int64_t out : {1, 15, 16, 17, 31, 33, 70, 95}) {
      Product part(info.format, 96, 256, 2);
      part.spec.out_features = out;  // The panels are those of the first rows of the whole.
      const std::vector<float> y = part.Run(kernels, 0, 2);
      for (int64_t r = 0; r < 2; ++r) {
        EXPECT_EQ(std::memcmp(&y[r * (out + 1)], &all[r * 97], out * sizeof(float)), 0) << info.name << " N = " << out;
      }
    }
  }
}

// A kernel as a careless optimization would leave it: with several rows it sums the second half of the inputs first.
void HalvesInAnotherOrder(const PanelJob& job) {
  const MatMulKernels& kernels = MatMulKernelsFor(KernelPath::kPortable);
  if (job.rows == 1) return kernels.panels[static_cast<int>(BlockFormat::kQ4_0)](job);
  const int64_t half = job.in_features / 2, panel_bytes = PanelBytes(BlockFormat::kQ4_0, job.in_features);
  for (int64_t p = job.panel_begin; p < job.panel_end; ++p) {
    const int64_t outputs = std::min<int64_t>(32, job.out_features - 32 * p);
    std::vector<float> first(32 * job.rows), second(32 * job.rows);
    PanelJob part = job;
    part.panels = job.panels + p * panel_bytes;
    part.panel_begin = 0, part.panel_end = 1, part.in_features = half, part.out_features = outputs;
    part.y = first.data(), part.y_stride = 32;
    kernels.panels[static_cast<int>(BlockFormat::kQ4_0)](part);
    part.panels += panel_bytes / 2;
    part.x += half / ActivationGroup::kValues * static_cast<int64_t>(sizeof(ActivationGroup));
    part.y = second.data();
    kernels.panels[static_cast<int>(BlockFormat::kQ4_0)](part);
    for (int64_t i = 0; i < 32 * job.rows; ++i) {
      if (i % 32 < outputs) job.y[i / 32 * job.y_stride + 32 * p + i % 32] = second[i] + first[i];
    }
  }
}

TEST(MatMulKernels, AKernelThatSumsInAnotherOrderForSeveralRowsIsCaught) {
  const Product product(BlockFormat::kQ4_0, 70, 512, 7);
  MatMulKernels planted = MatMulKernelsFor(KernelPath::kPortable);
  EXPECT_EQ(RunsWithOtherBits(product, planted, 7), 0);
  planted.panels[static_cast<int>(BlockFormat::kQ4_0)] = HalvesInAnotherOrder;
  EXPECT_EQ(RunsWithOtherBits(product, planted, 7), 6) << "all runs but that of a single row";
  const std::vector<float> wrong = product.Run(planted, 0, 2), right = product.Run(MatMulKernelsFor(KernelPath::kPortable), 0, 2);
  for (size_t i = 0; i < wrong.size(); ++i)
    ASSERT_NEAR(wrong[i], right[i], 1e-4) << "the planted kernel differs in rounding alone";
}

}  // namespace
}  // namespace tessera
