#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/loaded_model.h"
#include "tessera/tests/fakes/split_model.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

std::vector<float> LogitsOf(Engine& engine) {
  const auto session = Must(engine.NewSession());
  Must(session->Append(RandomTokens(20, 1)));
  return {session->logits().begin(), session->logits().end()};
}

TEST(SplitModel, LogitsHaveTheBitsOfTheWholeFile) {
  for (const char* architecture : kArchitectures) {
    const TinyModel tiny{.architecture = architecture, .formats = {BlockFormat::kQ4_0, BlockFormat::kQ8_0}};
    const std::vector<float> expected = LogitsOf(*TinyEngine(tiny, {.compute = {.threads = 1}}));
    const SplitModel model(TinyModelBuilder(tiny).Split(3));
    for (const int part : {0, 1, 2}) {
      EXPECT_EQ(LogitsOf(*Must(Engine::Load({.model_path = model.Path(part), .compute = {.threads = 2}}))), expected)
          << architecture << " " << part;
    }
  }
}

TEST(SplitModel, ATensorThatDoesNotFitIsNamedWithItsPart) {
  std::vector<GgufBuilder> parts = TinyModelBuilder({}).Split(3);
  parts[2].Corrupt<uint64_t>("tensor output.weight ne1", 256);
  const SplitModel model(parts);
  parts[2].Build();
  EXPECT_EQ(std::string(Engine::Load({.model_path = model.Path(0), .compute = {.threads = 1}}).status().message()),
            absl::StrCat(model.Path(2), ": tensor output.weight: shape at byte ", parts[2].OffsetOf("tensor output.weight n_dims"),
                         ": found [64, 256], expected [64, 265]"));
}

}  // namespace
}  // namespace tessera
