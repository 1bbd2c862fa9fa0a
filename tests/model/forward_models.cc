// Writes the tiny models of tests/golden/forward.jsonl as files, for scripts/measure/compare_peer_logits.sh.
//
//   build/bin/tessera_forward_models FOLDER      # FOLDER/0.gguf of the first line, 1.gguf of the second, ...; FP32 weights
#include <fstream>
#include <iostream>
#include <string>

#include "tessera/tests/fakes/forward_model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: tessera_forward_models FOLDER\n";
    return 2;
  }
  int number = 0;
  for (const tessera::ForwardCase& line : tessera::ForwardCases()) {
    const std::string path = std::string(argv[1]) + "/" + std::to_string(number++) + ".gguf";
    std::ofstream file(path, std::ios::binary);
    file << tessera::ForwardModel(line, tessera::BlockFormat::kF32);
    if (!file.flush()) {
      std::cerr << "tessera_forward_models: " << path << ": cannot write\n";
      return 1;
    }
  }
}
