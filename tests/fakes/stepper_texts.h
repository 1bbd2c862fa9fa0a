// Returns tokens of texts that a stepper writes, greedily, one after the other or all at once.
//
//   EXPECT_EQ(WriteTexts(*engine, {75, 40, 3}, /*at_once=*/false), expected);     // prompts of so many random tokens
#pragma once

#include <memory>
#include <vector>

#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/scheduler/stepper.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {

inline std::vector<std::vector<TokenId>> WriteTexts(Engine& engine, const std::vector<int>& prompts, bool at_once) {
  const std::unique_ptr<Stepper> stepper = Must(Stepper::Create(engine, {}));
  std::vector<std::vector<TokenId>> texts(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) {
    stepper->Submit({.prompt = RandomTokens(prompts[i], 10 + i),
                     .sampling = {.temperature = 0},
                     .text = {.max_tokens = 5},
                     .on_end = [&texts, i](const absl::StatusOr<Generation>& result) { texts[i] = Must(result).tokens; }});
    if (!at_once) Must(stepper->Run());
  }
  Must(stepper->Run());
  return texts;
}

}  // namespace tessera
