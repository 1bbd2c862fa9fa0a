#include "tessera/model/files/internal/retile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/aligned_buffer.h"
#include "tessera/base/status_macros.h"
#include "tessera/model/files/internal/exact_blocks.h"
#include "tessera/model/files/internal/form_rows.h"
#include "tessera/model/files/internal/unit_filler.h"

namespace tessera {
namespace {

constexpr int64_t kNumbersAtOnce = int64_t{1} << 18;

// Returns the end of a part: a vector's parts count numbers, a matrix's parts count rows.
int64_t EndOf(const TensorPart& part) {
  return part.first_row + (part.weight.vector ? part.weight.spec.in_features : part.weight.spec.out_features);
}

// Returns the bytes of the part's first rows, whole panels unless the rows are the last. The rows belong to a planned part, so no size can
// be wrong.
int64_t BytesBefore(const TensorPart& part, int64_t rows, WeightEncoding encoding) {
  GraphWeight weight = part.weight;
  weight.spec.out_features = rows;
  return rows == 0 ? 0 : WeightBytes(weight, encoding).value();
}

class Retiler {
 public:
  Retiler(const TsrReader& reader, const WeightLayout& panels, const WeightLayout& layout, ResidentSource& out)
      : reader_(reader), panels_(panels), layout_(layout), out_(out) {}

