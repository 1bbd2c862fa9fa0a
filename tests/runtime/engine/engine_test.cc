#include "tessera/runtime/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <glog/logging.h>

#include "tessera/base/available_cpus.h"
#include "tessera/base/status_macros.h"
#include "tessera/npu/reference/reference_device.h"
#include "tessera/runtime/engine/core.h"
#include "tessera/runtime/session/session.h"
#include "tessera/tests/fakes/temporary_folder.h"
#include "tessera/tests/fakes/tiny_engine.h"
#include "tessera/tests/fakes/tiny_model.h"

namespace tessera {
namespace {

const std::string kLlama = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/llama.gguf";

TEST(Engine, HeaderExample) {
  const auto run = []() -> absl::StatusOr<size_t> {
    ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Engine::Load({.model_path = kLlama, .compute = {.threads = 2}}));
    ASSIGN_OR_RETURN(std::unique_ptr<Session> session, engine->NewSession());
    RETURN_IF_ERROR(session->Append(engine->tokenizer().Encode("Once upon a time", {.add_bos = true})));
    absl::Span<const float> next = session->logits();
    return next.size();
  };
  EXPECT_EQ(Must(run()), 271u);
}

TEST(Engine, ShowsItsModelAndOptions) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 2}, .cache = {.context = 100}}));
  EXPECT_EQ(engine->model().gguf().path(), kLlama);
  EXPECT_EQ(engine->config().architecture, "llama");
  EXPECT_EQ(engine->model().layout().encoding(), WeightEncoding::kPacked);
  EXPECT_EQ(engine->tokenizer().vocabulary_size(), 271);
  EXPECT_EQ(engine->context(), 100);
  EXPECT_EQ(engine->threads(), std::min(2, AvailableCpus()));
  EXPECT_EQ(CoreOf(*engine).timeline(), nullptr);
  EXPECT_EQ(CoreOf(*engine).runner().row_capacity(), 100);  // More rows than positions cannot come.
  EXPECT_EQ(CoreOf(*engine).cache().slots(), 112);
  EXPECT_EQ(engine->memory().cache, 2 * 112 * (2 * 16 + 2 * 16) * 2);  // Layers, slots, keys and values of two heads, FP16.
}

TEST(Engine, DefaultsAreTheModelsContextAndAllAvailableCpus) {
  const auto engine = Must(Engine::Load({.model_path = kLlama}));
  EXPECT_EQ(engine->context(), 512);
  EXPECT_EQ(engine->threads(), Must(ThreadsOf({})));
  const auto longer = TinyEngine({.context = kDefaultContext + 1}, {.compute = {.threads = 1}});
  EXPECT_EQ(longer->context(), kDefaultContext);
}

// Within the window it does not matter which layers have it, and the file does not say.
TEST(Engine, AContextBeyondAWindowOfUnknownLayersIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("model.gguf");
  TinyModelBuilder({.context = 128}).Number("llama.attention.sliding_window", 200u).WriteTo(path);
  EXPECT_EQ(Must(Engine::Load({.model_path = path, .compute = {.threads = 1}, .cache = {.context = 200}}))->context(), 200);
  EXPECT_EQ(Engine::Load({.model_path = path, .compute = {.threads = 1}, .cache = {.context = 201}}).status().message(),
            "context: found 201, expected at most 200, the model's sliding window: its file does not say which layers have it");
}

TEST(Engine, TakesNoMoreThreadsThanCpusAndFollowsTheirNumber) {
  for (const ComputePath path : {ComputePath::kFast, ComputePath::kReference}) {
    const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 3, .path = path}}));
    const int before = engine->threads();
    EXPECT_EQ(before, std::min(3, AvailableCpus()));
    const auto session = Must(engine->NewSession());
    const auto logits_after = [&](TokenId token) {
      session->Truncate(0);
      EXPECT_TRUE(session->Append({&token, 1}).ok());
      return std::vector<float>(session->logits().begin(), session->logits().end());
    };
    const std::vector<float> logits = logits_after(5);
    {
      const CpuLimit limit = Must(CpuLimit::Create(1));
      EXPECT_EQ(logits_after(5), logits);
      EXPECT_EQ(engine->threads(), 1);
    }
    EXPECT_EQ(logits_after(5), logits);
    EXPECT_EQ(engine->threads(), before);
  }
}

