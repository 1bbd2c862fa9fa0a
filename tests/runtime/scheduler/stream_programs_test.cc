// Random programs over many texts in one pass: each is what it is alone, whatever happens beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/cpu_features.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/tests/fakes/breakable_device.h"
#include "tessera/tests/fakes/failing_source.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/partly_pinned.h"
#include "tessera/tests/fakes/random_adapter.h"
#include "tessera/tests/fakes/random_program.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/stream_program.h"

namespace tessera {
namespace {

using F = BlockFormat;
using Counts = StreamProgram::Counts;

// Three that differ, and one that is the same as another in all but where it lies.
class Adapters {
 public:
  explicit Adapters(const ModelConfig& config) {
    for (const auto& [rank, targets, seed] : {std::tuple{2, kAllTargets, 1}, {3, 0b0100110u, 2}, {2, kAllTargets, 1}, {1, 0b1u, 3}}) {
      adapters_.push_back(RandomAdapter(config, rank, targets, seed));
    }
  }
  // None as often as one.
  std::vector<const LoraAdapter*> all() const {
    std::vector<const LoraAdapter*> all(adapters_.size(), nullptr);
    for (const LoraAdapter& adapter : adapters_) all.push_back(&adapter);
    return all;
  }

 private:
  std::vector<LoraAdapter> adapters_;
};

// Engines of one model that compute by one of the CPU's kernels.
class StreamPrograms : public testing::TestWithParam<KernelPath> {
 protected:
  EngineOptions Options(int rows, int context, uint64_t scatter_seed = 0) const {
    EngineOptions options = {.compute = {.threads = 1, .kernels = std::string(KernelPathName(GetParam())), .row_capacity = rows},
                             .cache = {.context = context}};
    options.hooks = Hooks({.scatter_seed = scatter_seed});
    return options;
  }

  // `options` may stream its weights; alone, a text is written with all of them in memory.
  Counts Run(Engine& engine, EngineOptions options, StreamProgram::Options program) {
    options.streaming = {};
    options.hooks = Hooks({.scatter_seed = options.hooks->scatter_seed});
    LoneWriter alone(options);
    const Adapters adapters(engine.config());
    program.adapters = adapters.all();
    program.seed = TestSeed();
    SCOPED_TRACE(absl::StrCat("TESSERA_TEST_SEED=", TestSeed()));
    StreamProgram running(engine, alone, program);
    EXPECT_EQ(running.Run(), "");
    const Counts& counts = running.counts();
    if (kSanitized) return counts;   // Too short a program to have tried so much.
    EXPECT_GT(counts.passes, program.steps * 3 / 4);
    EXPECT_GT(counts.whole, program.steps / 16);
    EXPECT_GT(counts.cancelled, program.steps / 100);
    EXPECT_GT(counts.forked, program.steps / 50);
    EXPECT_GT(counts.shared_tokens, program.steps / 4);
    EXPECT_GT(counts.drafted, program.steps / 16);
    return counts;
  }

  Counts Run(const TinyModel& model, EngineOptions options, const StreamProgram::Options& program) {
    const TemporaryFolder folder;
    options.model_path = folder.Path("tiny.gguf");
    TinyModelBuilder(model).WriteTo(options.model_path);
    const auto engine = Must(Engine::Load(options));
    return Run(*engine, options, program);
  }

