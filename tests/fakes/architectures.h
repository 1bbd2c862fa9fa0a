// The architectures that tests walk, and the tiny golden models of each. Tests have no other such lists.
//
//   for (const std::string architecture : kArchitectures) TinyModelBuilder({.architecture = architecture});
//   for (const char* model : kTinyModels) Must(Engine::Load({.model_path = TinyPath(model)}));
//   for (const char* architecture : ArchitecturesBut({"gemma3"})) ...      // whose files have no window
//
// tests/model/files/tested_architectures_test.cc holds both lists against the registry and the folder tests/golden/tiny.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace tessera {

inline constexpr const char* kArchitectures[] = {"llama", "qwen2", "qwen3", "gemma3"};

// The files of tests/golden/tiny: a model of each architecture, and llamas with other heads and positions.
inline constexpr const char* kTinyModels[] = {"llama",      "llama_tied", "llama3_rope", "llama_linear",
                                              "llama_yarn", "qwen2",      "qwen3",       "gemma3"};

// Returns kArchitectures without architectures that differ in the matter of a test.
inline std::vector<const char*> ArchitecturesBut(const std::vector<std::string>& others) {
  std::vector<const char*> rest;
  std::copy_if(std::begin(kArchitectures), std::end(kArchitectures), std::back_inserter(rest),
               [&](const char* name) { return std::find(others.begin(), others.end(), name) == others.end(); });
  return rest;
}

}  // namespace tessera
