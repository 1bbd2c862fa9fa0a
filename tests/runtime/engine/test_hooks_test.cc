#include "tessera/runtime/engine/test_hooks.h"

#include <gtest/gtest.h>

#include "tessera/runtime/engine/core.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

TEST(TestHooks, HeaderExample) {
  const PackedModel packed(TinyModelBuilder({}));
  EngineOptions options = {.model_path = packed.path()};
  options.hooks = Hooks({.scatter_seed = 5});
  const auto engine = Must(Engine::Load(options));
  EXPECT_EQ(engine->planner().inputs().cache.scatter_seed, 5u);
}

TEST(TestHooks, CopiesOfOptionsShareThem) {
  const EngineOptions options = {.hooks = Hooks({.compact_drafts = false})};
  const EngineOptions copy = options;
  EXPECT_EQ(copy.hooks.get(), options.hooks.get());
  EXPECT_FALSE(copy.hooks->compact_drafts);
}

}  // namespace
}  // namespace tessera
