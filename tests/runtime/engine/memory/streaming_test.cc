// A streamed model writes what a resident one writes, bit for bit, however it is streamed.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/base/crc32c.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/engine/engine.h"
#include "tessera/runtime/engine/weight_plan.h"
#include "tessera/runtime/scheduler/decode_loop.h"
#include "tessera/tests/fakes/architectures.h"
#include "tessera/tests/fakes/golden.h"
#include "tessera/tests/fakes/packed_file.h"
#include "tessera/tests/fakes/real_models.h"
#include "tessera/tests/fakes/sanitized.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

uint32_t Digest(absl::Span<const float> logits) {
  return Crc32c({reinterpret_cast<const std::byte*>(logits.data()), logits.size() * sizeof(float)});
}

// All that a run gives: of the logits after every token of a prompt their checksums, and what is written then.
struct Written {
  std::vector<uint32_t> prompt;
  std::vector<TokenId> greedy, sampled;
  bool operator==(const Written&) const = default;
};

Written Write(Engine& engine, const std::vector<TokenId>& prompt, int tokens) {
  Written written;
  const auto session = Must(engine.NewSession());
  const auto generate = [&](const SamplingOptions& sampling) {
    return Must(Generate(*session, Must(Sampler::Create(sampling)), {.max_tokens = tokens, .ignore_end = true})).tokens;
  };
  Must(session->AppendEach(prompt, [&](int, absl::Span<const float> logits) {
    written.prompt.push_back(Digest(logits));
    return absl::OkStatus();
  }));
  written.greedy = generate({.temperature = 0});
  session->Truncate(static_cast<int>(prompt.size()) - 1);
  Must(session->Append({prompt.back()}));
  written.sampled = generate({.temperature = 0.8f, .top_k = 40, .seed = 7});
  return written;
}

// What is read ahead is what comes next, when one token comes after another.
void ExpectReadsInOrder(Engine& engine) {
  const int64_t before = engine.model().streamer()->stats().out_of_order;
  const auto session = Must(engine.NewSession());
  for (const TokenId token : {5, 6, 7}) Must(session->Append({token}));
  EXPECT_EQ(engine.model().streamer()->stats().out_of_order, before);
}

struct Case {
  int64_t more;     // Than the least budget, in halves of the weights.
  PinPolicy pin;
  IoKind io;
  VerifyPolicy verify;
  int rows = 512;
  int threads = 2;
};
constexpr Case kCases[] = {
    {0, PinPolicy::kSpread, IoKind::kAuto, VerifyPolicy::kFirst},
    {0, PinPolicy::kNone, IoKind::kBuffered, VerifyPolicy::kAlways, 7},
    {1, PinPolicy::kPrefix, IoKind::kPread, VerifyPolicy::kNever, 512, 1},
    {1, PinPolicy::kAuto, IoKind::kPread, VerifyPolicy::kAlways},
    {4, PinPolicy::kNone, IoKind::kAuto, VerifyPolicy::kNever, 16},
    {4, PinPolicy::kAuto, IoKind::kAuto, VerifyPolicy::kFirst},
};

class StreamedRealModel : public testing::TestWithParam<const char*> {};

