// The soft cap of logits that some files have (ModelConfig::logit_cap).
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tessera/tests/fakes/loaded_model.h"

namespace tessera {
namespace {

const std::vector<TokenId> kTokens = {72, 101, 108, 108, 111};

std::vector<std::vector<float>> LogitsWithCap(float cap) {
  GgufBuilder builder = TinyModelBuilder({.architecture = "gemma3", .window = 6});
  builder.Number("gemma3.final_logit_softcapping", cap);
  const LoadedWeights model(builder);
  Machine machine(model, {});
  return machine.Extend(machine.cache().NewSequence(), kTokens);
}

TEST(LogitCap, BendsEveryLogitOfEveryRow) {
  constexpr float kCap = 0.5f;
  const std::vector<std::vector<float>> plain = LogitsWithCap(0), capped = LogitsWithCap(kCap);
  ASSERT_EQ(plain.size(), kTokens.size());
  ASSERT_EQ(capped.size(), kTokens.size());
  float largest = 0;
  for (size_t row = 0; row < plain.size(); ++row) {
    for (size_t i = 0; i < plain[row].size(); ++i) {
      largest = std::max(largest, std::abs(plain[row][i]));
      EXPECT_NEAR(capped[row][i], kCap * std::tanh(double{plain[row][i]} / kCap), 1e-7) << row << " " << i;
    }
  }
  EXPECT_GT(largest, kCap);  // Else the cap would bend hardly anything.
}

TEST(LogitCap, RowsDoNotDependOnOthersBesideThem) {
  GgufBuilder builder = TinyModelBuilder({.architecture = "gemma3", .window = 6});
  builder.Number("gemma3.final_logit_softcapping", 0.5f);
  const LoadedWeights model(builder);
  Machine together(model, {}), single(model, {});
  EXPECT_EQ(together.Extend(together.cache().NewSequence(), kTokens).back(), single.Plain(kTokens));
}

}  // namespace
}  // namespace tessera
