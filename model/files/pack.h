// Packs a GGUF model into a .tsr file: weights in the form that kernels read, so that running the model converts nothing.
//
//   ASSIGN_OR_RETURN(const PackPlan plan, PackPlan::Make(*file));                 // from a GgufFile; plan.file_bytes
//   ASSIGN_OR_RETURN(const TsrSummary summary,
//                    PackModel(*file, plan, "model.tsr", pool, [](PackStage, int64_t done, int64_t total) {}));
//
// All threads pack. Memory holds kPackMemory bytes of units at once and a little more, regardless of the model's size. The file is verified
// after writing, and appears whole or not at all (storage/tsr_writer.h). A split model becomes one file. With a recipe, matrices take other
// forms (weight_recipe.h). A file with tiles is for devices that compute with tiles. PackPlan opens the header of the future file like a
// run does. Configuration, recipe and units must match. Errors: the errors of WeightLayout, FillUnit and TsrWriter. Threads:
// thread-compatible.
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

  static absl::StatusOr<PackPlan> Make(const GgufFile& file, const WeightRecipe& recipe = {});
};

enum class PackStage { kPacking, kVerifying };

// Packs the model. progress: called on any thread, one at a time, with the bytes written or verified so far and in all. REQUIRES: the plan
// was made from `file`.
absl::StatusOr<TsrSummary> PackModel(const GgufFile& file, const PackPlan& plan, const std::string& path, ThreadPool& pool,
                                     const std::function<void(PackStage stage, int64_t done, int64_t total)>& progress,
                                     const FillOptions& options = {});

}  // namespace tessera