TEST_P(StreamedRealModel, WritesTheTextOfTheResidentModel) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory grows from engine to engine, and no budget fits the next";
  const std::string gguf = RealModelPath(GetParam());
  if (gguf.empty()) FAIL() << RealModelMissing(GetParam());
  const PackedModel packed(gguf);
  const EngineOptions common = {.compute = {.threads = 2}, .cache = {.context = 128}, .workload = {.logit_rows = 1 + Session::kLogitRows}};
  const auto options = [&](const std::string& path) { EngineOptions all = common; all.model_path = path; return all; };
  std::vector<TokenId> prompt;
  Written expected;
  int64_t least = 0, weights = 0;
  {
    const auto engine = Must(Engine::Load(options(gguf)));
    prompt = engine->tokenizer().Encode(Must(GoldenLines("wikitext2_articles.jsonl")[0].String("text")), {.add_bos = true});
    prompt.resize(40);
    expected = Write(*engine, prompt, 5);
    weights = engine->memory().weights;
  }
  {
    const auto engine = Must(Engine::Open(options(packed.path())));
    least = Must(engine->planner().PlanBudget(int64_t{1} << 40)).least + 8 * kMiB;  // This process has more and more of its own.
    Must(engine->LoadWeights());
    EXPECT_EQ(Write(*engine, prompt, 5), expected) << "packed, resident";
  }
  for (const Case& c : kCases) {
    SCOPED_TRACE(absl::StrCat("case ", &c - kCases));
    EngineOptions budgeted = options(packed.path());
    budgeted.streaming.memory_budget = least + c.more * weights / 2;
    budgeted.streaming.pin = c.pin;
    budgeted.streaming.io = c.io;
    budgeted.streaming.verify = c.verify;
    budgeted.compute.row_capacity = c.rows;
    budgeted.compute.threads = c.threads;
    const auto engine = Must(Engine::Load(budgeted));
    EXPECT_EQ(Write(*engine, prompt, 5), expected);
    ExpectReadsInOrder(*engine);
    const LayerStreamer::Stats stats = engine->model().streamer()->stats();
    EXPECT_EQ(stats.streamed_bytes == 0, c.pin != PinPolicy::kNone && c.more == 4);
    EXPECT_GE(stats.bytes_read, stats.pinned_bytes + 10 * stats.streamed_bytes) << "a pass for each token at least";
  }
}

// 128 rows are four times 32. Nothing is pinned, so a pass reads all, and what is left of the head's readings.
TEST_P(StreamedRealModel, ReadsItsHeadOnceForAllRowsThatMemoryHolds) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's own memory grows from engine to engine, and no budget fits the next";
  const std::string gguf = RealModelPath(GetParam());
  if (gguf.empty()) FAIL() << RealModelMissing(GetParam());
  const PackedModel packed(gguf);
  EngineOptions options = {.model_path = packed.path(),
                           .compute = {.threads = 2, .row_capacity = 128},
                           .cache = {.context = 128},
                           .streaming = {.pin = PinPolicy::kNone},
                           .workload = {.logit_rows = 1 + Session::kLogitRows}};
  const std::vector<TokenId> tokens = RandomTokens(128, 3);
  std::vector<uint32_t> expected;
  int64_t last = 0;
  for (const int at_once : {32, 64, 128}) {
    options.workload.logits_of_each = at_once > 32;
    int64_t row_bytes = 0;
    {
      const auto engine = Must(Engine::Open(options));
      row_bytes = engine->config().vocabulary * int64_t{sizeof(float)};
      options.streaming.memory_budget = Must(engine->planner().PlanBudget(int64_t{1} << 40)).least + 8 * kMiB + (at_once - 32) * row_bytes;
    }
    const auto engine = Must(Engine::Load(options));
    ASSERT_EQ(CoreOf(*engine).logits_at_once(), at_once);
    std::vector<uint32_t> digests;
    const auto session = Must(engine->NewSession());
    const int64_t before = engine->model().streamer()->stats().bytes_read;
    Must(session->AppendEach(tokens, [&](int, absl::Span<const float> logits) {
      digests.push_back(Digest(logits));
      return absl::OkStatus();
    }));
    const LayerStreamer::Stats stats = engine->model().streamer()->stats();
    const int64_t bytes = stats.bytes_read - before;
    if (at_once == 32) expected = digests;
    EXPECT_EQ(digests, expected);
    EXPECT_TRUE(at_once < 128 || bytes <= stats.streamed_bytes + stats.ring_bytes) << bytes << " bytes, expected those of one pass";
    EXPECT_TRUE(at_once == 32 || bytes < last - row_bytes) << at_once << " rows: " << bytes << " bytes, with half as many rows " << last;
    last = bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StreamedRealModel, testing::Values("smollm2", "gemma3"),
                         [](const auto& info) { return std::string(info.param); });

