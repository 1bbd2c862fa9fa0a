// The old name of tessera_bench spec.
#include "tessera/apps/old_names/forward.h"

int main(int, char** argv) { return tessera::Forward(argv, "tessera_bench", {"spec"}); }
