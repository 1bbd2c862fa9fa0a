#include "tessera/model/files/weight_errors.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/out_of_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/gguf_copy.h"
#include "tessera/model/files/internal/packed_units.h"
#include "tessera/model/files/tensor_names.h"
#include "tessera/quant/packed_matrix.h"
#include "tessera/quant/tile_matrix.h"
#include "tessera/tensor/tile_layout.h"

namespace tessera {
namespace {

constexpr int64_t kComparedTogether = int64_t{1} << 16;  // Numbers: whole blocks of every format.
constexpr int64_t kMostMemory = int64_t{256} << 20;      // Bytes of units in memory at once, unless one unit is larger.

struct Sums {
  double errors = 0, squares = 0;

  void Add(const float* before, const float* after, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const double number = before[i], wrong = after[i] - number;
      errors += wrong * wrong;
      squares += number * number;
    }
  }
  void Add(const Sums& other) {
    errors += other.errors;
    squares += other.squares;
  }
};

// Reads a matrix of a GGUF file in pieces of whole blocks.
class NumberReader {
 public:
  NumberReader(const GgufFile& file, const GgufTensor& tensor) : file_(file), tensor_(tensor) {}

  // Reads numbers [begin, begin + count), valid until the next call.
  absl::StatusOr<const float*> Read(int64_t begin, int64_t count) {
    const BlockFormatInfo& format = *tensor_.format;
    bytes_.resize(static_cast<size_t>(count / format.values_per_block * format.bytes_per_block));
    numbers_.resize(static_cast<size_t>(count));
    RETURN_IF_ERROR(file_.Read(tensor_, begin / format.values_per_block * format.bytes_per_block, absl::MakeSpan(bytes_)));
    format.dequantize(bytes_.data(), count, numbers_.data());
    return numbers_.data();
  }

 private:
  const GgufFile& file_;
  const GgufTensor& tensor_;
  std::vector<std::byte> bytes_;
  std::vector<float> numbers_;
};

absl::StatusOr<const GgufTensor*> FindMatrix(const GgufFile& file, const WrittenMatrix& matrix) {
  const GgufTensor* const tensor = file.FindTensor(matrix.tensor);
  if (tensor == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path(), ": tensor ", matrix.tensor, ": missing, expected ", matrix.weights, " weights"));
  }
  const int64_t weights = tensor->size / tensor->format->bytes_per_block * tensor->format->values_per_block;
  if (weights == matrix.weights) return tensor;
  return absl::InvalidArgumentError(
      absl::StrCat(PlaceOf(file, *tensor), ": found ", weights, " weights, expected ", matrix.weights));
}

// Compares one matrix. Each piece has separate sums, so that the threads' shares do not change the result.
absl::StatusOr<Sums> Compare(const GgufFile& model, const GgufTensor& before, const GgufFile& copy, const GgufTensor& after,
                             int64_t weights, ThreadPool& pool) {
  std::vector<Sums> sums(static_cast<size_t>(CeilDiv(weights, kComparedTogether)));
  std::vector<absl::Status> statuses(static_cast<size_t>(pool.threads()));
  const auto work = [&](Share pieces) -> absl::Status {
    NumberReader old_numbers(model, before), new_numbers(copy, after);
    for (int64_t piece = pieces.begin; piece < pieces.end; ++piece) {
      const int64_t begin = piece * kComparedTogether, count = std::min(kComparedTogether, weights - begin);
      ASSIGN_OR_RETURN(const float* const old_ones, old_numbers.Read(begin, count));
      ASSIGN_OR_RETURN(const float* const new_ones, new_numbers.Read(begin, count));
      sums[static_cast<size_t>(piece)].Add(old_ones, new_ones, count);
    }
    return absl::OkStatus();
  };
  pool.Run([&](int worker) {
    const Share pieces = ShareOf(static_cast<long>(sums.size()), worker, pool.threads());
    statuses[static_cast<size_t>(worker)] = OrOutOfMemory([&] { return work(pieces); });
  });
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  Sums all;
  for (const Sums& each : sums) all.Add(each);
  return all;
}