// Every way to stream a model of some blocks of a MiB and more each, driven as an engine drives it.
TEST(StreamedTinyModel, EveryPlanAndDeviceGivesTheSameBits) {
  const PackedModel packed(TinyModelBuilder({.width = 256, .feed_forward = 1024, .heads = 8, .kv_heads = 4, .head_size = 32, .layers = 4}));
  const LoadedWeights model(packed.gguf());
  const StreamNeeds needs = WeightNeedsOf(model.config(), model.layout());
  const std::unique_ptr<TsrReader> file = Must(TsrReader::Open(packed.path()));
  const std::vector<TokenId> prompt = RandomTokens(6, 1);
  const auto run = [&](WeightSource* source) {
    Machine machine(model, {.source = source});
    const KvCache::SequenceId sequence = machine.cache().NewSequence();
    std::vector<std::vector<float>> logits = machine.Extend(sequence, prompt);
    for (const TokenId token : {5, 7}) logits.push_back(machine.Extend(sequence, {&token, 1})[0]);
    return logits;
  };
  const std::vector<std::vector<float>> expected = run(nullptr);
  int ran = 0;
  for (const IoKind io : {IoKind::kIoUring, IoKind::kPread, IoKind::kBuffered}) {
    for (const PinPolicy pin : {PinPolicy::kAuto, PinPolicy::kPrefix, PinPolicy::kNone}) {
      for (const int64_t more : {int64_t{0}, needs.total_bytes / 2, needs.total_bytes}) {
        for (const int64_t more_ring : {int64_t{0}, int64_t{4096}, needs.total_bytes}) {
          for (const int depth : {1, 8}) {
            StreamPlan plan = Must(PlanStreaming(needs, LeastStreamBytes(needs) + more, pin));
            LayerStreamer::Options options = {.pins = std::move(plan.pins), .parts_only = std::move(plan.parts_only)};
            options.ring_bytes = plan.ring_bytes + more_ring;
            options.verify = static_cast<VerifyPolicy>(ran % 3);
            options.io = io;
            options.depth = depth;
            const absl::StatusOr<std::unique_ptr<LayerStreamer>> source = LayerStreamer::Open(*file, options);
            if (absl::IsFailedPrecondition(source.status()) && io != IoKind::kBuffered) continue;  // Not on this system.
            ASSERT_TRUE(source.ok()) << source.status();
            ASSERT_EQ(run(source->get()), expected)
                << IoKindName(io) << " pin " << static_cast<int>(pin) << " " << more << " " << more_ring << " " << depth;
            ++ran;
          }
        }
      }
    }
  }
  EXPECT_GE(ran, 54);
}

TEST(StreamedTinyModel, EveryArchitectureGivesTheSameBits) {
  std::vector<TinyModel> models;
  for (const char* architecture : kArchitectures) {
    const bool gemma = architecture == std::string("gemma3");
    models.push_back({.architecture = architecture, .layers = 8, .window = gemma ? 8 : 0, .tied = gemma});
  }
  models.push_back({.layers = 8, .biases = AllLayerBiases()});
  models.push_back({.architecture = "qwen2", .layers = 8, .biases = {"output.bias"}});
  for (const TinyModel& model : models) {
    SCOPED_TRACE(absl::StrCat(model.architecture, " with ", model.biases.size(), " more biases than usual"));
    const PackedModel packed(TinyModelBuilder(model));
    const EngineOptions resident = {.model_path = packed.gguf(), .compute = {.threads = 2, .row_capacity = 16}};
    EngineOptions streamed = resident;
    streamed.model_path = packed.path();
    streamed.streaming.memory_budget = int64_t{4} << 30;
    streamed.streaming.pin = PinPolicy::kNone;
    const auto expected = Must(Engine::Load(resident)), engine = Must(Engine::Load(streamed));
    EXPECT_EQ(Write(*engine, RandomTokens(40, 3), 20), Write(*expected, RandomTokens(40, 3), 20));
    const LayerStreamer::Stats stats = engine->model().streamer()->stats();
    EXPECT_GT(stats.bytes_read, 40 * stats.streamed_bytes) << "a pass for each token";
  }
}

}  // namespace
}  // namespace tessera
