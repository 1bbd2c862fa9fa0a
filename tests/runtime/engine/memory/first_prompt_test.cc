// The first prompt of a streamed model is read while its pinned weights come, and has the bits that it has when all of them are there.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tessera/npu/host/host_device.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/await.h"
#include "tessera/tests/fakes/breakable_device.h"
#include "tessera/tests/fakes/held_device.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/partly_pinned.h"
#include "tessera/tests/fakes/thread_state.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// HostDevice, which says how many layers it has begun to compute.
class CountingDevice : public HostDevice {
 public:
  CountingDevice(ThreadPool& pool, std::atomic<int>& layers) : HostDevice(pool), layers_(layers) {}
  absl::Status Submit(LoadedGraph& graph, const RunArguments& arguments) override {
    if (!arguments.paths.empty()) ++layers_;
    return HostDevice::Submit(graph, arguments);
  }

 private:
  std::atomic<int>& layers_;
};

class FirstPrompt : public testing::Test {
 protected:
  static const PackedModel& Packed() {  // About 26 MiB, of which a layer takes 3.
    static const PackedModel packed(
        TinyModelBuilder({.width = 512, .feed_forward = 1536, .heads = 8, .kv_heads = 4, .head_size = 64, .layers = 8}));
    return packed;
  }
  static EngineOptions Plain() {
    return {.model_path = Packed().path(), .compute = {.threads = 2, .row_capacity = 16}, .cache = {.context = 64}};
  }

  // Options under which about 8 MiB are pinned, and the plan.
  FirstPrompt() {
    const auto engine = PartlyPinned(options_, /*more_than=*/6 * kMiB, /*beyond_least=*/10 * kMiB);
    plan_ = Must(engine->planner().PlanBudget(options_.streaming.memory_budget)).weights;
    for (int unit = 0; unit < engine->model().streamer()->units(); ++unit) {
      if (plan_.pins.pinned[unit]) last_pin_ = unit;
    }
    last_pin_place_ = engine->model().file().packed()->UnitOffset(last_pin_);
  }

  template <typename Wrap>
  void WrapDevice(Wrap wrap) {
    TestHooks hooks = *options_.hooks;
    hooks.wrap_device = std::move(wrap);
    options_.hooks = Hooks(std::move(hooks));
  }
  std::unique_ptr<Engine> Open() const {
    auto engine = Must(Engine::Open(options_));
    Must(engine->LoadWeights());
    return engine;
  }

  static std::vector<float> LogitsOf(const Session& session) { return {session.logits().begin(), session.logits().end()}; }
  static const std::vector<float>& Expected() {
    static const std::vector<float> expected = [] {
      const auto engine = Must(Engine::Load(Plain()));
      const auto session = Must(engine->NewSession());
      Must(session->Append(Prompt()));
      return LogitsOf(*session);
    }();
    return expected;
  }
  static std::vector<TokenId> Prompt() { return RandomTokens(12, 1); }

  EngineOptions options_ = Plain();
  StreamPlan plan_;
  int last_pin_ = -1;
  int64_t last_pin_place_ = 0;
};

TEST_F(FirstPrompt, BeginsBeforeThePinsAreReadAndReadsThemOnce) {
  HeldRead held;
  held.Hold(last_pin_place_);
  WrapDevice(held.Wrap());
  std::atomic<int> layers = 0;
  options_.compute.make_device = [&](ThreadPool& pool) -> absl::StatusOr<std::unique_ptr<Device>> {
    return std::make_unique<CountingDevice>(pool, layers);
  };
  const auto engine = Open();
  const auto session = Must(engine->NewSession()), other = Must(engine->NewSession());
  int before = 0;
  std::thread lets_go([&] {
    EXPECT_TRUE(Await([&] { return layers > 0; }, std::chrono::seconds(30)));   // Less than the held read waits.
    before = layers;
    held.LetGo();
  });
  const absl::Status appended = session->Append(Prompt());
  lets_go.join();
  Must(appended);
  EXPECT_GT(before, 0) << "the pass waited for what it did not need yet";
  EXPECT_EQ(LogitsOf(*session), Expected());
  Must(engine->AwaitWeights());
  const int64_t pins = plan_.pins.bytes, rest = plan_.streamed_bytes;
  int64_t read = engine->model().streamer()->stats().bytes_read;
  EXPECT_GE(read, pins + rest);
  EXPECT_LE(read, pins + rest + plan_.ring_bytes + LayerStreamer::kPartsBytes) << "rows of the table, and the beginning of the next pass";
  read = engine->model().streamer()->stats().bytes_read;
  Must(other->Append(Prompt()));
  EXPECT_EQ(LogitsOf(*other), Expected());
  EXPECT_LE(engine->model().streamer()->stats().bytes_read - read, rest + plan_.ring_bytes + LayerStreamer::kPartsBytes) << "no pin";
}

