// Two threads on one engine: one of two calls at once is refused, neither process nor text is harmed.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

// Hands out another source's weights, and stops in the first lease after Arm until Release.
class StoppingSource : public WeightSource {
 public:
  struct Stop {
    void Arm() { armed = true; }
    std::atomic<bool> armed = false;
    std::promise<void> reached, released;
  };
  StoppingSource(std::unique_ptr<WeightSource> source, Stop& stop) : source_(std::move(source)), stop_(stop) {}

  int units() const override { return source_->units(); }
  absl::StatusOr<WeightLease> Acquire(int unit) override {
    if (stop_.armed.exchange(false)) {
      stop_.reached.set_value();
      stop_.released.get_future().wait();
    }
    return source_->Acquire(unit);
  }
  absl::StatusOr<std::vector<WeightLease>> AcquireParts(absl::Span<const UnitPart> parts) override { return source_->AcquireParts(parts); }

 private:
  void Release(int, absl::Span<const std::byte>) override {}  // Leases are the other's.

  const std::unique_ptr<WeightSource> source_;
  Stop& stop_;
};

std::vector<float> LogitsAfter(Engine& engine, const std::vector<TokenId>& tokens) {
  const auto session = Must(engine.NewSession());
  Must(session->Append(tokens));
  return {session->logits().begin(), session->logits().end()};
}

TEST(SessionThreads, ACallDuringAnotherThreadsPassIsRefusedAndDisturbsNothing) {
  StoppingSource::Stop stop;
  const PackedModel packed(TinyModelBuilder({}));
  EngineOptions options = {.model_path = packed.path(), .compute = {.threads = 1}, .cache = {.context = 64}};
  options.streaming.memory_budget = int64_t{4} << 30;
  const auto open = [&](const TsrReader& file, const StreamPlan& plan) -> absl::StatusOr<std::unique_ptr<WeightSource>> {
    absl::StatusOr<std::unique_ptr<LayerStreamer>> source = LayerStreamer::Open(file, {.pins = plan.pins, .parts_only = plan.parts_only});
    if (!source.ok()) return source.status();
    return std::make_unique<StoppingSource>(*std::move(source), stop);
  };
  options.hooks = Hooks({.open_source = open});
  const auto engine = Must(Engine::Load(options));
  const std::vector<TokenId> tokens = RandomTokens(20, 1);
  const std::vector<float> expected = LogitsAfter(*engine, tokens);
  const auto session = Must(engine->NewSession()), other = Must(engine->NewSession());
  stop.Arm();
  absl::Status passed;
  std::thread passing([&] { passed = session->Append(tokens); });
  stop.reached.get_future().wait();
  for (const absl::Status& status :
       {other->Append({1}), other->PassTree(TokenTree(1)), other->Fork(0).status(), engine->NewSession().status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.message(), "engine: found a call of another thread under way, expected one thread at a time");
  }
  EXPECT_EQ(other->length(), 0);
  stop.released.set_value();
  passing.join();
  Must(passed);
  EXPECT_EQ(session->logits(), absl::MakeConstSpan(expected));
  Must(other->Append(tokens));
  EXPECT_EQ(other->logits(), absl::MakeConstSpan(expected));
}

// Sessions come and go on both threads, too.
TEST(SessionThreads, CallsAtOnceAreRightOrRefused) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1, .row_capacity = 8}, .cache = {.context = 256}});
  const std::vector<TokenId> tokens = RandomTokens(20, 1);
  const std::vector<float> expected = LogitsAfter(*engine, tokens);
  std::atomic<int> right = 0;
  const auto drive = [&] {
    for (int i = 0; i < 200; ++i) {
      const absl::StatusOr<std::unique_ptr<Session>> session = engine->NewSession();
      const absl::Status status = session.ok() ? (*session)->Append(tokens) : session.status();
      if (absl::IsFailedPrecondition(status)) continue;
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ((*session)->logits(), absl::MakeConstSpan(expected));
      ++right;
    }
  };
  std::thread other(drive);
  drive();
  other.join();
  EXPECT_GT(right, 0);
  EXPECT_EQ(LogitsAfter(*engine, tokens), expected);
}

}  // namespace
}  // namespace tessera
