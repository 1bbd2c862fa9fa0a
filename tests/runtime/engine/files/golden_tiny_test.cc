// Eight tiny models against another engine: each shows something of an architecture that no larger model at hand does.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/golden.h"

namespace tessera {
namespace {

// Over all positions and tokens of the model's golden line.
std::vector<double> Errors(const std::string& name, ComputePath path) {
  const auto engine = Must(Engine::Load({.model_path = GoldenPath("tiny/" + name + ".gguf"), .compute = {.threads = 2, .path = path}}));
  std::vector<double> errors;
  for (const GoldenLogits& golden : ReadGoldenLogits("tiny/" + name + ".logits.jsonl")) {
    const auto session = Must(engine->NewSession());
    Must(session->AppendEach(golden.tokens, [&](int index, absl::Span<const float> logits) {
      const std::vector<double> of_position = LogProbabilityErrors(golden.positions[index], logits);
      errors.insert(errors.end(), of_position.begin(), of_position.end());
      return absl::OkStatus();
    }));
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_GE(errors.size(), 96u * 5);
  return errors;
}

TEST(GoldenTiny, TheReferencePathAgreesAtEveryPosition) {
  for (const char* name : kTinyModels) EXPECT_LE(Errors(name, ComputePath::kReference).back(), 1e-2) << name;
}

// The weights are FP16, which the fast path multiplies in FP32 by unrounded rows; its keys and values are FP16 with eleven bits. A
// relative error of 2^-12 of each, spread over two to seven layers, moves logits of size 8 by some 8 * 2^-12 * sqrt(2 * 7) = 0.007.
// Nine of ten errors must be below that, and the largest below four times as much.
TEST(GoldenTiny, TheFastPathIsOffByNoMoreThanItsCachesRounding) {
  for (const char* name : kTinyModels) {
    const std::vector<double> errors = Errors(name, ComputePath::kFast);
    EXPECT_LE(errors[errors.size() * 9 / 10], 0.007) << name;
    EXPECT_LE(errors.back(), 0.028) << name;
  }
}

}  // namespace
}  // namespace tessera
