#include "tessera/npu/flash_attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "tessera/base/half.h"
#include "tessera/quant/exp_table.h"
#include "tessera/tensor/kernels/elementwise.h"
#include "tessera/tensor/kernels/lanes_portable.h"

namespace tessera {
namespace {

constexpr float kLog2E = 1.44269504088896340736f, kLn2 = 0.69314718055994530942f;
constexpr uint16_t kLowest = 0xFBFF;   // -65504, FP16's lowest number: the first m (line 1).

float Rounded(float x) { return HalfToFloat(FloatToHalf(x)); }

// 2^x for a difference of FP16 numbers.
float Power(float x, HmxExp exp) {
  if (exp == HmxExp::kTable) return HalfToFloat(ExpTable::Get().Of(FloatToHalf(x)));
  float powers[16];
  LanesPortable::Store(powers, ExpLanes<LanesPortable>(LanesPortable::Set(x * kLn2)));
  return Rounded(powers[0]);
}

class Row {
 public:
  Row(const HmxAttention& attention, const uint16_t* query)
      : attention_(attention), query_(static_cast<size_t>(attention.head_size)), sums_(query_.size()) {
    std::transform(query, query + attention.head_size, query_.begin(), HalfToFloat);
  }

  // Positions first to first + count.
  void AddBlock(const uint16_t* keys, const uint16_t* values, int first, int count) {
    scores_.resize(static_cast<size_t>(count));
    float largest = largest_;
    for (int i = 0; i < count; ++i) {
      scores_[static_cast<size_t>(i)] = Score(keys + static_cast<int64_t>(i) * attention_.head_size);
      largest = scores_[static_cast<size_t>(i)] > largest ? scores_[static_cast<size_t>(i)] : largest;   // A NaN never replaces `largest`.
    }
    const float kept = Power(largest_ - largest, attention_.exp);
    largest_ = largest;
    std::array<float, 16> totals = {};
    for (float& sum : sums_) sum *= kept;
    for (int i = 0; i < count; ++i) {
      const float weight = Power(scores_[static_cast<size_t>(i)] - largest, attention_.exp);
      totals[static_cast<size_t>((first + i) % 16)] += weight;
      const uint16_t* const value = values + static_cast<int64_t>(i) * attention_.head_size;
      for (size_t d = 0; d < sums_.size(); ++d) sums_[d] = std::fma(weight, HalfToFloat(value[d]), sums_[d]);
    }
    for (float& sum : sums_) sum = Rounded(sum);
    total_ = Rounded(std::fma(kept, total_, LanesPortable::Sum(LanesPortable::Load(totals.data()))));
  }

  void Finish(uint16_t* y) const {
    const float share = total_ == 0 ? 0 : Rounded(1 / total_);
    std::transform(sums_.begin(), sums_.end(), y, [share](float sum) { return FloatToHalf(sum * share); });
  }

 private:
  float Score(const uint16_t* key) const {
    float sum = 0;
    for (size_t d = 0; d < query_.size(); ++d) sum = std::fma(query_[d], HalfToFloat(key[d]), sum);
    return Rounded(sum * HalfToFloat(attention_.scale));
  }

  const HmxAttention& attention_;
  std::vector<float> query_, sums_, scores_;
  float largest_ = HalfToFloat(kLowest), total_ = 0;
};

}  // namespace

float ScoreScale(float scale) { return scale * kLog2E; }

void HmxAttend(const HmxAttention& attention, const uint16_t* query, const uint16_t* keys, const uint16_t* values, int first, int end,
               uint16_t* y) {
  Row row(attention, query);
  for (int begin = first; begin < end;) {
    const int block_end = std::min(end, (begin / attention.block + 1) * attention.block);
    const int64_t offset = static_cast<int64_t>(begin) * attention.head_size;
    row.AddBlock(keys + offset, values + offset, begin, block_end - begin);
    begin = block_end;
  }
  row.Finish(y);
}

}  // namespace tessera
