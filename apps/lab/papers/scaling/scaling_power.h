// Power and energy of passes, and their ranges where a profile's powers of the parts are assumed.
//
//   const PowerRange watts = PowerOf(pass, profile);
//   const PowerRange ratio = EnergyRatioOf(small_pass, large_pass, profile);   // low to high: by any powers that the profile allows
//   Print(watts.value, ratio.value, ratio.low, ratio.high);
//
// Both are fractions of sums of the powers. Their extremes are therefore where each power is at an end of its range: all such corners are
// tried. Thread-safe (pure functions).
#pragma once

#include "tessera/model/pass_cost.h"

namespace tessera {

struct PowerRange { double value = 0, low = 0, high = 0; };

PowerRange PowerOf(const PassCost& pass, const DeviceProfile& profile);                                          // Watts.
PowerRange EnergyRatioOf(const PassCost& pass, const PassCost& beside, const DeviceProfile& profile);

}  // namespace tessera
