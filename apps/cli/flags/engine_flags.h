// Turns flags into what an engine takes: the model's path, its options and the trace.
//
//   Trace trace;                                              // --trace
//   ASSIGN_OR_RETURN(const EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
//   ...
//   return trace.Finish(status);
//
// Errors are wrong usage of the flag that they are about (base/usage_error.h). Threads: one at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tessera/base/clock.h"
#include "tessera/base/timeline.h"
#include "tessera/model/files/model_file.h"
#include "tessera/quant/block_format.h"
#include "tessera/runtime/engine/engine.h"

namespace tessera {

// Returns the path of --model: a file, or a fetched model by its name (model_names.h); without the flag the default model.
absl::StatusOr<std::string> ModelPath();

// The file of --model. InvalidArgument if it is a packed model.
absl::StatusOr<std::unique_ptr<ModelFile>> OpenGgufModel();

// --device=host:unshared is no phone: this machine, in its own time, with graphs that hold their weights.
inline constexpr char kHostDevice[] = "host:unshared";

// All flags of ModelFlags() and StreamingFlags(), checked before anything is read; with a phone as --device the path is npu where --path
// is not given (PhoneRun, apps/phone, does the rest). Passes are cancelled by CancelRequested(). How to stream is an error without
// --memory_budget, unless the program tries budgets of its own.
absl::StatusOr<EngineOptions> EngineOptionsOfFlags(Timeline* timeline, bool own_budgets = false);

// The format that a flag names, such as "Q4_1".
absl::StatusOr<BlockFormat> BlockFormatOfFlag(const char* flag, const std::string& name);

// WrongUsage of the flag unless least <= value <= most.
absl::Status CheckFlagRange(const char* flag, int64_t value, int64_t least, int64_t most);

// The whole numbers from 1 to `most` that a flag lists, "1,2,40". WrongUsage unless they ascend.
absl::StatusOr<std::vector<int>> AscendingOfFlag(const char* flag, const std::string& list, int most);

// Returns WrongUsage if two flags that exclude each other are both on.
absl::Status CheckNotBoth(const char* flag, bool on, const char* other, bool other_on);

// Returns the status of a run that saves results even if its work failed: the error of the work, of saving, or both joined. If one of two
// errors is Cancelled, returns the other one.
absl::Status EndOf(const absl::Status& work, const absl::Status& saved);

// Records a timeline if --trace is given. Where it lies counts: it cannot be moved.
class Trace {
 public:
  Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  Timeline* timeline() { return timeline_.get(); }  // Null without --trace.

  // From now on the timeline is on this clock, which must outlive what records. REQUIRES: nothing was recorded.
  void UseClock(const Clock& clock) { clock_.SetTarget(clock); }

  // Writes the trace's file. Returns EndOf(status, written). Says on stderr if events were dropped.
  absl::Status Finish(const absl::Status& status) const;

 private:
  class TargetedClock : public Clock {
   public:
    int64_t NowNanos() const override { return target_->NowNanos(); }
    void SetTarget(const Clock& target) { target_ = &target; }

   private:
    const Clock* target_ = &RealClock();
  };

  TargetedClock clock_;
  std::unique_ptr<Timeline> timeline_;
};

}  // namespace tessera
