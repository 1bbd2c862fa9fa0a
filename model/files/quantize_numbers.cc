#include "tessera/model/files/quantize_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/status_macros.h"

namespace tessera {
namespace {

constexpr int64_t kUnit = 256;  // Numbers: whole blocks of every format.
static_assert(kQuantizedTogether % kUnit == 0);

float LargestOf(BlockFormat format) {
  constexpr float kLargestHalf = 65504.0f, kLargestBFloat16 = 0x1.fep127f;
  if (format == BlockFormat::kF32) return std::numeric_limits<float>::max();
  return format == BlockFormat::kBF16 ? kLargestBFloat16 : kLargestHalf;  // As a number, or as a block's scale.
}

// Refuses numbers that are too large: the K formats would silently store a smaller number.
absl::Status CheckNumbers(const NumbersToQuantize& numbers, Share part, const float* values) {
  const float largest = LargestOf(numbers.format);
  const float* const end = values + (part.end - part.begin);
  const float* const bad = std::find_if(values, end, [largest](float x) { return !(std::fabs(x) <= largest); });
  if (bad == end) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(numbers.name, ": number ", part.begin + (bad - values), ": found ", *bad,
                                                 ", expected at most ", largest, " in ", InfoOf(numbers.format).name));
}

}  // namespace

absl::Status QuantizeNumbers(const NumbersToQuantize& numbers, ThreadPool& pool,
                             absl::FunctionRef<absl::Status(Share part, float* out)> fill, GgufWriter::Append append) {
  const BlockFormatInfo& format = InfoOf(numbers.format);
  const auto bytes_of = [&](int64_t count) { return count / format.values_per_block * format.bytes_per_block; };
  const int64_t together = std::min(kQuantizedTogether, numbers.count);
  std::vector<float> values(together);
  std::vector<std::byte> blocks(bytes_of(together));
  std::vector<absl::Status> filled(pool.threads());
  for (int64_t begin = 0; begin < numbers.count; begin += kQuantizedTogether) {
    const int64_t count = std::min(kQuantizedTogether, numbers.count - begin);
    pool.Run([&](int worker) {
      const Share units = ShareOf((count + kUnit - 1) / kUnit, worker, pool.threads());
      const Share own = {units.begin * kUnit, std::min<long>(units.end * kUnit, count)};
      if (own.begin >= own.end) return;
      const Share part = {begin + own.begin, begin + own.end};
      absl::Status& status = filled[worker] = fill(part, &values[own.begin]);
      if (status.ok()) status = CheckNumbers(numbers, part, &values[own.begin]);
      if (!status.ok()) return;
      const absl::Span<const float> own_values(&values[own.begin], static_cast<size_t>(own.end - own.begin));
      QuantizeNumbersOfRows(format, own_values, part.begin, numbers.importance, &blocks[bytes_of(own.begin)]);
    });
    for (const absl::Status& status : filled) RETURN_IF_ERROR(status);
    RETURN_IF_ERROR(append(absl::MakeConstSpan(blocks).first(bytes_of(count))));
  }
  return absl::OkStatus();
}

}  // namespace tessera
