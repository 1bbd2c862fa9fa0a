// Turns flags into the inputs of an engine: the model's path, the options and the trace.
//
//   Trace trace;                                              // --trace
//   ASSIGN_OR_RETURN(const EngineOptions options, EngineOptionsOfFlags(trace.timeline()));
//   ...
//   return trace.Finish(status);
//
// Errors: wrong usage of the faulty flag (base/usage_error.h). Threads: one at a time.
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

// Returns the path of --model: a file, or a fetched model by name (model_names.h); without the flag the default model.
absl::StatusOr<std::string> ModelPath();

// Opens the file of --model. InvalidArgument for a packed model.
absl::StatusOr<std::unique_ptr<ModelFile>> OpenGgufModel();

// --device=host:unshared is no phone, but this machine in real time, with graphs that hold weights of their own.
inline constexpr char kHostDevice[] = "host:unshared";

// Returns the options of all flags of ModelFlags() and StreamingFlags(). The flags are checked before any file is read. With a phone as
// --device the path is npu where --path is not given (PhoneRun, apps/phone, does the rest). Passes are cancelled by CancelRequested().
// Flags about streaming are an error without --memory_budget, unless the program tries budgets of its own (`own_budgets`).
absl::StatusOr<EngineOptions> EngineOptionsOfFlags(Timeline* timeline, bool own_budgets = false);

// Returns the format that a flag names, such as "Q4_1".
absl::StatusOr<BlockFormat> BlockFormatOfFlag(const char* flag, const std::string& name);

// Returns WrongUsage of the flag unless least <= value <= most.
absl::Status CheckFlagRange(const char* flag, int64_t value, int64_t least, int64_t most);

// Returns the whole numbers from 1 to `most` that a flag lists, "1,2,40". WrongUsage unless the numbers ascend.
absl::StatusOr<std::vector<int>> AscendingOfFlag(const char* flag, const std::string& list, int most);

// Returns WrongUsage if two flags that exclude each other are both on.
absl::Status CheckNotBoth(const char* flag, bool on, const char* other, bool other_on);

// Returns the status of a run that saves results even if the work failed: the error of the work, of saving, or both joined. If one of two
// errors is Cancelled, returns the other one.
absl::Status EndOf(const absl::Status& work, const absl::Status& saved);

// Records a timeline if --trace is given. Neither copied nor moved: the timeline points to a member.
class Trace {
 public:
  Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  Timeline* timeline() { return timeline_.get(); }  // Null without --trace.

  // Sets the timeline's clock. `clock` must outlive all that records. REQUIRES: nothing was recorded.
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
