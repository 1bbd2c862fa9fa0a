#include "tessera/runtime/plan/flash_speed.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "tessera/tests/fakes/cache_folder_for.h"
#include "tessera/tests/fakes/must.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/real_models.h"

namespace tessera {
namespace {

constexpr int64_t kRoom = int64_t{1} << 30;

TEST(FlashSpeed, IsProbedOrNotKnownForWantOfRoomOrGivenUp) {
  const std::string gguf = RealModelPath("smollm2");
  if (gguf.empty()) FAIL() << RealModelMissing("smollm2");
  const PackedModel packed(gguf);
  const TemporaryFolder cache;
  const CacheFolderFor use(cache.path());
  std::atomic<bool> cancel = false;
  const std::unique_ptr<Engine> engine =
      *Engine::Open({.model_path = packed.path(), .compute = {.threads = 1}, .streaming = {.memory_budget = kRoom}, .cancel = &cancel});

  const FlashRate unknown = Must(FlashSpeed(*engine, 1 << 20));
  EXPECT_EQ(unknown.bytes_per_second, 0);
  EXPECT_EQ(unknown.warning, "the speed of the flash stays unknown: room to probe it in: found 1.00 MiB, expected 32.0 MiB");

  cancel = true;
  EXPECT_EQ(FlashSpeed(*engine, kRoom).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(cache.Files(), 0);
  cancel = false;
  const FlashRate probed = Must(FlashSpeed(*engine, kRoom));
  EXPECT_GT(probed.bytes_per_second, 1e6);
  EXPECT_EQ(probed.warning, "");
  EXPECT_EQ(cache.Files(), 1);
}

}  // namespace
}  // namespace tessera
