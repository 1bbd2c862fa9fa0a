#include "tessera/quant/panel_schedule.h"

#include <algorithm>

#include "tessera/base/checked_math.h"
#include "tessera/quant/activation.h"

namespace tessera {
namespace {

// Parts per worker: a worker that is held up delays the others by a few parts at most.
constexpr int64_t kPartsOfFewRows = 8;
constexpr int64_t kPartsOfManyRows = 32;
constexpr int64_t kManyRows = 32;  // Per worker: enough rows to make up for the reading of all weights by every worker.
// A block of rounded rows and a cut of the weights stay together in a second-level cache. A block has kBytesOfBlock bytes, but at least
// kFewestRows and at most kMostRows rows.
constexpr int64_t kBytesOfBlock = 256 << 10, kFewestRows = 40, kMostRows = 80;
constexpr int64_t kRowsForCostlyWeights = 128;
constexpr int64_t kBytesOfCut = 128 << 10;

int64_t RoundedBytes(int64_t in_features) { return QuantizedRows::Groups(in_features) * static_cast<int64_t>(sizeof(ActivationGroup)); }

}  // namespace

// With few rows each worker has panels, so that weights come from memory once. With many rows each worker has rows; rows that the worker
// has prepared stay in its cache. The worker takes as many panels at a time as stay in the cache while all its rows are multiplied by them.
PanelSchedule::PanelSchedule(const Work& work) : work_(work) {
  if (work.rows == 0) return;
  int64_t panels = 0;
  for (const PanelShape& matrix : work.matrices) {
    bytes_ += matrix.panels * matrix.panel_bytes;
    panels += matrix.panels;
  }
  if (work.rows < work.workers * kManyRows) {
    cuts_ = std::min<int64_t>(panels, work.workers == 1 ? 1 : work.workers * kPartsOfFewRows);
    return;
  }
  owners_ = work.workers;
  const int64_t cached = std::clamp(kBytesOfBlock / RoundedBytes(work.matrices[0].in_features), kFewestRows, kMostRows);
  const int64_t together = work.costly_weights ? kRowsForCostlyWeights : cached;
  blocks_ = std::max<int64_t>(work.rows / (work.workers * together), 1);
  cuts_ = work.costly_parts ? kPartsOfFewRows : std::max(CeilDiv(kPartsOfManyRows, blocks_), CeilDiv(bytes_, kBytesOfCut));
  cuts_ = std::min(panels, cuts_);
}

void PanelSchedule::Run(TakenParts* taken, int worker, Multiply multiply, absl::FunctionRef<void()> await_rows) const {
  const bool own_rows = owners_ > 1;
  if (!own_rows) await_rows();
  ForEachPart(taken, worker, work_.workers, owners_ * blocks_ * cuts_, [&](int64_t part) { MultiplyPart(part, multiply); }, [&] {
    if (own_rows) await_rows();
  });
}

// A cut has the panels that begin in its bytes.
void PanelSchedule::MultiplyPart(int64_t part, Multiply multiply) const {
  const int64_t owner = part / (blocks_ * cuts_), cut = part / blocks_ % cuts_, cut_bytes = bytes_ / cuts_;
  const int64_t begin = cut_bytes * cut, end = cut + 1 == cuts_ ? bytes_ : begin + cut_bytes;
  const Share owned = ShareOf(work_.rows, static_cast<int>(owner), owners_);
  const Share block = ShareOf(owned.end - owned.begin, static_cast<int>(part % blocks_), static_cast<int>(blocks_));
  const Share rows = {owned.begin + block.begin, owned.begin + block.end};
  int64_t start = 0;  // Start of this matrix: the bytes of all previous matrices.
  for (size_t i = 0; i < work_.matrices.size(); ++i) {
    const PanelShape& matrix = work_.matrices[i];
    const auto first_panel = [&](int64_t byte) {
      return byte <= start ? 0 : std::min(CeilDiv(byte - start, matrix.panel_bytes), matrix.panels);
    };
    const Share panels = {first_panel(begin), first_panel(end)};
    if (panels.begin < panels.end) multiply(static_cast<int>(i), panels, rows);
    start += matrix.panels * matrix.panel_bytes;
  }
}

}  // namespace tessera
