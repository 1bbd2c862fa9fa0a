#include "tessera/apps/cli/flags/engine_flags.h"

#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tessera/apps/cli/app_main.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/apps/cli/flags/model_names.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/joined_status.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/text_file.h"
#include "tessera/base/trace_writer.h"
#include "tessera/base/usage_error.h"
#include "tessera/storage/flash_profile.h"
#include "tessera/storage/tsr.h"

namespace tessera {
namespace {

// A generation of 1000 tokens with 30 layers has some 65,000 events of 32 bytes each.
constexpr int64_t kTraceEvents = 1 << 20;

// Returns an error for a flag without an effect: somebody who measures with the flag would believe in an effect.
absl::Status CheckStreams(const EngineOptions& options, bool own_budgets) {
  for (const char* flag : {"flash", "io", "mapped", "pin", "verify"}) {
    if (!IsGiven(flag)) continue;
    if (options.streaming.memory_budget == 0 && !own_budgets) {
      return WrongUsage(flag, "without --memory_budget", "both: only a model with a budget is streamed");
    }
    const absl::StatusOr<bool> packed = IsTsrFile(options.model_path);
    if (!packed.ok() || *packed) continue;  // Opening the file later reports the error.
    return WrongUsage(flag, absl::StrCat("with ", options.model_path), "a model packed with tessera_pack: no other is streamed");
  }
  return absl::OkStatus();
}

absl::Status ReadStreamingFlags(EngineOptions& options, bool own_budgets) {
  if (!FLAGS_memory_budget.empty()) {
    const absl::StatusOr<int64_t> budget = ParseByteSize(FLAGS_memory_budget);
    RETURN_IF_ERROR(ForField("memory_budget", budget.status()));
    RETURN_IF_ERROR(CheckFlagRange("memory_budget", *budget, 1, std::numeric_limits<int64_t>::max()));
    options.streaming.memory_budget = *budget;
  }
  StreamingOptions& streaming = options.streaming;
  ASSIGN_OR_RETURN(streaming.pin, ParsePinPolicy(FLAGS_pin));
  ASSIGN_OR_RETURN(streaming.io, ParseIoKind(FLAGS_io));
  ASSIGN_OR_RETURN(streaming.verify, ParseVerifyPolicy(FLAGS_verify));
  streaming.probe_in_child = true;   // Faster reads are worth both here, where the process is ours.
  streaming.raise_priority = true;
  if (!FLAGS_flash.empty()) RETURN_IF_ERROR(ForFile("flash", LoadFlashProfile(FLAGS_flash).status()));
  streaming.flash = FLAGS_flash;
  return CheckStreams(options, own_budgets);
}

// Returns the path of the device. A phone computes in tiles, also where --arithmetic=fast leaves tiles out of a recipe's costs.
ComputePath PathOfDevice(ComputePath path) {
  if (FLAGS_device.empty() || FLAGS_device == kHostDevice || IsGiven("path")) return path;
  return FLAGS_arithmetic == "fast" && FLAGS_recipe.empty() ? path : ComputePath::kNpu;
}

}  // namespace

absl::StatusOr<std::string> ModelPath() { return PathOfModel("model", FLAGS_model); }

absl::StatusOr<EngineOptions> EngineOptionsOfFlags(Timeline* timeline, bool own_budgets) {
  EngineOptions options;
  RETURN_IF_ERROR(CheckFlagRange("threads", FLAGS_threads, 0, ThreadPool::kMaxThreads));
  RETURN_IF_ERROR(CheckFlagRange("context", FLAGS_context, 0, std::numeric_limits<int32_t>::max()));
  RETURN_IF_ERROR(CheckFlagRange("cache_tokens", FLAGS_cache_tokens, 0, kMostContext));
  const absl::StatusOr<ComputePath> path = ComputePathFromName(FLAGS_path);
  RETURN_IF_ERROR(ForField("path", path.status()));
  RETURN_IF_ERROR(ForField("kernels", KernelPathFromName(FLAGS_kernels).status()));
  const absl::StatusOr<KvFormat> kv_format = KvFormatFromName(FLAGS_kv_format);
  RETURN_IF_ERROR(ForField("kv_format", kv_format.status()));
  if (!FLAGS_trace.empty()) RETURN_IF_ERROR(ForFile("trace", CheckTextFileWritable(FLAGS_trace)));  // Found now, not after all the work.
  ASSIGN_OR_RETURN(options.model_path, ModelPath());
  options.compute.threads = FLAGS_threads;
  options.cache.context = FLAGS_context;
  options.cache.cache_tokens = FLAGS_cache_tokens;
  options.compute.path = PathOfDevice(*path);
  options.compute.recipe = FLAGS_recipe;
  options.compute.kv_block = FLAGS_kv_block;
  options.compute.kernels = FLAGS_kernels;
  options.cache.kv_format = *kv_format;
  RETURN_IF_ERROR(ReadStreamingFlags(options, own_budgets));
  options.timeline = timeline;
  options.cancel = &CancelRequested();
  RETURN_IF_ERROR(CheckOptions(options));
  return options;
}

absl::StatusOr<std::unique_ptr<ModelFile>> OpenGgufModel() {
  ASSIGN_OR_RETURN(const std::string path, ModelPath());
  ASSIGN_OR_RETURN(std::unique_ptr<ModelFile> model, ModelFile::Open(path));
  if (model->packed() == nullptr) return model;
  return ForField("model", absl::InvalidArgumentError(absl::StrCat(path, ": found a packed model, expected a GGUF file")));
}

absl::StatusOr<BlockFormat> BlockFormatOfFlag(const char* flag, const std::string& name) {
  const absl::StatusOr<const BlockFormatInfo*> info = BlockFormatByName(name);
  RETURN_IF_ERROR(ForField(flag, info.status()));
  RETURN_IF_ERROR(ForField(flag, CheckWritten((*info)->format)));
  return (*info)->format;
}

absl::Status CheckFlagRange(const char* flag, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return WrongUsage(flag, value, absl::StrCat(least, " to ", most));
}

absl::StatusOr<std::vector<int>> AscendingOfFlag(const char* flag, const std::string& list, int most) {
  std::vector<int> numbers;
  for (absl::string_view item : absl::StrSplit(list, ',')) {
    int number = 0;
    if (!absl::SimpleAtoi(item, &number) || number > most || number <= (numbers.empty() ? 0 : numbers.back())) {
      return WrongUsage(flag, Quoted(item), absl::StrCat("whole numbers from 1 to ", most, " in ascending order, or default"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::Status CheckNotBoth(const char* flag, bool on, const char* other, bool other_on) {
  if (!on || !other_on) return absl::OkStatus();
  return WrongUsage(flag, absl::StrCat("beside --", other), "one of them");
}

absl::Status EndOf(const absl::Status& work, const absl::Status& saved) {
  if (work.ok() || saved.ok()) return work.ok() ? saved : work;
  if (absl::IsCancelled(work)) return saved;
  return absl::IsCancelled(saved) ? work : Joined(work, saved);
}

Trace::Trace() {
  if (!FLAGS_trace.empty()) timeline_ = std::make_unique<Timeline>(Timeline::Options{.capacity = kTraceEvents, .clock = &clock_});
}

absl::Status Trace::Finish(const absl::Status& status) const {
  if (timeline_ == nullptr) return status;
  if (timeline_->dropped() > 0) {
    WriteError(absl::StrCat("trace: the first ", kTraceEvents, " events are in the file, ", timeline_->dropped(), " are not\n"));
  }
  const absl::Status written = WriteTrace(*timeline_, FLAGS_trace);
  return EndOf(status, written);
}

}  // namespace tessera
