// What a run would load and how much memory that takes, worked out from the file's tables alone.
//
//   ASSIGN_OR_RETURN(LoadPlan plan, PlanLoad(options));
//   RETURN_IF_ERROR(WriteOutput(FLAGS_json ? PlanJson(plan) : PlanText(plan)));
//
// Nothing of the weights is read. Errors are those of loading. Thread-safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "tessera/runtime/engine.h"

namespace tessera {

struct LoadPlan {
  std::string model;
  std::string architecture;
  int layers = 0;
  int weight_units = 0;
  int64_t weight_bytes = 0;     // As packed for the path.
  int64_t cache_bytes = 0;      // Of keys and values, when the context is full.
  int context = 0;
  int trained_context = 0;
  int threads = 0;
  std::string path;             // "fast" or "reference".
  std::string kernels;          // Those that would run; "none" on the reference path.
};

absl::StatusOr<LoadPlan> PlanLoad(const EngineOptions& options);
std::string PlanText(const LoadPlan& plan);
std::string PlanJson(const LoadPlan& plan);

}  // namespace tessera
