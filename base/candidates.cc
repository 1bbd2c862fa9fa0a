#include "tessera/base/candidates.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace tessera {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

}  // namespace

// A comparison with NaN is false. The loop takes four vectors of four floats at a time; every known CPU has such vectors. The compiler by
// itself would take one float after another, at a quarter of the speed.
float LargestOf(absl::Span<const float> values) {
  typedef float Vector __attribute__((vector_size(16)));
  constexpr size_t kVectors = 4, kLanes = 4, kStep = kVectors * kLanes;
  Vector largest[kVectors];
  std::fill_n(largest, kVectors, Vector{kMinusInfinity, kMinusInfinity, kMinusInfinity, kMinusInfinity});
  size_t i = 0;
  for (; i + kStep <= values.size(); i += kStep) {
    for (size_t v = 0; v < kVectors; ++v) {
      Vector next;
      std::memcpy(&next, values.data() + i + v * kLanes, sizeof(next));
      largest[v] = next > largest[v] ? next : largest[v];
    }
  }
  float result = kMinusInfinity;
  for (; i < values.size(); ++i) result = values[i] > result ? values[i] : result;
  for (size_t v = 1; v < kVectors; ++v) largest[0] = largest[v] > largest[0] ? largest[v] : largest[0];
  for (size_t lane = 0; lane < kLanes; ++lane) result = largest[0][lane] > result ? largest[0][lane] : result;
  return result;
}

TopCandidates::TopCandidates(size_t count) : count_(count), bar_(count == 0 ? -kMinusInfinity : kMinusInfinity) {
  heap_.reserve(count + 1);
}

void TopCandidates::AddLarger(TokenId first, absl::Span<const float> chunk) {
  for (size_t i = 0; i < chunk.size(); ++i) {
    if (!(chunk[i] > bar_)) continue;
    heap_.push_back({chunk[i], first + static_cast<TokenId>(i)});
    std::push_heap(heap_.begin(), heap_.end(), RanksBefore);
    if (heap_.size() > count_) {
      std::pop_heap(heap_.begin(), heap_.end(), RanksBefore);
      heap_.pop_back();
    }
    if (heap_.size() == count_) bar_ = heap_.front().logit;
  }
}

std::vector<Candidate> TopCandidates::Take() {
  std::sort_heap(heap_.begin(), heap_.end(), RanksBefore);
  return std::move(heap_);
}

}  // namespace tessera
