#include "tessera/runtime/engine/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/cpu_quota.h"
#include "tessera/base/processor_cores.h"
#include "tessera/base/usage_error.h"
#include "tessera/tests/fakes/tiny_engine.h"

namespace tessera {
namespace {

const std::string kLlama = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/tiny/llama.gguf";

TEST(Options, HeaderExample) {
  const TemporaryFolder folder;
  TinyModelBuilder({.context = 4096}).WriteTo(folder.Path("model.gguf"));
  EngineOptions options = {.model_path = folder.Path("model.gguf")};
  options.compute.threads = 2;
  options.cache.context = 4096;
  options.streaming = {.memory_budget = int64_t{1} << 30, .pin = PinPolicy::kSpread};
  const std::unique_ptr<Engine> engine = Must(Engine::Load(options));
  EXPECT_EQ(engine->context(), 4096);
}

TEST(Options, WrongOnesAreNamed) {
  const auto message = [](auto&& spoil) {
    EngineOptions options = {.model_path = "model.gguf"};
    spoil(options);
    return std::string(CheckOptions(options).message());
  };
  EXPECT_EQ(message([](auto& o) { o.compute.threads = 257; }), "threads: found 257, expected 0 (one per fast core) to 256");
  EXPECT_EQ(message([](auto& o) { o.compute.threads = -1; }), "threads: found -1, expected 0 (one per fast core) to 256");
  EXPECT_EQ(message([](auto& o) { o.compute.row_capacity = -1; }), "row_capacity: found -1, expected 0 (by memory) to 65536");
  EXPECT_EQ(message([](auto& o) { o.workload.sessions = 0; }), "sessions: found 0, expected 1 or more");
  EXPECT_EQ(message([](auto& o) { o.cache.cache_tokens = -1; }), "cache_tokens: found -1, expected 0 (by the context) to 16777216");
  EXPECT_EQ(message([](auto& o) { o.cache.text_share = 20000000; }), "text_share: found 20000000, expected 0 (by the context) to 16777216");
  EXPECT_EQ(message([](auto& o) { o.cache.kv_format = KvFormat::kFloat; }), "kv_format: found FP32, expected FP16 or 8-bit");
  EXPECT_EQ(message([](auto&) {}), "");
}

TEST(Options, TheCacheHasRoomForAllTextsAndAWholeContextAtLeast) {
  const auto open = [](CacheOptions cache, int sessions = 1) {
    return Engine::Open({.model_path = kLlama, .compute = {.threads = 1}, .cache = cache, .workload = {.sessions = sessions}});
  };
  EXPECT_EQ(Must(open({.context = 100}))->cache_tokens(), 112) << "whole blocks";
  EXPECT_EQ(Must(open({.context = 100}, 8))->cache_tokens(), 112) << "by itself it takes no more";
  EXPECT_EQ(Must(open({.context = 100, .cache_tokens = 640}))->cache_tokens(), 640);
  EXPECT_EQ(Must(open({.context = 100, .text_share = 32}, 8))->cache_tokens(), 256);
  EXPECT_EQ(Must(open({.context = 100, .text_share = 32}, 2))->cache_tokens(), 112);
  EXPECT_EQ(Must(open({.context = 100, .text_share = 5000}, 8))->cache_tokens(), 800);
  const absl::Status small = open({.context = 100, .cache_tokens = 99}).status();
  EXPECT_EQ(small.message(), "cache_tokens: found 99, expected at least 100, the context of one text (context)");
  EXPECT_TRUE(IsWrongUsage(small));
  EXPECT_EQ(Must(open({.context = 100, .text_share = 1 << 24}, std::numeric_limits<int>::max()))->cache_tokens(), kMostContext);
}

// Nobody would look at either there.
TEST(Options, TheReferencePathHasNeitherKernelsNorFormatsOfKeys) {
  EngineOptions options = {.model_path = "model.gguf", .compute = {.path = ComputePath::kReference}};
  EXPECT_TRUE(CheckOptions(options).ok());
  options.cache.kv_format = KvFormat::kInt8;
  EXPECT_EQ(CheckOptions(options).message(), "kv_format: found 8-bit with the reference path, which keeps FP32, expected the fast path");
  options.compute.kernels = "portable";
  EXPECT_EQ(CheckOptions(options).message(),
            "kernels: found portable with the reference path, which has no kernels, expected the fast path");
}

TEST(Options, TheNpuPathKeepsFp16AndAloneHasRecipesAndBlocksOfKeys) {
  EngineOptions options = {.model_path = "model.gguf", .compute = {.path = ComputePath::kNpu, .recipe = "qnn", .kv_block = 4096}};
  EXPECT_TRUE(CheckOptions(options).ok()) << CheckOptions(options);
  options.compute.kernels = "portable";
  EXPECT_TRUE(CheckOptions(options).ok()) << CheckOptions(options);
  for (const int wrong : {-16, 8, 24, 4112}) {
    options.compute.kv_block = wrong;
    EXPECT_EQ(CheckOptions(options).message(),
              absl::StrCat("kv_block: found ", wrong, ", expected 0 (512) or a multiple of 16 up to 4096"));
  }
  options.compute.kv_block = 0;
  options.cache.kv_format = KvFormat::kInt8;
  EXPECT_EQ(CheckOptions(options).message(), "kv_format: found 8-bit with the npu path, which keeps FP16, expected the fast path");
  options.cache.kv_format = KvFormat::kHalf;
  options.compute.recipe = "int4-tile,x=keep";
  const absl::Status unknown = CheckOptions(options);
  EXPECT_EQ(unknown.message().find("recipe: found the part \"x\", expected one of head, embedding, attn_q"), 0u) << unknown;
  EXPECT_TRUE(IsWrongUsage(unknown));
  for (const auto& [path, name] : {std::pair(ComputePath::kFast, "fast"), std::pair(ComputePath::kReference, "reference")}) {
    options.compute = {.path = path, .recipe = "qnn"};
    EXPECT_EQ(CheckOptions(options).message(), absl::StrCat("recipe: found qnn with the ", name,
                                                            " path, which computes with the file's own forms, expected the npu path"));
    options.compute = {.path = path, .kv_block = 512};
    EXPECT_EQ(CheckOptions(options).message(),
              absl::StrCat("kv_block: found 512 with the ", name, " path, which has no such blocks, expected the npu path"));
  }
}

TEST(Options, ThreadsAreOnePerFastCoreWithinAQuotaAndAtMostOnePerCpu) {
  const int cores = ProcessorCores::Read().FastCores(CpusOfThread());
  EXPECT_EQ(Must(ThreadsOf({})), std::min({AvailableCpus(), cores, ThreadsForQuota(CpuQuota().value_or(1000))}));
  EXPECT_EQ(Must(ThreadsOf({.threads = 3})), std::min(3, AvailableCpus()));
  const CpuLimit limit = Must(CpuLimit::Create(1));
  EXPECT_EQ(Must(ThreadsOf({.threads = 3})), 1);
}

TEST(Options, ComputePathsHaveNames) {
  EXPECT_EQ(Must(ComputePathFromName("fast")), ComputePath::kFast);
  EXPECT_EQ(Must(ComputePathFromName("reference")), ComputePath::kReference);
  EXPECT_EQ(Must(ComputePathFromName("npu")), ComputePath::kNpu);
  for (const char* name : {"fast", "reference", "npu"}) EXPECT_EQ(ComputePathName(Must(ComputePathFromName(name))), name);
  const absl::Status status = ComputePathFromName("Fast").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "path: found \"Fast\", expected fast, reference or npu");
}

TEST(Options, FormatsOfKeysAndValuesHaveNames) {
  EXPECT_EQ(Must(KvFormatFromName("f16")), KvFormat::kHalf);
  EXPECT_EQ(Must(KvFormatFromName("q8")), KvFormat::kInt8);
  EXPECT_EQ(KvFormatFromName("Q8").status().message(), "kv_format: found \"Q8\", expected f16 or q8");
}

}  // namespace
}  // namespace tessera
