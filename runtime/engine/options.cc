#include "tessera/runtime/engine/options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/cpu_quota.h"
#include "tessera/base/processor_cores.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/files/weight_recipe.h"
#include "tessera/npu/hmx/hmx_device.h"

namespace tessera {

namespace {

constexpr std::pair<ComputePath, absl::string_view> kPaths[] = {
    {ComputePath::kFast, "fast"}, {ComputePath::kReference, "reference"}, {ComputePath::kNpu, "npu"}};

}  // namespace

absl::StatusOr<ComputePath> ComputePathFromName(absl::string_view name) {
  for (const auto& [path, known] : kPaths) {
    if (name == known) return path;
  }
  return WrongUsage("path", Quoted(name), "fast, reference or npu");
}

absl::string_view ComputePathName(ComputePath path) {
  for (const auto& [known, name] : kPaths) {
    if (path == known) return name;
  }
  return "";
}

absl::StatusOr<KvFormat> KvFormatFromName(absl::string_view name) {
  if (name == "f16") return KvFormat::kHalf;
  if (name == "q8") return KvFormat::kInt8;
  return WrongUsage("kv_format", Quoted(name), "f16 or q8");
}

absl::StatusOr<int> ThreadsOf(const ComputeOptions& options) {
  if (options.threads < 0 || options.threads > ThreadPool::kMaxThreads) {
    return WrongUsage("threads", options.threads, absl::StrCat("0 (one per fast core) to ", ThreadPool::kMaxThreads));
  }
  const int cpus = std::min(AvailableCpus(), ThreadPool::kMaxThreads);
  if (options.threads > 0) return std::min(options.threads, cpus);
  // Both look-ups are too slow to be repeated before each pass.
  static const int granted = ThreadsForQuota(CpuQuota().value_or(ThreadPool::kMaxThreads));
  static const ProcessorCores cores = ProcessorCores::Read();
  return std::min({granted, cpus, cores.FastCores(CpusOfThread())});
}

std::function<void()> SpendDraftStep(const EngineOptions& options) {
  if (options.spend == nullptr) return nullptr;
  return [spend = options.spend] { spend(CpuWork::kDraftSteps, 1); };
}

namespace {

// Refuses options of another path, which this path would ignore. A given device has its own options.
absl::Status CheckPath(const EngineOptions& options) {
  const ComputeOptions& compute = options.compute;
  const auto wrong = [&](absl::string_view field, const absl::AlphaNum& found, absl::string_view why, absl::string_view expected) {
    return WrongUsage(field, absl::StrCat(found, " with the ", ComputePathName(compute.path), " path, which ", why), expected);
  };
  if (compute.make_device != nullptr) return absl::OkStatus();
  if (compute.path == ComputePath::kReference) {
    if (compute.kernels != "auto") return wrong("kernels", compute.kernels, "has no kernels", "the fast path");
    if (options.cache.kv_format != KvFormat::kHalf) {
      return wrong("kv_format", KvFormatName(options.cache.kv_format), "keeps FP32", "the fast path");
    }
  }
  if (compute.path == ComputePath::kNpu) {
    if (options.cache.kv_format == KvFormat::kHalf) return absl::OkStatus();
    return wrong("kv_format", KvFormatName(options.cache.kv_format), "keeps FP16", "the fast path");
  }
  if (!compute.recipe.empty()) return wrong("recipe", compute.recipe, "computes with the file's own forms", "the npu path");
  if (compute.importance != nullptr) return wrong("importance", "statistics", "forms no weights", "the npu path");
  if (compute.kv_block != 0) return wrong("kv_block", compute.kv_block, "has no such blocks", "the npu path");
  return absl::OkStatus();
}

absl::Status CheckNpuOptions(const ComputeOptions& compute) {
  if (!compute.recipe.empty()) RETURN_IF_ERROR(ForField("recipe", WeightRecipe::Parse(compute.recipe).status()));
  constexpr int kStep = KvView::kSlotsPerBlock, kMost = HmxDevice::kMostKvBlock;
  if (compute.kv_block >= 0 && compute.kv_block <= kMost && compute.kv_block % kStep == 0) return absl::OkStatus();
  return WrongUsage("kv_block", compute.kv_block,
                    absl::StrCat("0 (", HmxDevice::kDefaultKvBlock, ") or a multiple of ", kStep, " up to ", kMost));
}

}  // namespace

absl::Status CheckOptions(const EngineOptions& options) {
  constexpr int kMostRows = 65536;
  if (options.compute.row_capacity < 0 || options.compute.row_capacity > kMostRows) {
    return WrongUsage("row_capacity", options.compute.row_capacity, absl::StrCat("0 (by memory) to ", kMostRows));
  }
  if (options.cache.kv_format != KvFormat::kHalf && options.cache.kv_format != KvFormat::kInt8) {
    return WrongUsage("kv_format", KvFormatName(options.cache.kv_format), "FP16 or 8-bit");
  }
  for (const auto& [field, tokens] : {std::pair("cache_tokens", options.cache.cache_tokens),
                                      std::pair("text_share", options.cache.text_share)}) {
    if (tokens < 0 || tokens > kMostContext) return WrongUsage(field, tokens, absl::StrCat("0 (by the context) to ", kMostContext));
  }
  if (options.workload.sessions < 1) return WrongUsage("sessions", options.workload.sessions, "1 or more");
  const int reserved = options.workload.reserved_slots;
  if (reserved < 0 || reserved > kMostReservedSlots) {
    return WrongUsage("reserved_slots", reserved, absl::StrCat("0 to ", kMostReservedSlots));
  }
  for (size_t i = 0; i < options.compute.graph_rows.size(); ++i) {
    const int rows = options.compute.graph_rows[i], least = i == 0 ? 1 : options.compute.graph_rows[i - 1] + 1;
    if (rows < least || rows > kMostRows) return WrongUsage("graph_rows", rows, absl::StrCat(least, " to ", kMostRows));
  }
  RETURN_IF_ERROR(CheckPath(options));
  RETURN_IF_ERROR(CheckNpuOptions(options.compute));
  return ThreadsOf(options.compute).status();
}

}  // namespace tessera