// Each read in turn, from the first on: it may be one of a pin, of a streamed unit or of a row of the table.
TEST_F(FirstPrompt, AReadThatFailsEndsOneRequestAndTheNextReadsAgain) {
  const int reads = static_cast<int>(plan_.pins.pinned.size());
  int failures = 0, of_pins = 0;
  for (int read = 0; read < reads; ++read) {
    SCOPED_TRACE(read);
    Breaker breaker;
    breaker.BreakReadFromNow(read);
    WrapDevice([&](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
      return std::make_unique<BreakableDevice>(std::move(device), breaker);
    });
    const auto engine = Open();
    const auto session = Must(engine->NewSession());
    absl::Status status = session->Append(Prompt());
    breaker.Repair();
    if (!status.ok()) {
      ++failures;
      EXPECT_TRUE(absl::IsUnavailable(status)) << status;
      for (int unit = 0; unit < reads; ++unit) {
        of_pins += plan_.pins.pinned[unit] && absl::StrContains(status.message(), absl::StrCat(Packed().path(), ": unit ", unit, ","));
      }
      EXPECT_EQ(session->length(), 0);
      status = session->Append(Prompt());
    }
    // What was read ahead for another pass may have failed, too.
    if (!status.ok()) status = session->Append(Prompt());
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(LogitsOf(*session), Expected());
    Must(engine->AwaitWeights());
  }
  EXPECT_GT(failures, reads / 2);
  EXPECT_GT(of_pins, 0);
}

TEST_F(FirstPrompt, ACancelledPromptLeavesUnreadUnitsToTheNext) {
  HeldRead held;
  held.Hold(last_pin_place_);
  WrapDevice(held.Wrap());
  std::atomic<bool> cancel = false;
  options_.cancel = &cancel;
  const auto engine = Open();
  const auto session = Must(engine->NewSession());
  const pid_t appends = gettid();
  std::thread cancels([&] {
    const auto is_asked_for = [&] {
      const std::vector<int64_t> asked = held.asked();
      return std::count(asked.begin(), asked.end(), last_pin_place_) > 0;
    };
    EXPECT_TRUE(Await([&] { return is_asked_for() && IsAsleep(appends); }));   // The pass waits for a read.
    cancel = true;
  });
  const absl::Status status = session->Append(Prompt());
  cancels.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(session->length(), 0);
  cancel = false;
  held.LetGo();
  Must(session->Append(Prompt()));
  EXPECT_EQ(LogitsOf(*session), Expected());
  EXPECT_LE(engine->model().streamer()->stats().bytes_read,
            plan_.pins.bytes + 2 * plan_.streamed_bytes + plan_.ring_bytes + 2 * LayerStreamer::kPartsBytes) << "no pin twice";
}

// As where the system asks for memory while a prompt is read.
TEST_F(FirstPrompt, MemoryCanBeGivenBackBeforeTheReadEnds) {
  HeldRead held;
  held.Hold(last_pin_place_);
  WrapDevice(held.Wrap());
  const auto engine = Open();
  const BudgetPlan whole = Must(engine->ShrinkMemory(int64_t{1} << 40));
  Must(engine->ShrinkMemory(whole.Total() - plan_.pins.bytes));
  EXPECT_EQ(engine->model().streamer()->stats().pinned_bytes, 0);
  held.LetGo();
  const auto session = Must(engine->NewSession());
  Must(session->Append(Prompt()));
  EXPECT_EQ(LogitsOf(*session), Expected());
}

}  // namespace
}  // namespace tessera