// A device of static graphs that holds two at once.
TEST(Engine, AGivenDeviceMayHoldFewGraphs) {
  const std::vector<TokenId> tokens = RandomTokens(20, 2);
  StaticDevice* given = nullptr;
  const auto logits = [&](const EngineOptions& options) {
    const std::unique_ptr<Engine> engine = TinyEngine({}, options);
    EXPECT_EQ(CoreOf(*engine).cache().View(0).format(), KvFormat::kInt8);
    const std::unique_ptr<Session> session = Must(engine->NewSession());
    Must(session->Append(tokens));
    if (given != nullptr) {
      EXPECT_GT(given->loads(), 0);
      EXPECT_LE(given->most_loaded(), 2);
      const int64_t padded = given->padded_rows();
      Must(session->Append({7}));
      EXPECT_EQ(given->padded_rows(), padded) << "a token has graphs of one row";
    } else {
      Must(session->Append({7}));
    }
    return std::vector<float>(session->logits().begin(), session->logits().end());
  };
  EngineOptions options = {.compute = {.row_capacity = 8}, .cache = {.context = 64, .kv_format = KvFormat::kInt8}};
  const std::vector<float> expected = logits(options);
  options.cache.kv_format = KvFormat::kHalf;  // A given device has its own.
  options.compute.make_device = [&](ThreadPool&) -> absl::StatusOr<std::unique_ptr<Device>> {
    auto device = std::make_unique<StaticDevice>(StaticDevice::Options{.host = {.kv_format = KvFormat::kInt8}, .graphs = 2});
    given = device.get();
    return device;
  };
  EXPECT_EQ(logits(options), expected);
}

TEST(Engine, TakesNoMoreThreadsThanThereAreCpus) {
  const CpuLimit limit = Must(CpuLimit::Create(1));
  EXPECT_EQ(Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 3}}))->threads(), 1);
}

// The second engine computes with the threads of the first, as a draft model does beside its target.
TEST(Engine, AGivenPoolIsSharedAndNeverResized) {
  ThreadPool pool(2);
  const EngineOptions options = {.model_path = kLlama, .compute = {.threads = 7, .pool = &pool}};
  const auto first = Must(Engine::Load(options)), second = Must(Engine::Load(options));
  const auto alone = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}}));
  const auto logits_of = [](Engine& engine) {
    const auto session = Must(engine.NewSession());
    Must(session->Append({1, 2, 3}));
    return std::vector<float>(session->logits().begin(), session->logits().end());
  };
  const CpuLimit limit = Must(CpuLimit::Create(1));
  const std::vector<float> expected = logits_of(*alone);
  EXPECT_EQ(logits_of(*first), expected);
  EXPECT_EQ(logits_of(*second), expected);
  EXPECT_EQ(&CoreOf(*first).pool(), &pool);
  EXPECT_EQ(&CoreOf(*second).pool(), &pool);
  EXPECT_EQ(pool.threads(), 2);
}

TEST(Engine, AGivenDeviceComputesWithTheEnginesPool) {
  ThreadPool* given = nullptr;
  EngineOptions options = {.model_path = kLlama, .compute = {.threads = 1}};
  options.compute.make_device = [&](ThreadPool& pool) -> absl::StatusOr<std::unique_ptr<Device>> {
    given = &pool;
    return std::make_unique<ReferenceDevice>(&pool);
  };
  const auto engine = Must(Engine::Load(options));
  EXPECT_EQ(given, &CoreOf(*engine).pool());
  EXPECT_EQ(engine->model().layout().encoding(), WeightEncoding::kFloat32);
  const auto reference = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1, .path = ComputePath::kReference}}));
  const auto session = Must(engine->NewSession()), expected = Must(reference->NewSession());
  Must(session->Append({1, 2, 3}));
  Must(expected->Append({1, 2, 3}));
  EXPECT_EQ(session->logits(), expected->logits());
  options.compute.make_device = [](ThreadPool&) -> absl::StatusOr<std::unique_ptr<Device>> {
    return absl::UnavailableError("no such device");
  };
  EXPECT_EQ(Engine::Load(options).status(), absl::UnavailableError("no such device"));
}