  TinyModel Mixed() const { return {.writes_letters = true, .formats = {F::kQ4_0, F::kQ4_1, F::kQ8_0}, .seed = 3}; }
  TinyModel Windowed() const {
    return {.architecture = "gemma3", .feed_forward = 64, .layers = 7, .window = 6, .tied = true, .formats = {F::kQ8_0, F::kQ4_0},
            .seed = 4};
  }
};

// Ten thousand steps on each path, all programs together.
constexpr int kPlain = 3200, kSmall = 2600, kFewRows = 1800, kWindows = 1000, kInt8 = 360, kFaults = 1000, kStreamed = 40, kNpu = 600;
static_assert(kPlain + kSmall + kFewRows + kWindows + kInt8 + kFaults + kStreamed + kNpu == 10'600);
int Steps(int steps) { return Fewer(steps, std::max(steps / 20, 20)); }

TEST_P(StreamPrograms, TextsKeepTheirBitsInAnyCompany) {
  const Counts counts = Run(Mixed(), Options(/*rows=*/32, /*context=*/256), {.steps = Steps(kPlain), .restart_every = 300});
  EXPECT_GT(counts.most_texts, kSanitized ? 3 : 6);
  EXPECT_EQ(counts.failed + counts.refused, 0);
}

TEST_P(StreamPrograms, TextsThatFillTheCacheWaitOrArePreemptedAndKeepTheirBits) {
  EngineOptions options = Options(/*rows=*/16, /*context=*/64, /*scatter_seed=*/5);
  options.cache.cache_tokens = 96;
  const Counts counts = Run(Mixed(), options, {.steps = Steps(kSmall), .row_seconds = 1e-3, .session_every = 25});
  EXPECT_GT(counts.waited, Steps(kSmall) / 50);
  EXPECT_GT(counts.preempted, Steps(kSmall) / 100);
  EXPECT_GT(counts.sessions, Steps(kSmall) / 100);
}

TEST_P(StreamPrograms, MoreTextsThanRowsTakeTurnsByCostsThatAreLearnt) {
  const Counts counts = Run({.architecture = "qwen2", .formats = {F::kQ8_0}, .seed = 8}, Options(/*rows=*/4, /*context=*/128, 7),
                            {.steps = Steps(kFewRows), .longest = 20, .row_seconds = 0, .keeps_prefixes = false});
  EXPECT_EQ(counts.most_texts, 4);
  EXPECT_EQ(counts.failed + counts.refused, 0);
}

TEST_P(StreamPrograms, WindowsThatAreGivenUpChangeNoBit) {
  EngineOptions options = Options(/*rows=*/16, /*context=*/128, /*scatter_seed=*/6);
  const Counts counts = Run(Windowed(), options, {.steps = Steps(kWindows)});
  EXPECT_GT(counts.preempted + counts.waited, Steps(kWindows) / 100);
  options.workload.sessions = 3;
  options.cache.kv_format = KvFormat::kInt8;
  Run(Windowed(), options, {.steps = Steps(kInt8), .session_every = 40});
}

// Drafts, forks and adapters, with a phone NPU's arithmetic and a cache that is given back.
TEST_P(StreamPrograms, TextsOfANpusArithmeticKeepTheirBits) {
  EngineOptions options = Options(/*rows=*/16, /*context=*/64, /*scatter_seed=*/8);
  options.compute.path = ComputePath::kNpu;
  options.compute.kv_block = 16;
  options.cache.cache_tokens = 96;
  const Counts counts = Run(Mixed(), options, {.steps = Steps(kNpu), .session_every = 30});
  EXPECT_GT(counts.waited + counts.preempted, Steps(kNpu) / 50);
}

// Texts of that pass end with the error, and no others.
TEST_P(StreamPrograms, AUnitThatCannotBeReadEndsTheTextsOfItsPassAlone) {
  const PackedModel packed(TinyModelBuilder({.formats = {F::kQ4_0, F::kQ4_1, F::kQ8_0}, .seed = 3}));
  EngineOptions options = Options(/*rows=*/24, /*context=*/96);
  options.model_path = packed.path();
  options.workload.logit_rows = 9;
  options.streaming.memory_budget = int64_t{4} << 30;
  std::unique_ptr<LayerStreamer> streamer;
  FailingSource* failing = nullptr;
  const auto open = [&](const TsrReader& file, const StreamPlan& plan) -> absl::StatusOr<std::unique_ptr<WeightSource>> {
    streamer = Must(LayerStreamer::Open(file, {.pins = plan.pins, .parts_only = plan.parts_only}));
    auto source = std::make_unique<FailingSource>(*streamer);
    failing = source.get();
    return source;
  };
  options.hooks = Hooks({.open_source = open});
  const auto engine = Must(Engine::Load(options));
  const Counts counts = Run(*engine, options, {.steps = Steps(kFaults), .session_every = 50, .fault_every = 12,
                                               .begin_fault = [&](SeededRandom& random) {
                                                 failing->failing = static_cast<int>(random.Below(failing->units()));
                                               },
                                               .end_fault = [&] { failing->failing = -1; }});
  EXPECT_GT(counts.failed, Steps(kFaults) / 50);
}

// The model is read from its file, and gives memory back between passes: prefixes, the end of the cache, pinned weights.
TEST_P(StreamPrograms, ReadsThatFailAndBudgetsThatShrinkChangeNoBit) {
  static const PackedModel packed(TinyModelBuilder({.width = 256, .feed_forward = 768, .heads = 8, .kv_heads = 4, .head_size = 32,
                                                    .layers = 8}));
  Breaker breaker;
  EngineOptions options = Options(/*rows=*/16, /*context=*/96);
  options.model_path = packed.path();
  options.cache.cache_tokens = 256;
  options.workload.logit_rows = 5;
  options.hooks = Hooks({.wrap_device = [&](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
    return std::make_unique<BreakableDevice>(std::move(device), breaker);
  }});
  const auto engine = PartlyPinned(options);
  const LayerStreamer& streamer = *engine->model().streamer();
  const int64_t pinned = streamer.stats().pinned_bytes;
  int64_t budget = options.streaming.memory_budget;
  const auto shrink = [&](SeededRandom& random) {
    const int64_t less = budget - random.Below(int64_t{2} << 20);
    const absl::Status status = engine->ShrinkMemory(less).status();
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;   // It has a least.
    if (status.ok()) budget = less;
  };
  const Counts counts = Run(*engine, options, {.steps = Steps(kStreamed), .texts = 6, .longest = 24, .row_seconds = 1e-4, .fault_every = 6,
                                               .begin_fault = [&](SeededRandom& random) { breaker.BreakReadFromNow(random.Below(6)); },
                                               .end_fault = [&] { breaker.Repair(); },
                                               .hook_every = 4, .hook = shrink});
  EXPECT_GT(counts.failed, 0);
  EXPECT_LT(streamer.stats().pinned_bytes, pinned);
}

INSTANTIATE_TEST_SUITE_P(AllPaths, StreamPrograms, testing::ValuesIn(SupportedKernelPaths()),
                         [](const auto& path) { return std::string(KernelPathName(path.param)); });

}  // namespace
}  // namespace tessera
