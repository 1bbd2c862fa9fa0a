#include "tessera/apps/phone/switching_flags.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tessera/apps/cli/flags/engine_flags.h"
#include "tessera/apps/cli/flags/flags.h"
#include "tessera/base/cpu_features.h"
#include "tessera/base/random.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/model/compiled_model.h"

namespace tessera {

namespace {

constexpr char kExpected[] = "--device=PHONE:unshared or host:unshared: only graphs with weights of their own change places";

// Rows that a prefill graph and a decode graph may have: the matrix unit computes 32 at a time.
constexpr int kPrefillRows[] = {128, 256};
constexpr int kDecodeRows[] = {32, 64};

std::vector<int> AtMost(absl::Span<const int> rows, int most) {
  std::vector<int> fitting;
  for (const int count : rows) {
    if (count <= most) fitting.push_back(count);
  }
  if (fitting.empty()) fitting.push_back(most);
  return fitting;
}

// Returns a number that changes with each number of the profile.
uint64_t ContentOf(const DeviceProfile& profile) {
  uint64_t content = 1;
  for (const ProfileField& field : ProfileFields()) content = MixBits(content ^ std::bit_cast<uint64_t>(profile.*field.value));
  return content;
}

absl::StatusOr<SwitchRule> RuleOfFlag() {
  if (FLAGS_switching == "auto") return SwitchRule::kPlanned;
  absl::StatusOr<SwitchRule> rule = SwitchRuleFromName(FLAGS_switching);
  if (rule.ok()) return rule;
  std::string names = "auto, none";
  for (const SwitchRule each : kSwitchRules) absl::StrAppend(&names, ", ", SwitchRuleName(each));
  return WrongUsage("switching", FLAGS_switching, names);
}

int MostRows(const EngineOptions& options) { return std::min({options.compute.row_capacity, options.cache.context, kRowsTogether}); }

// Sets the options. name: the device's name in the profile's file; key: all that the device's times depend on.
absl::Status SetSwitching(absl::string_view name, std::string key, std::function<void(const SwitchReady&)> on_ready,
                          EngineOptions& options) {
  ASSIGN_OR_RETURN(const SwitchRule rule, RuleOfFlag());
  RETURN_IF_ERROR(CheckFlagRange("blocks", FLAGS_blocks, 0, kMostSwitchBlocks));
  const int most = MostRows(options);
  SwitchWarmUp warm_up = {.path = SwitchProfilePath(options.model_path, name),
                          .device = std::move(key),
                          .question = {.rule = rule,
                                       .prefill_rows = AtMost(kPrefillRows, most),
                                       .decode_rows = AtMost(kDecodeRows, most),
                                       .blocks = FLAGS_blocks},
                          .on_ready = std::move(on_ready)};
  options.compute.graph_rows = {1};
  for (const std::vector<int>* rows : {&warm_up.question.decode_rows, &warm_up.question.prefill_rows}) {
    for (const int count : *rows) {
      if (count > options.compute.graph_rows.back()) options.compute.graph_rows.push_back(count);
    }
  }
  options.compute.switching = SwitchingOptions{.rule = rule,
                                               .blocks = 1,
                                               .prefill_rows = warm_up.question.prefill_rows.back(),
                                               .decode_rows = warm_up.question.decode_rows.front()};
  options.compute.warm_up = std::move(warm_up);
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckNoSwitchingFlags(absl::string_view found) {
  if (FLAGS_switching != "none") RETURN_IF_ERROR(RuleOfFlag().status());
  if (FLAGS_switching != "auto" && FLAGS_switching != "none") {
    return WrongUsage("switching", absl::StrCat(FLAGS_switching, " ", found), kExpected);
  }
  if (IsGiven("blocks")) return WrongUsage("blocks", absl::StrCat(FLAGS_blocks, " ", found), kExpected);
  return absl::OkStatus();
}

absl::StatusOr<bool> SwitchingOfFlags(const Phone& phone, std::function<void(const SwitchReady&)> on_ready, EngineOptions& options) {
  const ExecutionStyle& style = phone.style;
  if (!style.static_graphs || style.shared_weights || FLAGS_switching == "none") {
    const std::string why = FLAGS_switching == "none" ? "with --switching=none" : absl::StrCat("with --device=", FLAGS_device);
    RETURN_IF_ERROR(CheckNoSwitchingFlags(why));
    return false;
  }
  std::string key = absl::StrCat(phone.profile.name, ":", style.name, ", context ", options.cache.context, ", profile ",
                                 absl::Hex(ContentOf(phone.profile)));
  RETURN_IF_ERROR(SetSwitching(phone.profile.name, std::move(key), std::move(on_ready), options));
  return true;
}

absl::StatusOr<bool> HostSwitchingOfFlags(std::function<void(const SwitchReady&)> on_ready, EngineOptions& options) {
  if (FLAGS_switching == "none") {
    RETURN_IF_ERROR(CheckNoSwitchingFlags("with --switching=none"));
    options.compute.graph_rows = {AtMost(kDecodeRows, MostRows(options)).front()};
    return false;
  }
  ASSIGN_OR_RETURN(const KernelPath kernels, KernelPathFromName(options.compute.kernels));
  ASSIGN_OR_RETURN(const int threads, ThreadsOf(options.compute));
  std::string key = absl::StrCat(kHostDevice, ", path ", ComputePathName(options.compute.path), ", kernels ", KernelPathName(kernels),
                                 ", threads ", threads, ", flash ", options.streaming.flash.empty() ? "as it is" : options.streaming.flash);
  RETURN_IF_ERROR(SetSwitching("host", std::move(key), std::move(on_ready), options));
  return true;
}

}  // namespace tessera
