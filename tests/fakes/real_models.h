// Finds the two real models that some tests need. A test that does not find its model fails, with instructions:
//
//   const std::string path = RealModelPath("smollm2");     // or "gemma3"
//   if (path.empty()) FAIL() << RealModelMissing("smollm2");
//
// The folder is CacheFolder().
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "tessera/base/cache_folder.h"

namespace tessera {

// Empty if the file is not there.
inline std::string RealModelPath(const std::string& name) {
  const std::string path = CacheFolder().value() + (name == "smollm2" ? "/SmolLM2-135M-Instruct.Q4_1.gguf" : "/gemma-3-270m-q4_k_m.gguf");
  struct stat status;
  return stat(path.c_str(), &status) == 0 ? path : "";
}

inline std::string RealModelMissing(const std::string& name) { return "run scripts/fetch_model.sh " + name; }

}  // namespace tessera
