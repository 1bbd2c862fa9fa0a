#include "tessera/storage/pin_plan.h"

#include <cstddef>

#include "tessera/base/aligned_buffer.h"
#include "tessera/base/checked_math.h"
#include "tessera/base/quoted.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

struct Named { absl::string_view name; PinPolicy policy; };
constexpr Named kPolicies[] = {
    {"auto", PinPolicy::kAuto}, {"spread", PinPolicy::kSpread}, {"prefix", PinPolicy::kPrefix}, {"none", PinPolicy::kNone}};

// Pins units as long as the budget lasts.
class Pinner {
 public:
  Pinner(absl::Span<const int64_t> unit_bytes, int64_t budget) : unit_bytes_(unit_bytes), budget_(budget) {
    plan_.pinned.resize(unit_bytes.size());
  }

  int64_t Bytes(size_t unit) const { return AlignUp(unit_bytes_[unit], AlignedBuffer::kAlignment); }

  bool Pin(size_t unit) {
    if (plan_.pinned[unit] || Bytes(unit) > budget_ - plan_.bytes) return false;
    plan_.pinned[unit] = true;
    plan_.bytes += Bytes(unit);
    return true;
  }

  // Pins all of these units, or none if not all fit.
  void PinTogether(absl::Span<const int> units) {
    int64_t together = 0;
    for (const int unit : units) together += Bytes(unit);
    if (together > budget_) return;
    for (const int unit : units) Pin(unit);
  }

  // Pins every unit that fits, in order.
  void PinWhatFits() {
    for (size_t unit = 0; unit < unit_bytes_.size(); ++unit) Pin(unit);
  }

  // Spreads pins as Bresenham draws a line. Each unit adds a share of the budget to `owed`, and is pinned once `owed` is at least half of
  // the unit.
  void Spread() {
    int64_t total = 0;
    for (size_t unit = 0; unit < unit_bytes_.size(); ++unit) total += plan_.pinned[unit] ? 0 : Bytes(unit);
    const int64_t left = budget_ - plan_.bytes;
    if (total <= left) return PinWhatFits();
    const double share = static_cast<double>(left) / static_cast<double>(total);
    double owed = 0;
    for (size_t unit = 0; unit < unit_bytes_.size(); ++unit) {
      if (plan_.pinned[unit]) continue;
      owed += share * static_cast<double>(Bytes(unit));
      if (owed >= 0.5 * static_cast<double>(Bytes(unit)) && Pin(unit)) owed -= static_cast<double>(Bytes(unit));
    }
  }

  PinPlan Take() { return std::move(plan_); }

 private:
  const absl::Span<const int64_t> unit_bytes_;
  const int64_t budget_;
  PinPlan plan_;
};

}  // namespace

absl::StatusOr<PinPolicy> ParsePinPolicy(absl::string_view name) {
  for (const Named& named : kPolicies) {
    if (named.name == name) return named.policy;
  }
  return WrongUsage("pin", Quoted(name), "auto, spread, prefix or none");
}

PinPlan PlanPins(absl::Span<const int64_t> unit_bytes, int64_t budget, PinPolicy policy, absl::Span<const int> first) {
  Pinner pinner(unit_bytes, budget);
  if (policy == PinPolicy::kNone) return pinner.Take();
  if (policy == PinPolicy::kAuto) pinner.PinTogether(first);
  if (policy != PinPolicy::kPrefix) pinner.Spread();
  pinner.PinWhatFits();
  return pinner.Take();
}

}  // namespace tessera