TEST(Engine, StatsCountPassesAndRows) {
  const auto engine = TinyEngine({}, {.compute = {.threads = 1, .row_capacity = 8}});
  EXPECT_EQ(engine->stats().passes, 0);
  const auto session = Must(engine->NewSession());
  Must(session->Append(RandomTokens(20, 1)));
  EXPECT_EQ(engine->stats().passes, 3);
  EXPECT_EQ(engine->stats().rows, 20);
}

TEST(Engine, HasNoSessionsBeforeItsWeights) {
  const auto engine = Must(Engine::Open({.model_path = kLlama}));
  EXPECT_EQ(engine->NewSession().status().message(), "NewSession: found no weights, expected LoadWeights before");
  Must(engine->LoadWeights());
  Must(engine->NewSession());
}

TEST(Engine, APassOfAWideModelHasAsManyRowsAsItsScratchAllows) {
  const TinyModel wide = {.feed_forward = 8192, .context = 1024};
  const auto engine = TinyEngine(wide, {.compute = {.threads = 2}});
  const EngineMemory memory = engine->memory();
  EXPECT_LE(memory.graphs + memory.hidden_states, kDefaultScratch);
  EXPECT_GT(memory.graphs + memory.hidden_states, kDefaultScratch * 3 / 4);
  EXPECT_LT(CoreOf(*engine).runner().row_capacity(), kDefaultRowCapacity);
  EXPECT_EQ(TinyEngine({.context = 1024}, {.compute = {.threads = 2}})->planner().inputs().rows, kDefaultRowCapacity);
  EXPECT_EQ(TinyEngine(wide, {.compute = {.threads = 2, .row_capacity = 600}})->planner().inputs().rows, 600) << "where it is asked for";
}

TEST(Engine, AModelThatCannotBeComputedIsNamedWithItsFile) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("wide.gguf");
  TinyModelBuilder({.width = 16416, .feed_forward = 32, .layers = 1}).WriteTo(path);
  EXPECT_EQ(Engine::Open({.model_path = path, .compute = {.threads = 1, .path = ComputePath::kReference}}).status().message(),
            path + ": tensor token_embd.weight: 32 rows of 16416 values: found 2101248 bytes, expected at most 2097152");
}

TEST(Engine, TheReferencePathKeepsFloats) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1, .path = ComputePath::kReference}}));
  EXPECT_EQ(engine->model().layout().encoding(), WeightEncoding::kFloat32);
  EXPECT_EQ(engine->memory().cache, 2 * 512 * (2 * 16 + 2 * 16) * 4);
}

TEST(Engine, AnEightBitCacheTakesAByteANumberAndAScaleForEachHead) {
  const auto engine = Must(Engine::Load({.model_path = kLlama, .compute = {.threads = 1}, .cache = {.kv_format = KvFormat::kInt8}}));
  EXPECT_EQ(engine->planner().inputs().cache.format, KvFormat::kInt8);
  EXPECT_EQ(engine->memory().cache, 2 * 512 * 2 * 2 * (16 + 4)) << "layers, slots, heads, keys and values";
}

TEST(Engine, WrongOptionsAreNamed) {
  const auto message = [](auto&& spoil) {
    EngineOptions options = {.model_path = kLlama, .compute = {.threads = 1}};
    spoil(options);
    return std::string(Engine::Load(options).status().message());
  };
  EXPECT_EQ(message([](auto& o) { o.compute.threads = 257; }), "threads: found 257, expected 0 (one per fast core) to 256");
  EXPECT_EQ(message([](auto& o) { o.cache.context = -3; }), "context: found -3, expected 0 (the model's own, 512) to 16777216");
  EXPECT_NE(message([](auto& o) { o.compute.kernels = "sse9"; }).find("\"sse9\""), std::string::npos);
  EXPECT_NE(message([](auto& o) { o.model_path = "/nowhere/model.gguf"; }).find("/nowhere/model.gguf"), std::string::npos);
  EXPECT_EQ(message([](auto&) {}), "");
}

}  // namespace
}  // namespace tessera