int64_t PaddingOf(const TensorPart& part, WeightEncoding encoding) {
  const MatrixSpec& spec = part.weight.spec;
  if (encoding == WeightEncoding::kTiles && part.weight.tile.has_value()) {
    const int64_t of_tile = TileBytes(*part.weight.tile);
    const int64_t tiles = CeilDiv(spec.out_features, kTileSide) * CeilDiv(spec.in_features, kTileSide);
    return tiles * of_tile - spec.out_features * spec.in_features * of_tile / kTileSize;
  }
  if (encoding == WeightEncoding::kFloat32) return 0;
  const PanelShape shape = PanelShape::Of(spec);
  return shape.panel_bytes * (shape.panels * PanelShape::kOutputs - spec.out_features) / PanelShape::kOutputs;
}

// The way units come into memory: bytes per unit, read by several threads at once.
struct Units {
  std::vector<int64_t> bytes;
  std::function<absl::Status(int unit, absl::Span<std::byte> out)> read;
};

// Compares the units of a layout with the model, unit by unit, on all threads.
class UnitComparer {
 public:
  UnitComparer(const GgufFile& model, const Units& units, const WeightLayout& layout)
      : model_(model), units_(units), layout_(layout), sums_(units.bytes.size()) {
    for (const int64_t bytes : units.bytes) {
      largest_ = std::max(largest_, bytes);
      total_ += bytes;
    }
  }

  absl::Status Run(ThreadPool& pool, const ErrorProgress& progress) {
    const int64_t most = std::clamp<int64_t>(kMostMemory / std::max<int64_t>(largest_, 1), 1, pool.threads());
    std::vector<absl::Status> statuses(static_cast<size_t>(pool.threads()));
    pool.Run([&](int worker) {
      if (worker >= most) return;
      statuses[static_cast<size_t>(worker)] = OrOutOfMemory([&] { return Work(worker == 0 ? progress : nullptr); });
    });
    for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
    if (progress) progress(total_, total_);
    return absl::OkStatus();
  }

  // Returns the sums of each matrix. REQUIRES: Run was OK.
  absl::flat_hash_map<std::string, Sums> ByTensor() const {
    absl::flat_hash_map<std::string, Sums> all;
    for (int unit = 0; unit < layout_.units(); ++unit) {
      size_t next = 0;
      for (const WeightLayout::Placed& placed : layout_.PartsOfUnit(unit)) {
        if (!placed.part->weight.vector) all[*placed.tensor].Add(sums_[static_cast<size_t>(unit)][next++]);
      }
    }
    return all;
  }

