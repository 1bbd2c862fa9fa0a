#include "tessera/tests/fakes/tensor/lanes_probe.h"
#include "tessera/tensor/kernels/lanes_neon.h"

namespace tessera {

void ProbeLanesNeon(const LanesInput& input, LanesResults& results) { LanesProbe<LanesNeon>(input, results).Run(); }

}  // namespace tessera
