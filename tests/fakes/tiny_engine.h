// An engine around a tiny random model.
//
//   std::unique_ptr<Engine> engine = TinyEngine({.writes_letters = true}, {.compute = {.threads = 2}});
//
// The model's file is removed when this returns. CHECKs that the engine loads.
#pragma once

#include <memory>
#include <string>

#include "tessera/runtime/engine/engine.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {

inline std::unique_ptr<Engine> TinyEngine(const TinyModel& model, EngineOptions options) {
  const TemporaryFolder folder;
  options.model_path = folder.Path("tiny.gguf");
  TinyModelBuilder(model).WriteTo(options.model_path);
  return Must(Engine::Load(options));
}

// Returns tokens that are bytes of the tiny vocabulary, the same for the same seed.
inline std::vector<TokenId> RandomTokens(int count, uint64_t seed) {
  SeededRandom random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random.Below(256));
  return tokens;
}

}  // namespace tessera
