// Packs a GGUF model into a .tsr file: its weights as kernels want them, so that who runs it reads and computes, and converts
// nothing.
//
//   ASSIGN_OR_RETURN(const PackPlan plan, PackPlan::Make(*file));                 // of a GgufFile; plan.file_bytes
//   ASSIGN_OR_RETURN(const TsrSummary summary,
//                    PackModel(*file, plan, "model.tsr", pool, [](PackStage, int64_t done, int64_t total) {}));
//
// All threads pack; what is in memory at once are kPackMemory bytes of units and a little more, however large the model is. The
// file is verified once it is written, and whole or not there (storage/tsr_writer.h). A split model becomes one file. Errors are
// those of WeightLayout, FillUnit and TsrWriter. Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "tessera/base/thread_pool.h"
#include "tessera/model/files/gguf.h"
#include "tessera/model/files/weights.h"
#include "tessera/storage/tsr_writer.h"

namespace tessera {

inline constexpr int64_t kPackMemory = int64_t{256} << 20;

struct PackPlan {
  WeightLayout layout;
  TsrContents contents;
  int64_t file_bytes = 0;

  static absl::StatusOr<PackPlan> Make(const GgufFile& file);
};

enum class PackStage { kPacking, kVerifying };

// progress: called on any thread, one at a time, with the bytes that are written or verified and their number.
// REQUIRES: the plan was made of `file`.
absl::StatusOr<TsrSummary> PackModel(const GgufFile& file, const PackPlan& plan, const std::string& path, ThreadPool& pool,
                                     const std::function<void(PackStage stage, int64_t done, int64_t total)>& progress);

}  // namespace tessera
