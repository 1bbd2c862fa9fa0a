// The old name of tessera_quantize states.
#include "tessera/apps/old_names/forward.h"

int main(int, char** argv) { return tessera::Forward(argv, "tessera_quantize", {"states"}); }
