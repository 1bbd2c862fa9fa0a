#include "tessera/tests/fakes/tensor/lanes_probe.h"
#include "tessera/tensor/kernels/lanes_avx512.h"

namespace tessera {

void ProbeLanesAvx512(const LanesInput& input, LanesResults& results) { LanesProbe<LanesAvx512>(input, results).Run(); }

}  // namespace tessera
