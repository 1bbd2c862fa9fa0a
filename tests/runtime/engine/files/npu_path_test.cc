// Engines on the npu path: the same bits from every file that holds a model's weights, or could.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/base/usage_error.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/packed_model.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

EngineOptions OnNpu(const std::string& path, const std::string& recipe = "") {
  return {.model_path = path, .compute = {.threads = 2, .path = ComputePath::kNpu, .recipe = recipe}};
}

std::vector<float> LogitsOf(const EngineOptions& options) {
  const auto engine = Must(Engine::Load(options));
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(40, 1)));
  return {session->logits().begin(), session->logits().end()};
}

Sha256Sum ContentOf(const EngineOptions& options) {
  const auto engine = Must(Engine::Load(options));
  const auto hold = Must(CoreOf(*engine).TryHold());
  return Must(CoreOf(*engine).ModelIdentity());
}

class NpuPath : public testing::Test {
 protected:
  NpuPath() { PackFile(model_.gguf(), tiles_, 2, "001"); }

  const PackedTiny model_{{.layers = 3, .formats = {BlockFormat::kQ4_0, BlockFormat::kQ8_0, BlockFormat::kQ4_1}}};
  const std::string tiles_ = model_.folder().Path("tiles.tsr");
};

TEST_F(NpuPath, EveryFileOfAModelGivesTheSameLogitsAndIsTheSameModel) {
  const std::vector<float> expected = LogitsOf(OnNpu(model_.gguf()));
  EXPECT_NE(expected, LogitsOf({.model_path = model_.gguf(), .compute = {.threads = 2}}));
  for (const std::string& path : {model_.packed(), tiles_}) {
    EXPECT_EQ(LogitsOf(OnNpu(path)), expected) << path;
    EXPECT_EQ(ContentOf(OnNpu(path)), ContentOf(OnNpu(model_.gguf()))) << path;
  }
  EngineOptions streamed = OnNpu(tiles_);
  streamed.streaming = {.memory_budget = int64_t{4} << 30, .pin = PinPolicy::kNone};
  EXPECT_EQ(LogitsOf(streamed), expected);
}

// A session's file goes on only where its keys and values come from the same arithmetic.
TEST_F(NpuPath, OtherArithmeticIsAnotherModel) {
  const Sha256Sum usual = ContentOf(OnNpu(model_.gguf()));
  EXPECT_NE(ContentOf({.model_path = model_.gguf(), .compute = {.threads = 2}}), usual);
  EXPECT_NE(ContentOf(OnNpu(model_.gguf(), "qnn")), usual);
  EXPECT_NE(ContentOf(OnNpu(model_.gguf(), "qnn")), ContentOf(OnNpu(model_.gguf(), "qnn-a8"))) << "the same bytes, other rows";
  EngineOptions blocks = OnNpu(model_.gguf());
  blocks.compute.kv_block = 512;
  EXPECT_EQ(ContentOf(blocks), usual) << "that is the usual one";
  blocks.compute.kv_block = 16;
  EXPECT_NE(ContentOf(blocks), usual);
}

TEST_F(NpuPath, PanelsAreNotStreamed) {
  EngineOptions options = OnNpu(model_.packed());
  options.streaming.memory_budget = int64_t{4} << 30;
  EXPECT_EQ(Engine::Open(options).status().message(),
            absl::StrCat(model_.packed(), ": found weights in panels under a memory budget, expected them in tiles (recipe 001), as the ",
                         "npu path streams them; pack the GGUF model again: tessera_pack -recipe=001 MODEL.gguf MODEL.tsr"));
}

TEST_F(NpuPath, TilesAreForNoOtherPath) {
  for (const ComputePath path : {ComputePath::kFast, ComputePath::kReference}) {
    const absl::Status status = Engine::Open({.model_path = tiles_, .compute = {.threads = 1, .path = path}}).status();
    EXPECT_TRUE(absl::StrContains(status.message(), "found weights in tiles (recipe 001), which only the npu path")) << status;
  }
}

TEST_F(NpuPath, ARecipeForADeviceWithoutTilesIsRefused) {
  EngineOptions options = OnNpu(model_.gguf(), "qnn");
  options.compute.make_device = [](ThreadPool& pool) -> absl::StatusOr<std::unique_ptr<Device>> {
    return std::make_unique<HostDevice>(pool);
  };
  const absl::Status status = Engine::Open(options).status();
  EXPECT_EQ(status.message(), "recipe: found qnn with the device host, which takes no tiles, expected one that does");
  EXPECT_TRUE(IsWrongUsage(status));
}

}  // namespace
}  // namespace tessera
