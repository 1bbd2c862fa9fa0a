#include "tessera/apps/cli/engine_flags.h"

#include <limits>

#include <gflags/gflags.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flag_checks.h"
#include "tessera/apps/cli/interrupt.h"
#include "tessera/base/byte_size.h"
#include "tessera/base/cache_folder.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/storage/flash_profile.h"
#include "tessera/storage/tsr.h"

DEFINE_string(model, "", "FILE|The model, GGUF or packed (.tsr). Without it: that of scripts/fetch_model.sh.");
DEFINE_int32(threads, 0, "N|Most threads that compute; 0: one per CPU. The result is the same.");
DEFINE_int32(context, 0, "TOKENS|Most tokens of prompt and answer together; 0: the model's own limit, at most 8192.");
DEFINE_string(path, "fast", "NAME|fast: packed weights; reference: plain FP32, slow, for comparison.");
DEFINE_string(kernels, "auto", "NAME|auto, portable, avx2, avx512 or neon. All give the same bits.");
DEFINE_string(kv_format, "f16", "NAME|Store keys and values as f16, or as q8: 8 bits, half the memory.");
DEFINE_bool(dry_run, false, "|Load and write nothing; say what a run would load or write, and its size.");
DEFINE_string(memory_budget, "",
              "SIZE|Most memory that the process takes (MiB, GiB); a packed model's weights that do not fit are streamed.");
DEFINE_string(pin, "auto", "NAME|Which weights stay in memory under a budget: auto, spread, prefix or none.");
DEFINE_string(io, "auto", "NAME|How streamed weights are read: io_uring, pread or buffered; auto: the first that works.");
DEFINE_string(verify, "first",
              "WHEN?always|Check weights when they are read: first (time only), always or never; inspect: the whole file.");
DEFINE_string(flash, "", "NAME|Read weights no faster than this flash does: ufs4.0, ... or a profile's file.");

namespace tessera {
namespace {

constexpr char kDefaultModel[] = "SmolLM2-135M-Instruct.Q4_1.gguf";

bool IsGiven(const std::string& flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag.c_str()).is_default; }

absl::Status ReadStreamingFlags(EngineOptions& options, Streams streams) {
  if (!FLAGS_memory_budget.empty()) {
    const absl::StatusOr<int64_t> budget = ParseByteSize(FLAGS_memory_budget);
    RETURN_IF_ERROR(ForField("memory_budget", budget.status()));
    RETURN_IF_ERROR(CheckFlagRange("memory_budget", *budget, 1, std::numeric_limits<int64_t>::max()));
    options.memory_budget = *budget;
  }
  ASSIGN_OR_RETURN(options.pin, ParsePinPolicy(FLAGS_pin));
  ASSIGN_OR_RETURN(options.io, ParseIoKind(FLAGS_io));
  ASSIGN_OR_RETURN(options.verify, ParseVerifyPolicy(FLAGS_verify));
  if (!FLAGS_flash.empty()) RETURN_IF_ERROR(ForField("flash", LoadFlashProfile(FLAGS_flash).status()));
  options.flash = FLAGS_flash;
  for (const std::string& flag : StreamingFlags().flags) {
    if (flag != "memory_budget" && IsGiven(flag)) RETURN_IF_ERROR(CheckStreams(flag, options, streams));
  }
  return absl::OkStatus();
}

}  // namespace

FlagGroup ModelFlags() { return {"Model", {"model", "threads", "context", "path", "kernels", "kv_format", "dry_run"}}; }

FlagGroup StreamingFlags() { return {"Memory and streaming", {"memory_budget", "pin", "io", "verify", "flash"}}; }

absl::Status CheckStreams(const std::string& flag, const EngineOptions& options, Streams streams) {
  if (options.memory_budget == 0 && streams == Streams::kUnderBudget) {
    return WrongUsage(flag, "without --memory_budget", "both: only a model with a budget is streamed");
  }
  const absl::StatusOr<bool> packed = IsTsrFile(options.model_path);
  if (!packed.ok() || *packed) return absl::OkStatus();  // What cannot be read, the code that opens it tells of.
  return WrongUsage(flag, absl::StrCat("with ", options.model_path), "a model packed with tessera_pack: no other is streamed");
}

absl::StatusOr<std::string> ModelPath() {
  if (!FLAGS_model.empty()) return FLAGS_model;
  const std::string path = absl::StrCat(CacheFolder(), "/", kDefaultModel);
  struct stat status;
  if (stat(path.c_str(), &status) == 0) return path;
  return WrongUsage("model", absl::StrCat("none, and no default model at ", path), "--model=FILE, or a run of scripts/fetch_model.sh");
}

absl::StatusOr<EngineOptions> EngineOptionsOfFlags(Timeline* timeline, Streams streams) {
  EngineOptions options;
  RETURN_IF_ERROR(CheckFlagRange("threads", FLAGS_threads, 0, ThreadPool::kMaxThreads));
  RETURN_IF_ERROR(CheckFlagRange("context", FLAGS_context, 0, std::numeric_limits<int32_t>::max()));
  ASSIGN_OR_RETURN(options.path, ComputePathFromName(FLAGS_path));
  RETURN_IF_ERROR(ForField("kernels", KernelPathFromName(FLAGS_kernels).status()));
  ASSIGN_OR_RETURN(options.kv_format, KvFormatFromName(FLAGS_kv_format));
  ASSIGN_OR_RETURN(options.model_path, ModelPath());
  options.threads = FLAGS_threads;
  options.context = FLAGS_context;
  options.kernels = FLAGS_kernels;
  RETURN_IF_ERROR(ReadStreamingFlags(options, streams));
  options.timeline = timeline;
  options.cancel = &CancelRequested();
  return options;
}

absl::StatusOr<std::unique_ptr<ModelFile>> OpenGgufModel() {
  ASSIGN_OR_RETURN(const std::string path, ModelPath());
  ASSIGN_OR_RETURN(std::unique_ptr<ModelFile> model, ModelFile::Open(path));
  if (model->packed() == nullptr) return model;
  return ForField("model", absl::InvalidArgumentError(absl::StrCat(path, ": found a packed model, expected a GGUF file")));
}

}  // namespace tessera
