#include "tessera/runtime/plan/product_speed.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/clock.h"
#include "tessera/base/progress.h"
#include "tessera/base/random.h"
#include "tessera/base/spread.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/table.h"
#include "tessera/quant/matmul_kernels.h"
#include "tessera/quant/packed_matrix.h"

namespace tessera {
namespace {

constexpr int kRows[] = {1, 2, 4, 6, 8, 64};
constexpr int kMostRows = 64;
constexpr int64_t kInputs = 1024, kOutputs = 64;   // At most a quarter of a MiB, in the second-level cache.
// What a block of a format that is only read is filled with: all scales are then ordinary numbers. Products of denormal ones take longer.
constexpr std::byte kOrdinary{0x55};
constexpr double kSeconds = 0.004;                 // Approximate length of a measurement.
constexpr int kMostLooks = 256;                    // At a clock that stands still. Then a measurement counts as one of that length.

double Seconds() { return static_cast<double>(RealClock().NowNanos()) * 1e-9; }   // Real time: this machine's kernels are timed.

double TimeOf(double elapsed) { return elapsed > 0 ? elapsed : kSeconds; }

std::vector<float> RandomNumbers(int64_t count) {
  SeededRandom random(1);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = random.Uniform(-1, 1);
  return numbers;
}

struct TimedProduct {
  BlockFormat format;
  bool fine = false;
};

// All formats; fine products only in the formats that most heads have.
std::vector<TimedProduct> TimedProducts() {
  std::vector<TimedProduct> products;
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    products.push_back({info.format});
    if (info.format == BlockFormat::kQ8_0 || info.format == BlockFormat::kQ6_K) products.push_back({info.format, /*fine=*/true});
  }
  return products;
}

// One matrix and the rows that multiply it.
class TimedMatrix {
 public:
  static absl::StatusOr<TimedMatrix> Create(TimedProduct timed, const MatMulKernels& kernels) {
    const BlockFormat format = timed.format;
    const BlockFormatInfo& info = InfoOf(format);
    const MatrixSpec spec = {info.name, format, kOutputs, kInputs};
    TimedMatrix product(kernels.panels[static_cast<int>(format)], timed.fine);
    ASSIGN_OR_RETURN(const int64_t file_bytes, BytesOfRows(format, kOutputs, kInputs));
    ASSIGN_OR_RETURN(const int64_t bytes, PackedMatrix::BytesFor(spec));
    ASSIGN_OR_RETURN(product.weights_, AlignedBuffer::Allocate(bytes, AlignedBuffer::Pages::kLarge, "weights"));
    const int64_t rounded_bytes = QuantizedRows::BytesFor(kMostRows, kInputs);
    ASSIGN_OR_RETURN(product.rounded_, AlignedBuffer::Allocate(rounded_bytes, AlignedBuffer::Pages::kLarge, "rounded rows"));
    std::vector<std::byte> blocks(file_bytes, kOrdinary);
    if (info.quantize != nullptr) info.quantize(RandomNumbers(kOutputs * kInputs).data(), kOutputs * kInputs, blocks.data());
    RETURN_IF_ERROR(PackedMatrix::Pack(spec, blocks, product.weights_.bytes()));
    product.x_ = RandomNumbers(kMostRows * kInputs);
    product.y_.resize(kMostRows * kOutputs);
    const QuantizedRows rows(product.rounded_.data(), kInputs);
    for (int r = 0; r < kMostRows; ++r) {
      const float* x = product.x_.data() + r * kInputs;
      timed.fine ? kernels.quantize_row_fine(x, kInputs, rows.FineRow(r)) : kernels.quantize_row(x, kInputs, rows.Row(r));
    }
    product.shape_ = PanelShape::Of(spec);
    return product;
  }

  // Operations per second.
  double Time(int rows) {
    PanelJob job;
    job.panels = weights_.data();
    job.panel_end = shape_.panels;
    job.in_features = kInputs;
    job.out_features = kOutputs;
    job.rows = rows;
    job.fine = fine_;
    const QuantizedRows rounded(rounded_.data(), kInputs);
    job.x = floats() ? reinterpret_cast<const std::byte*>(x_.data()) : rounded.Rows(fine_);
    job.x_stride = floats() ? kInputs * static_cast<int64_t>(sizeof(float)) : rounded.stride();
    job.y = y_.data();
    job.y_stride = kOutputs;
    const double begin = Seconds();
    int64_t times = 0;
    double elapsed = 0;
    for (int looks = 0; elapsed < kSeconds && (elapsed > 0 || looks < kMostLooks); ++looks, elapsed = Seconds() - begin) {
      for (int i = 0; i < 8; ++i, ++times) panels_(job);  // Reading the clock takes little time compared with eight.
    }
    return 2.0 * kInputs * kOutputs * rows * static_cast<double>(times) / TimeOf(elapsed);
  }

