// The device that docs/adding_a_device.md links to: the document has the link, and an engine computes with it.
#include "tessera/tests/runtime/engine/device/example_device.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/linked_example.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

std::vector<float> LogitsAfter(Engine& engine, const std::vector<TokenId>& tokens) {
  const std::unique_ptr<Session> session = Must(engine.NewSession());
  Must(session->Append(tokens));
  return std::vector<float>(session->logits().begin(), session->logits().end());
}

TEST(ExampleDevice, IsLinkedFromTheGuide) {
  EXPECT_TRUE(LinksToExample("docs/adding_a_device.md", "tests/runtime/engine/device/example_device.h"));
}

TEST(ExampleDevice, AnEngineComputesTheSameBitsAndTheDeviceCountsItsRows) {
  const std::vector<TokenId> tokens = RandomTokens(20, 1);
  const std::unique_ptr<Engine> plain = TinyEngine({}, {.compute = {.threads = 1, .row_capacity = 8}});
  RowCountingDevice* counting = nullptr;
  EngineOptions options = {.compute = {.threads = 1, .row_capacity = 8}};
  options.compute.wrap_device = [&](std::unique_ptr<Device> made) -> absl::StatusOr<std::unique_ptr<Device>> {
    auto device = std::make_unique<RowCountingDevice>(std::move(made));
    counting = device.get();
    return device;
  };
  const std::unique_ptr<Engine> engine = TinyEngine({}, options);
  ASSERT_NE(counting, nullptr);
  const int64_t runs = counting->runs(), rows = counting->rows();
  EXPECT_EQ(LogitsAfter(*engine, tokens), LogitsAfter(*plain, tokens));
  EXPECT_GE(counting->runs() - runs, 3) << "passes of at most 8 rows";
  EXPECT_GE(counting->rows() - rows, 20);
  EXPECT_LE(counting->rows() - rows, 8 * (counting->runs() - runs));
}

}  // namespace
}  // namespace tessera
