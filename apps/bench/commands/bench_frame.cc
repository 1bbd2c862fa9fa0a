#include "tessera/apps/bench/commands/bench_frame.h"

#include <utility>

#include <glog/logging.h>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/text/output.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"

namespace tessera {

FlagGroup ModelFlagsBut(const std::vector<std::string>& left_out) {
  FlagGroup group = ModelFlags();
  for (const std::string& flag : left_out) CHECK_EQ(std::erase(group.flags, flag), 1u) << flag;
  return group;
}

absl::Status CheckTokens(const char* flag, int value, int least) { return CheckFlagRange(flag, value, least, 1 << 20); }

absl::Status CheckRepetitions() { return CheckFlagRange("repetitions", FLAGS_repetitions, 1, 1000); }

absl::Status CheckRingShare() {
  if (!IsGiven("ring_share")) return absl::OkStatus();
  if (!(FLAGS_ring_share > 0 && FLAGS_ring_share <= 1)) return WrongUsage("ring_share", FLAGS_ring_share, "above 0 and at most 1");
  RETURN_IF_ERROR(CheckNotBoth("ring_share", true, "memory_budget", !FLAGS_memory_budget.empty()));
  return IsGiven("pin") ? WrongUsage("pin", "it with --ring_share", "one of them: a ring's share leaves nothing to pin") : absl::OkStatus();
}

absl::StatusOr<EngineOptions> OptionsForContext(int context, Timeline* timeline, bool own_budgets) {
  ASSIGN_OR_RETURN(EngineOptions options, EngineOptionsOfFlags(timeline, own_budgets));
  if (options.cache.context == 0) options.cache.context = context;
  return options;
}

absl::StatusOr<BenchHeading> BenchHeading::Of(const EngineOptions& options, std::optional<int> repetitions, std::optional<int> depth) {
  BenchHeading heading = {.model = options.model_path, .repetitions = repetitions, .depth = depth, .device = FLAGS_device};
  ASSIGN_OR_RETURN(heading.threads, ThreadsOf(options.compute));
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(options.compute.kernels));
  const ComputePath path = options.compute.path;
  heading.kernels = path == ComputePath::kReference ? "reference"
                    : path == ComputePath::kNpu     ? absl::StrCat("npu ", KernelPathName(kernels))
                                                    : std::string(KernelPathName(kernels));
  return heading;
}

std::string BenchHeading::Text() const {
  std::string text = absl::StrCat(model, ", ", threads, " threads, kernels ", kernels);
  if (repetitions) absl::StrAppend(&text, ", ", *repetitions, " repetitions");
  if (depth) absl::StrAppend(&text, ", ", *depth, " tokens before");
  if (!device.empty()) absl::StrAppend(&text, ", times of ", device);
  return text + "\n\n";
}

absl::Status ShowResult(const BenchHeading& heading, const std::string& text, absl::FunctionRef<void(JsonWriter& json)> put) {
  if (!FLAGS_json) return WriteOutput(absl::StrCat(heading.Text(), text));
  JsonWriter json;
  json.BeginObject().Key("model").String(heading.model).Key("threads").Int(heading.threads).Key("kernels").String(heading.kernels);
  if (heading.repetitions) json.Key("repetitions").Int(*heading.repetitions);
  if (heading.depth) json.Key("depth").Int(*heading.depth);
  if (!heading.device.empty()) json.Key("device").String(heading.device);
  put(json);
  json.EndObject();
  return WriteOutput(std::move(json).Take() + "\n");
}

}  // namespace tessera
