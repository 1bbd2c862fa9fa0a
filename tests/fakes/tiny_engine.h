// An engine around a tiny random model.
//
//   std::unique_ptr<Engine> engine = TinyEngine({.writes_letters = true}, {.threads = 2});
//
// The model's file is gone again when this returns. CHECKs that the engine loads.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "tessera/runtime/engine.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {

inline std::string WriteTinyModel(const TinyModel& model) {
  static int files = 0;
  const std::string path = testing::TempDir() + "/tessera_tiny_" + std::to_string(getpid()) + "_" + std::to_string(files++) + ".gguf";
  TinyModelBuilder(model).WriteTo(path);
  return path;
}

inline std::unique_ptr<Engine> TinyEngine(const TinyModel& model, EngineOptions options) {
  options.model_path = WriteTinyModel(model);
  absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Load(options);
  std::remove(options.model_path.c_str());
  return Must(std::move(engine));
}

// Tokens that are bytes of the tiny vocabulary, the same for the same seed.
inline std::vector<TokenId> RandomTokens(int count, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random.Below(256));
  return tokens;
}

}  // namespace tessera
