#include "tessera/tests/fakes/tensor/lanes_probe.h"

namespace tessera {

void ProbeLanesPortable(const LanesInput& input, LanesResults& results) { LanesProbe<LanesPortable>(input, results).Run(); }

}  // namespace tessera