  // For matrices with one scale for all numbers: call FindLargest for all units before the first WriteUnit.
  absl::Status FindLargest(int unit) {
    const auto wants = [&](const WeightLayout::Placed& placed) { return HasOneScale(*placed.tensor); };
    const std::vector<WeightLayout::Placed> parts = panels_.PartsOfUnit(unit);
    if (std::none_of(parts.begin(), parts.end(), wants)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const AlignedBuffer bytes, Read(unit));
    for (const WeightLayout::Placed& placed : parts) {
      if (!wants(placed)) continue;
      ASSIGN_OR_RETURN(const PackedMatrix matrix, Open(*placed.part, bytes));
      std::vector<float> row(static_cast<size_t>(matrix.in_features()));
      float largest = 0;
      for (int64_t i = 0; i < matrix.out_features(); ++i) {
        matrix.ReadRow(i, row.data());
        for (const float x : row) largest = std::max(largest, std::fabs(x));
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      float& whole = largest_[*placed.tensor];
      whole = std::max(whole, largest);
    }
    return absl::OkStatus();
  }

  // Writes all parts of the file's unit to the places in the layout. Parts of a left-out layer are not read.
  absl::Status WriteUnit(int unit) {
    const auto wanted = [&](const WeightLayout::Placed& placed) { return !layout_.Parts(*placed.tensor).empty(); };
    const std::vector<WeightLayout::Placed> parts = panels_.PartsOfUnit(unit);
    if (std::none_of(parts.begin(), parts.end(), wanted)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const AlignedBuffer bytes, Read(unit));
    for (const auto& [tensor, from] : parts) {
      for (const TensorPart& to : layout_.Parts(*tensor)) {
        const int64_t begin = std::max(from->first_row, to.first_row), end = std::min(EndOf(*from), EndOf(to));
        if (begin < end) RETURN_IF_ERROR(Write(*tensor, *from, to, begin, end, bytes));
      }
    }
    return absl::OkStatus();
  }

 private:
  bool HasOneScale(const std::string& tensor) const {
    const absl::Span<const TensorPart> parts = layout_.Parts(tensor);
    if (parts.empty()) return false;
    const std::optional<TileScheme>& tile = parts[0].weight.tile;
    return tile.has_value() && tile->scales == TileScales::kTensor && tile->code != TileCode::kHalf;
  }

  absl::StatusOr<AlignedBuffer> Read(int unit) const {
    ASSIGN_OR_RETURN(AlignedBuffer bytes, AlignedBuffer::Allocate(reader_.StoredBytes(unit), AlignedBuffer::Pages::kLarge, reader_.path()));
    RETURN_IF_ERROR(reader_.ReadUnit(unit, bytes.bytes()));
    return bytes;
  }

  static absl::StatusOr<PackedMatrix> Open(const TensorPart& part, const AlignedBuffer& unit) {
    return PackedMatrix::Open(part.weight.spec, unit.bytes().subspan(part.offset, part.bytes));
  }

  // Writes rows [begin, end) of the tensor, or numbers of a vector. Both parts have these rows.
  absl::Status Write(const std::string& tensor, const TensorPart& from, const TensorPart& to, int64_t begin, int64_t end,
                     const AlignedBuffer& unit) {
    const absl::Span<std::byte> out = out_.Unit(to.unit).subspan(to.offset, to.bytes);
    if (from.weight.vector) {
      const std::byte* const numbers = unit.data() + from.offset + (begin - from.first_row) * sizeof(float);
      std::memcpy(out.data() + (begin - to.first_row) * sizeof(float), numbers, (end - begin) * sizeof(float));
      return absl::OkStatus();
    }
    const int64_t place = BytesBefore(to, begin - to.first_row, layout_.encoding());
    if (!to.weight.tile.has_value() && to.weight.spec.format == from.weight.spec.format) {  // Panels are the same in any part.
      const int64_t first = BytesBefore(from, begin - from.first_row, panels_.encoding());
      const int64_t last = BytesBefore(from, end - from.first_row, panels_.encoding());
      std::memcpy(out.data() + place, unit.data() + from.offset + first, static_cast<size_t>(last - first));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const PackedMatrix matrix, Open(from, unit));
    return WriteRows(tensor, matrix, {begin - from.first_row, end - from.first_row}, from.first_row, to,
                     out.subspan(static_cast<size_t>(place)));
  }

  // Writes some rows of a part of a tensor, which begins with the tensor's row `first`, in the form of `to`.
  absl::Status WriteRows(const std::string& tensor, const PackedMatrix& matrix, Share share, int64_t first, const TensorPart& to,
                         absl::Span<std::byte> out) {
    FormedRows rows = {.place = absl::StrCat(reader_.path(), ": tensor ", tensor), .weight = to.weight, .format = matrix.format(),
                       .encoding = layout_.encoding()};
    const int64_t columns = matrix.in_features();
    const int64_t at_once = std::max<int64_t>(1, kNumbersAtOnce / columns / kRowsPerPanel) * kRowsPerPanel;
    const auto largest = largest_.find(tensor);
    const TileMatrix::Choice choice = {.largest = largest == largest_.end() ? 0 : largest->second};
    std::vector<float> numbers;
    for (int64_t row = share.begin; row < share.end; row += at_once) {
      const int64_t count = rows.weight.spec.out_features = std::min(at_once, share.end - row);
      rows.first_row = first + row;
      numbers.resize(static_cast<size_t>(count * columns));
      for (int64_t i = 0; i < count; ++i) matrix.ReadRow(row + i, numbers.data() + i * columns);
      ASSIGN_OR_RETURN(const int64_t size, WeightBytes(rows.weight, rows.encoding));
      const absl::Span<std::byte> to_bytes = out.first(static_cast<size_t>(size));
      RETURN_IF_ERROR(TakesBlocks(rows) ? WriteExactly(rows, numbers, to_bytes)
                                        : WriteNumbers(rows, {numbers.data(), count, columns}, choice, to_bytes));
      out.remove_prefix(static_cast<size_t>(size));
    }
    return absl::OkStatus();
  }

  static absl::Status WriteExactly(const FormedRows& rows, absl::Span<const float> numbers, absl::Span<std::byte> out) {
    const int64_t count = static_cast<int64_t>(numbers.size());
    ASSIGN_OR_RETURN(const int64_t bytes, BytesOfRows(rows.format, 1, count));
    std::vector<std::byte> blocks(static_cast<size_t>(bytes));
    if (MakeExactBlocks(rows.format, numbers.data(), count, blocks.data())) return WriteBlocks(rows, blocks, out);
    return absl::InvalidArgumentError(absl::StrCat(rows.place, ": found numbers that no block of ", InfoOf(rows.format).name,
                                                   " gives, expected finite ones of that format; pack the model again"));
  }

  const TsrReader& reader_;
  const WeightLayout& panels_;
  const WeightLayout& layout_;
  ResidentSource& out_;
  std::mutex mutex_;
  absl::flat_hash_map<std::string, float> largest_;  // Guarded by mutex_ during filling.
};

}  // namespace

absl::StatusOr<std::unique_ptr<ResidentSource>> LoadRetiled(const TsrReader& reader, const WeightLayout& panels, const WeightLayout& layout,
                                                            ThreadPool& pool, const std::atomic<bool>* cancel) {
  ASSIGN_OR_RETURN(std::unique_ptr<ResidentSource> source, RoomFor(layout, reader.path()));
  Retiler retiler(reader, panels, layout, *source);
  std::vector<int64_t> sizes;
  for (int unit = 0; unit < panels.units(); ++unit) sizes.push_back(panels.UnitBytes(unit));
  const auto unless_cancelled = [cancel](auto work) {
    return [cancel, work](int unit) { return cancel != nullptr && *cancel ? absl::CancelledError("loading: cancelled") : work(unit); };
  };
  RETURN_IF_ERROR(ForEachLargestFirst(sizes, pool, unless_cancelled([&](int unit) { return retiler.FindLargest(unit); })));
  RETURN_IF_ERROR(ForEachLargestFirst(sizes, pool, unless_cancelled([&](int unit) { return retiler.WriteUnit(unit); })));
  return source;
}

}  // namespace tessera
