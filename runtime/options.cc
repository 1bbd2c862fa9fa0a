#include "tessera/runtime/options.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/cpu_quota.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {

absl::StatusOr<ComputePath> ComputePathFromName(absl::string_view name) {
  if (name == "fast") return ComputePath::kFast;
  if (name == "reference") return ComputePath::kReference;
  return WrongUsage("path", Quoted(name), "fast or reference");
}

absl::StatusOr<KvFormat> KvFormatFromName(absl::string_view name) {
  if (name == "f16") return KvFormat::kHalf;
  if (name == "q8") return KvFormat::kInt8;
  return WrongUsage("kv_format", Quoted(name), "f16 or q8");
}

absl::StatusOr<int> ThreadsOf(const ComputeOptions& options) {
  if (options.threads < 0 || options.threads > ThreadPool::kMaxThreads) {
    return WrongUsage("threads", options.threads, absl::StrCat("0 (all CPUs) to ", ThreadPool::kMaxThreads));
  }
  static const int granted = ThreadsForQuota(CpuQuota().value_or(ThreadPool::kMaxThreads));  // Too slow to be looked up before each pass.
  const int cpus = std::min(AvailableCpus(), ThreadPool::kMaxThreads);
  return std::min(options.threads == 0 ? granted : options.threads, cpus);
}

namespace {

// What only the fast path has, and the other one would pass over.
absl::Status CheckReferencePath(const EngineOptions& options) {
  const auto wrong = [](absl::string_view field, absl::string_view found, absl::string_view why) {
    return WrongUsage(field, absl::StrCat(found, " with the reference path, which ", why), "the fast path");
  };
  if (options.compute.path != ComputePath::kReference || options.compute.make_device != nullptr) return absl::OkStatus();
  if (options.compute.kernels != "auto") return wrong("kernels", options.compute.kernels, "has no kernels");
  if (options.cache.kv_format != KvFormat::kHalf) return wrong("kv_format", KvFormatName(options.cache.kv_format), "keeps FP32");
  return absl::OkStatus();
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
  RETURN_IF_ERROR(CheckReferencePath(options));
  return ThreadsOf(options.compute).status();
}

}  // namespace tessera
