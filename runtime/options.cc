#include "tessera/runtime/options.h"

#include <algorithm>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/base/available_cpus.h"
#include "tessera/base/status_macros.h"

namespace tessera {

absl::StatusOr<ComputePath> ComputePathFromName(absl::string_view name) {
  if (name == "fast") return ComputePath::kFast;
  if (name == "reference") return ComputePath::kReference;
  return absl::InvalidArgumentError(absl::StrCat("--path: found \"", name, "\", expected fast or reference"));
}

absl::StatusOr<KvFormat> KvFormatFromName(absl::string_view name) {
  if (name == "f16") return KvFormat::kHalf;
  if (name == "q8") return KvFormat::kInt8;
  return absl::InvalidArgumentError(absl::StrCat("--kv_format: found \"", name, "\", expected f16 or q8"));
}

absl::StatusOr<int> ThreadsOf(const ComputeOptions& options) {
  if (options.threads < 0 || options.threads > ThreadPool::kMaxThreads) {
    return absl::InvalidArgumentError(
        absl::StrCat("--threads: found ", options.threads, ", expected 0 (all CPUs) to ", ThreadPool::kMaxThreads));
  }
  const int cpus = std::min(AvailableCpus(), ThreadPool::kMaxThreads);
  if (options.threads > cpus) {
    LOG_FIRST_N(WARNING, 1) << "--threads: found " << options.threads << ", takes " << cpus
                            << ", one for each CPU that may be used";
  }
  return options.threads == 0 ? cpus : std::min(options.threads, cpus);
}

absl::Status CheckOptions(const EngineOptions& options) {
  constexpr int kMostRows = 65536;
  if (options.compute.row_capacity < 0 || options.compute.row_capacity > kMostRows) {
    return absl::InvalidArgumentError(
        absl::StrCat("row capacity: found ", options.compute.row_capacity, ", expected 0 (by memory) to ", kMostRows));
  }
  if (options.cache.kv_format != KvFormat::kHalf && options.cache.kv_format != KvFormat::kInt8) {
    return absl::InvalidArgumentError(
        absl::StrCat("kv_format: found ", KvFormatName(options.cache.kv_format), ", expected FP16 or 8-bit"));
  }
  if (options.workload.sessions < 1) {
    return absl::InvalidArgumentError(absl::StrCat("sessions: found ", options.workload.sessions, ", expected 1 or more"));
  }
  return ThreadsOf(options.compute).status();
}

}  // namespace tessera
