#include "tessera/tests/fakes/tensor/lanes_probe.h"
#include "tessera/tensor/kernels/lanes_avx2.h"

namespace tessera {

void ProbeLanesAvx2(const LanesInput& input, LanesResults& results) { LanesProbe<LanesAvx2>(input, results).Run(); }

}  // namespace tessera