 private:
  absl::Status Work(const ErrorProgress& progress) {
    ASSIGN_OR_RETURN(const AlignedBuffer buffer,
                     AlignedBuffer::Allocate(largest_, AlignedBuffer::Pages::kLarge, "units to be compared"));
    for (int unit = next_++; unit < layout_.units(); unit = next_++) {
      const int64_t size = units_.bytes[static_cast<size_t>(unit)];
      const absl::Span<std::byte> bytes = buffer.bytes().first(static_cast<size_t>(size));
      RETURN_IF_ERROR(units_.read(unit, bytes));
      for (const auto& [tensor, part] : layout_.PartsOfUnit(unit)) {
        if (part->weight.vector) continue;
        const auto own = bytes.subspan(static_cast<size_t>(part->offset), static_cast<size_t>(part->bytes));
        ASSIGN_OR_RETURN(const Sums sums, ComparePart(*tensor, *part, own));
        sums_[static_cast<size_t>(unit)].push_back(sums);
      }
      const int64_t done = done_ += size;
      if (progress) progress(done, total_);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Sums> ComparePart(const std::string& name, const TensorPart& part, absl::Span<const std::byte> bytes) const {
    const GgufTensor& tensor = *model_.FindTensor(name);
    const GraphWeight& weight = part.weight;
    if (layout_.encoding() == WeightEncoding::kTiles && weight.tile.has_value()) {
      ASSIGN_OR_RETURN(const TileMatrix matrix, TileMatrix::Open(weight.spec, *weight.tile, bytes));
      return CompareRows(tensor, part, [&](int64_t row, float* out) { matrix.ReadRow(row, out); });
    }
    ASSIGN_OR_RETURN(const PackedMatrix matrix, PackedMatrix::Open(weight.spec, bytes));
    return CompareRows(tensor, part, [&](int64_t row, float* out) { matrix.ReadRow(row, out); });
  }

  absl::StatusOr<Sums> CompareRows(const GgufTensor& tensor, const TensorPart& part,
                                   absl::FunctionRef<void(int64_t row, float* out)> read_row) const {
    const int64_t rows = part.weight.spec.out_features, columns = part.weight.spec.in_features;
    NumberReader before(model_, tensor);
    std::vector<float> after(static_cast<size_t>(columns));
    Sums sums;
    for (int64_t first = 0; first < rows; first += kRowsPerPanel) {
      const int64_t count = std::min<int64_t>(kRowsPerPanel, rows - first);
      ASSIGN_OR_RETURN(const float* const numbers, before.Read((part.first_row + first) * columns, count * columns));
      for (int64_t row = 0; row < count; ++row) {
        read_row(first + row, after.data());
        sums.Add(numbers + row * columns, after.data(), columns);
      }
    }
    return sums;
  }

  const GgufFile& model_;
  const Units& units_;
  const WeightLayout& layout_;
  int64_t largest_ = 0, total_ = 0;
  std::atomic<int> next_ = 0;
  std::atomic<int64_t> done_ = 0;
  std::vector<std::vector<Sums>> sums_;  // By unit: the sums of the unit's matrices, in order. Each unit is written by one thread.
};

void PutSums(const Sums& sums, WrittenMatrix& matrix) {
  matrix.measured = true;
  matrix.squared_errors = sums.errors;
  matrix.squares = sums.squares;
}

absl::Status MeasureUnits(const GgufFile& model, const Units& units, const WeightLayout& layout, ThreadPool& pool,
                          const ErrorProgress& progress, absl::Span<WrittenMatrix> matrices) {
  for (const WrittenMatrix& matrix : matrices) RETURN_IF_ERROR(FindMatrix(model, matrix).status());
  UnitComparer comparer(model, units, layout);
  RETURN_IF_ERROR(comparer.Run(pool, progress));
  RETURN_IF_ERROR(model.CheckUnchanged());
  absl::flat_hash_map<std::string, Sums> by_tensor = comparer.ByTensor();
  for (WrittenMatrix& matrix : matrices) PutSums(by_tensor[matrix.tensor], matrix);
  return absl::OkStatus();
}

std::vector<TensorNeed> MatricesNeeded(const ModelConfig& config) {
  std::vector<TensorNeed> needs = AllNeeds(config);
  std::erase_if(needs, [](const TensorNeed& need) { return need.vector; });
  return needs;
}

}  // namespace

double WrittenMatrix::BitsPerWeight() const { return 8.0 * static_cast<double>(bytes) / static_cast<double>(weights); }

double WrittenMatrix::RelativeError() const {
  if (squared_errors == 0) return 0;
  return squares == 0 ? std::numeric_limits<double>::infinity() : std::sqrt(squared_errors / squares);
}

std::vector<WrittenMatrix> MatricesOf(const ModelConfig& config, absl::FunctionRef<BlockFormat(absl::string_view tensor)> format) {
  std::vector<WrittenMatrix> matrices;
  for (const TensorNeed& need : MatricesNeeded(config)) {
    const BlockFormat own = format(need.name);
    const absl::StatusOr<int64_t> bytes = BytesOfRows(own, need.rows, need.columns);
    CHECK(bytes.ok()) << need.name << ": " << bytes.status();
    matrices.push_back({.tensor = need.name, .kind = need.label, .form = InfoOf(own).name, .weights = need.rows * need.columns,
                        .bytes = *bytes});
  }
  return matrices;
}

std::vector<WrittenMatrix> MatricesOf(const ModelConfig& config, const WeightLayout& layout) {
  std::vector<WrittenMatrix> matrices;
  for (const TensorNeed& need : MatricesNeeded(config)) {
    WrittenMatrix matrix = {.tensor = need.name, .kind = need.label, .weights = need.rows * need.columns};
    for (const TensorPart& part : layout.Parts(need.name)) {
      const GraphWeight& weight = part.weight;
      const bool in_tiles = layout.encoding() == WeightEncoding::kTiles && weight.tile.has_value();
      matrix.form = in_tiles ? TileSchemeName(*weight.tile) : InfoOf(weight.spec.format).name;
      matrix.bytes += part.bytes;
      matrix.padding += PaddingOf(part, layout.encoding());
    }
    matrices.push_back(std::move(matrix));
  }
  return matrices;
}

absl::Status MeasureErrors(const GgufFile& model, const GgufFile& copy, ThreadPool& pool, const ErrorProgress& progress,
                           absl::Span<WrittenMatrix> matrices) {
  int64_t done = 0, total = 0;
  for (const WrittenMatrix& matrix : matrices) total += matrix.bytes;
  std::vector<Sums> measured;
  for (const WrittenMatrix& matrix : matrices) {
    ASSIGN_OR_RETURN(const GgufTensor* const before, FindMatrix(model, matrix));
    ASSIGN_OR_RETURN(const GgufTensor* const after, FindMatrix(copy, matrix));
    ASSIGN_OR_RETURN(const Sums sums, Compare(model, *before, copy, *after, matrix.weights, pool));
    measured.push_back(sums);
    done += matrix.bytes;
    if (progress) progress(done, total);
  }
  RETURN_IF_ERROR(model.CheckUnchanged());
  RETURN_IF_ERROR(copy.CheckUnchanged());
  for (size_t i = 0; i < matrices.size(); ++i) PutSums(measured[i], matrices[i]);
  return absl::OkStatus();
}

absl::Status MeasureErrors(const GgufFile& model, const TsrReader& packed, const WeightLayout& layout, ThreadPool& pool,
                           const ErrorProgress& progress, absl::Span<WrittenMatrix> matrices) {
  RETURN_IF_ERROR(CheckPackedUnits(packed, layout));
  Units units = {.bytes = {}, .read = [&](int unit, absl::Span<std::byte> out) { return packed.ReadUnit(unit, out); }};
  for (int unit = 0; unit < layout.units(); ++unit) units.bytes.push_back(packed.StoredBytes(unit));
  return MeasureUnits(model, units, layout, pool, progress, matrices);
}

absl::Status MeasureErrors(const GgufFile& model, WeightSource& source, const WeightLayout& layout, ThreadPool& pool,
                           const ErrorProgress& progress, absl::Span<WrittenMatrix> matrices) {
  std::mutex acquiring;
  Units units;
  for (int unit = 0; unit < layout.units(); ++unit) units.bytes.push_back(layout.UnitBytes(unit));
  units.read = [&](int unit, absl::Span<std::byte> out) -> absl::Status {
    const std::lock_guard<std::mutex> lock(acquiring);
    ASSIGN_OR_RETURN(const WeightLease lease, source.Acquire(unit));
    std::copy_n(lease.bytes().data(), out.size(), out.data());
    return absl::OkStatus();
  };
  return MeasureUnits(model, units, layout, pool, progress, matrices);
}

}  // namespace tessera
