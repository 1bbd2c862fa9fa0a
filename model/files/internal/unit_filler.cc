#include "tessera/model/files/internal/unit_filler.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/out_of_memory.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/importance.h"
#include "tessera/model/files/internal/check_finite.h"

namespace tessera {
namespace {

constexpr int64_t kReadAtOnce = int64_t{256} << 10;  // Bytes of a file: few enough that the caches hold the bytes during packing.

// Reads the blocks with a vector's numbers from part.first_row on, and widens the numbers.
absl::Status FillVector(const GgufFile& file, const GgufTensor& tensor, const TensorPart& part, absl::Span<std::byte> out) {
  const BlockFormatInfo& format = *tensor.format;
  const int64_t count = part.weight.spec.in_features, before = part.first_row % format.values_per_block;
  const int64_t blocks = CeilDiv(before + count, format.values_per_block);
  const int64_t begin = part.first_row / format.values_per_block * format.bytes_per_block;
  std::vector<std::byte> buffer(static_cast<size_t>(blocks * format.bytes_per_block));
  RETURN_IF_ERROR(file.Read(tensor, begin, absl::MakeSpan(buffer)));
  RETURN_IF_ERROR(CheckFinite(file, tensor, begin, buffer));
  std::vector<float> numbers(static_cast<size_t>(blocks * format.values_per_block));
  format.dequantize(buffer.data(), blocks * format.values_per_block, numbers.data());
  std::copy_n(numbers.begin() + before, count, reinterpret_cast<float*>(out.data()));
  return absl::OkStatus();
}

// Returns the number of rows, in whole panels, with about kReadAtOnce bytes in a file.
int64_t RowsAtOnce(int64_t row_bytes) { return std::max<int64_t>(1, kReadAtOnce / row_bytes / kRowsPerPanel) * kRowsPerPanel; }

std::string PlaceOf(const GgufFile& file, const GgufTensor& tensor) { return absl::StrCat(file.PathOf(tensor), ": tensor ", tensor.name); }

}  // namespace

absl::StatusOr<float> LargestMagnitudes::Of(const std::string& tensor, absl::FunctionRef<absl::StatusOr<float>()> look_for) {
  Entry* entry = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Entry>& place = entries_[tensor];
    if (place == nullptr) place = std::make_unique<Entry>();
    entry = place.get();
  }
  const std::lock_guard<std::mutex> lock(entry->mutex);
  if (!entry->found.has_value()) entry->found = look_for();
  return *entry->found;
}

absl::StatusOr<float> UnitFiller::LargestOf(const GgufTensor& tensor) const {
  const BlockFormatInfo& format = *tensor.format;
  const int64_t blocks = tensor.size / format.bytes_per_block, at_once = kReadAtOnce / format.bytes_per_block;
  std::vector<std::byte> buffer;
  std::vector<float> numbers(static_cast<size_t>(std::min(at_once, blocks) * format.values_per_block));
  float largest = 0;
  for (int64_t block = 0; block < blocks; block += at_once) {
    const int64_t count = std::min(at_once, blocks - block), begin = block * format.bytes_per_block;
    buffer.resize(static_cast<size_t>(count * format.bytes_per_block));
    RETURN_IF_ERROR(file_.Read(tensor, begin, absl::MakeSpan(buffer)));
    RETURN_IF_ERROR(CheckFinite(file_, tensor, begin, buffer));
    format.dequantize(buffer.data(), count * format.values_per_block, numbers.data());
    for (int64_t i = 0; i < count * format.values_per_block; ++i) largest = std::max(largest, std::fabs(numbers[i]));
  }
  return largest;
}

absl::StatusOr<TileMatrix::Choice> UnitFiller::ChoiceFor(const GgufTensor& tensor, const GraphWeight& weight) {
  TileMatrix::Choice choice;
  if (weight.tile.has_value() && weight.tile->scales == TileScales::kTensor && weight.tile->code != TileCode::kHalf) {
    ASSIGN_OR_RETURN(choice.largest, largest_.Of(std::string(tensor.name), [&] { return LargestOf(tensor); }));
  }
  const ScaleSearch search = ScaleSearchOf({.format = weight.spec.format, .tile = weight.tile}, tensor.format->format);
  if (options_.importance == nullptr || search != ScaleSearch::kSearched) return choice;
  choice.importance = options_.importance->Of(tensor.name);
  const int64_t found = static_cast<int64_t>(choice.importance.size());
  if (found == 0 || found == weight.spec.in_features) return choice;
  return absl::InvalidArgumentError(absl::StrCat(PlaceOf(file_, tensor), ": statistics: found those of ", found, " inputs, expected ",
                                                 weight.spec.in_features, ": they are of another model"));
}

