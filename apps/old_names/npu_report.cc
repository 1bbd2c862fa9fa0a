// The old name of tessera_inspect --device=8gen3.
#include "tessera/apps/old_names/forward.h"

int main(int, char** argv) { return tessera::Forward(argv, "tessera_inspect", {"--device=8gen3"}); }
