// Engines on packed files: the same bits as on the GGUF files they were packed from.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/packed_model.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

std::vector<float> LogitsOf(const std::string& path, int threads) {
  const auto engine = Must(Engine::Load({.model_path = path, .compute = {.threads = threads}}));
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(20, 1)));
  return {session->logits().begin(), session->logits().end()};
}

TEST(PackedModel, LogitsHaveTheBitsOfTheGgufFile) {
  for (const std::string architecture : kArchitectures) {
    std::set<std::string> biases;
    if (architecture == "llama") biases = AllLayerBiases();
    if (architecture == "qwen2") biases = {"output.bias"};
    const PackedTiny model({.architecture = architecture,
                            .formats = {BlockFormat::kQ4_0, BlockFormat::kQ8_0, BlockFormat::kF16},
                            .biases = biases});
    const std::vector<float> expected = LogitsOf(model.gguf(), 1);
    for (int threads : {1, 3}) EXPECT_EQ(LogitsOf(model.packed(), threads), expected) << architecture << " " << threads;
  }
}

TEST(PackedModel, FormatsThatAreOnlyReadKeepTheirBitsToo) {
  TinyModel tiny = {.width = 256, .feed_forward = 256, .head_size = 64, .formats = {}};
  for (const BlockFormatInfo& info : AllBlockFormats()) {
    if (info.quantize == nullptr) tiny.formats.push_back(info.format);
  }
  ASSERT_EQ(tiny.formats.size(), 14) << "each is the format of one of the model's 16 matrices";
  const PackedTiny model(tiny);
  EXPECT_EQ(LogitsOf(model.packed(), 2), LogitsOf(model.gguf(), 1));
}

TEST(PackedModel, ADamagedUnitIsNotComputedWith) {
  const PackedTiny model({});
  const int64_t offset = Must(TsrReader::Open(model.packed()))->UnitOffset(2);
  std::fstream file(model.packed(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset + 300);
  file.put('\x55').put('\xAA');
  file.close();
  for (const auto weights : {ModelFile::Weights::kLater, ModelFile::Weights::kAtOnce}) {
    const auto engine = Must(Engine::Open({.model_path = model.packed(), .compute = {.threads = 2}}, weights));
    Must(engine->LoadWeights());
    const auto session = Must(engine->NewSession());
    const std::vector<TokenId> tokens = RandomTokens(20, 1);
    for (const absl::Status& status : {session->Append(tokens), engine->AwaitWeights(), session->Append(tokens)}) {
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_TRUE(absl::StartsWith(status.message(), model.packed() + ": unit 2, blk.1.")) << status;
    }
    EXPECT_EQ(session->length(), 0);
  }
}

// What is being read ends before the engine does: sanitizers would see threads that write into memory that is gone.
TEST(PackedModel, AnEngineMayGoDuringTheReadOfItsWeights) {
  const PackedTiny model({});
  for (int i = 0; i < 20; ++i) Must(Engine::Open({.model_path = model.packed(), .compute = {.threads = 2}}, ModelFile::Weights::kAtOnce));
}

TEST(PackedModel, TheReferencePathAsksForGguf) {
  const PackedTiny model({});
  const absl::Status status =
      Engine::Open({.model_path = model.packed(), .compute = {.threads = 1, .path = ComputePath::kReference}}).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "found packed weights, expected a GGUF file")) << status;
}

}  // namespace
}  // namespace tessera