// Reads a part of a matrix, some rows at a time (whole panels), and writes the rows in the part's form.
absl::Status UnitFiller::FillMatrix(const GgufTensor& tensor, const TensorPart& part, absl::Span<std::byte> out) {
  const BlockFormatInfo& format = *tensor.format;
  FormedRows rows = {.place = PlaceOf(file_, tensor), .weight = part.weight, .format = format.format, .encoding = layout_.encoding()};
  const bool takes_blocks = TakesBlocks(rows);
  const int64_t all = part.weight.spec.out_features, columns = part.weight.spec.in_features;
  ASSIGN_OR_RETURN(const int64_t row_bytes, BytesOfRows(format.format, 1, columns));
  ASSIGN_OR_RETURN(const TileMatrix::Choice choice, ChoiceFor(tensor, part.weight));
  const int64_t at_once = RowsAtOnce(row_bytes);
  std::vector<std::byte> blocks;
  std::vector<float> numbers;
  for (int64_t row = 0; row < all; row += at_once) {
    const int64_t count = rows.weight.spec.out_features = std::min(at_once, all - row);
    rows.first_row = part.first_row + row;
    blocks.resize(static_cast<size_t>(count * row_bytes));
    RETURN_IF_ERROR(file_.Read(tensor, (part.first_row + row) * row_bytes, absl::MakeSpan(blocks)));
    RETURN_IF_ERROR(CheckFinite(file_, tensor, (part.first_row + row) * row_bytes, blocks));
    ASSIGN_OR_RETURN(const int64_t size, WeightBytes(rows.weight, rows.encoding));
    const absl::Span<std::byte> to = out.first(static_cast<size_t>(size));
    if (takes_blocks) {
      RETURN_IF_ERROR(WriteBlocks(rows, blocks, to));
    } else {
      numbers.resize(static_cast<size_t>(count * columns));
      format.dequantize(blocks.data(), count * columns, numbers.data());
      RETURN_IF_ERROR(WriteNumbers(rows, {numbers.data(), count, columns}, choice, to));
    }
    out.remove_prefix(static_cast<size_t>(size));
  }
  return absl::OkStatus();
}

absl::Status UnitFiller::Fill(int unit, absl::Span<std::byte> out) {
  for (const auto& [name, part] : layout_.PartsOfUnit(unit)) {
    const GgufTensor& tensor = *file_.FindTensor(*name);
    const absl::Span<std::byte> to = out.subspan(part->offset, part->bytes);
    RETURN_IF_ERROR(part->weight.vector ? FillVector(file_, tensor, *part, to) : FillMatrix(tensor, *part, to));
  }
  return file_.CheckUnchanged();
}

absl::StatusOr<std::unique_ptr<ResidentSource>> RoomFor(const WeightLayout& layout, const std::string& path) {
  std::vector<int64_t> unit_bytes;
  for (int unit = 0; unit < layout.units(); ++unit) unit_bytes.push_back(layout.UnitBytes(unit));
  absl::StatusOr<std::unique_ptr<ResidentSource>> created = ResidentSource::Create(unit_bytes);
  if (created.ok()) return created;
  return absl::Status(created.status().code(), absl::StrCat(path, ": weights: ", created.status().message()));
}

absl::Status ForEachLargestFirst(absl::Span<const int64_t> sizes, ThreadPool& pool, absl::FunctionRef<absl::Status(int)> work) {
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return sizes[a] > sizes[b]; });
  std::vector<absl::Status> statuses(sizes.size());
  std::atomic<size_t> next = 0;
  pool.Run([&](int) {
    for (size_t i = next++; i < order.size(); i = next++) {
      statuses[order[i]] = OrOutOfMemory([&] { return work(order[i]); });
    }
  });
  for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

}  // namespace tessera