  bool floats() const { return shape_.float_activations; }

 private:
  TimedMatrix(MatMulKernels::PanelsFunction panels, bool fine) : panels_(panels), fine_(fine) {}

  MatMulKernels::PanelsFunction panels_;
  AlignedBuffer weights_, rounded_;
  std::vector<float> x_, y_;
  PanelShape shape_;
  bool fine_;
};

double PeakOf(int64_t (*loop)(int64_t rounds)) {
  int64_t rounds = 1024;
  while (true) {
    const double begin = Seconds();
    const int64_t products = loop(rounds);
    const double elapsed = Seconds() - begin;
    if (elapsed >= kSeconds || rounds == PeakLoops::kMostRounds) return 2.0 * static_cast<double>(products) / TimeOf(elapsed);
    rounds = std::min<int64_t>(2 * rounds, PeakLoops::kMostRounds);
  }
}

ProductSpeed Measure(TimedMatrix product, TimedProduct timed, const PeakLoops& peaks, int repetitions) {
  std::vector<std::vector<double>> rates(std::size(kRows));
  std::vector<double> peak;
  for (int i = 0; i < repetitions; ++i) {
    for (size_t r = 0; r < std::size(kRows); ++r) rates[r].push_back(product.Time(kRows[r]));
    peak.push_back(PeakOf(product.floats() ? peaks.fp32 : peaks.int8));
  }
  ProductSpeed speed = {timed.format, timed.fine, {}, SpreadOf(peak).median};
  for (size_t r = 0; r < std::size(kRows); ++r) speed.points.push_back({kRows[r], SpreadOf(rates[r]).median});
  return speed;
}

}  // namespace

absl::StatusOr<std::vector<ProductSpeed>> MeasureProducts(KernelPath path, int repetitions) {
  const MatMulKernels& kernels = MatMulKernelsFor(path);
  std::vector<ProductSpeed> speeds;
  const std::vector<TimedProduct> products = TimedProducts();
  Progress progress("products", static_cast<int64_t>(products.size()));
  for (const TimedProduct timed : products) {
    ASSIGN_OR_RETURN(TimedMatrix product, TimedMatrix::Create(timed, kernels));
    speeds.push_back(Measure(std::move(product), timed, kernels.peaks, repetitions));
    progress.Update(static_cast<int64_t>(speeds.size()));
  }
  return speeds;
}

absl::StatusOr<double> MeasureRowProduct(BlockFormat format, KernelPath path) {
  ASSIGN_OR_RETURN(TimedMatrix product, TimedMatrix::Create({format}, MatMulKernelsFor(path)));
  product.Time(1);  // The first run finds weights that are not in cache.
  return product.Time(1);
}

std::string ProductSpeedsText(const std::vector<ProductSpeed>& speeds) {
  std::vector<Table::Column> columns = {{"GOP/s, rows:"}};
  for (const int rows : kRows) columns.push_back({absl::StrCat(rows), Table::Align::kRight});
  columns.push_back({"peak", Table::Align::kRight});
  columns.push_back({"share", Table::Align::kRight});
  Table table(columns);
  for (const ProductSpeed& speed : speeds) {
    std::vector<std::string> row = {absl::StrCat(InfoOf(speed.format).name, speed.fine ? " fine" : "")};
    for (const ProductSpeed::Point& point : speed.points) row.push_back(absl::StrFormat("%.1f", point.operations * 1e-9));
    row.push_back(absl::StrFormat("%.1f", speed.peak * 1e-9));
    row.push_back(absl::StrFormat("%.0f %%", 100 * speed.points.back().operations / speed.peak));
    table.AddRow(row);
  }
  return table.ToString();
}

void WriteProductSpeeds(JsonWriter& json, const std::vector<ProductSpeed>& speeds) {
  json.BeginArray();
  for (const ProductSpeed& speed : speeds) {
    json.BeginObject().Key("format").String(InfoOf(speed.format).name).Key("fine").Bool(speed.fine);
    json.Key("peak").Double(speed.peak, 6).Key("rows").BeginArray();
    for (const ProductSpeed::Point& point : speed.points) {
      json.BeginObject().Key("rows").Int(point.rows).Key("operations_per_second").Double(point.operations, 6).EndObject();
    }
    json.EndArray().EndObject();
  }
  json.EndArray();
}

}  // namespace tessera
