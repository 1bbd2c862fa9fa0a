#include "tessera/npu/lora_mode.h"

#include "tessera/base/quoted.h"
#include "tessera/base/usage_error.h"

namespace tessera {
namespace {

constexpr absl::string_view kNames[kLoraModes] = {"input", "mask", "graph"};

}  // namespace

absl::StatusOr<LoraMode> LoraModeFromName(absl::string_view name) {
  for (int mode = 0; mode < kLoraModes; ++mode) {
    if (name == kNames[mode]) return static_cast<LoraMode>(mode);
  }
  return WrongUsage("lora_mode", Quoted(name), "input, mask or graph");
}

absl::string_view LoraModeName(LoraMode mode) { return kNames[static_cast<int>(mode)]; }

}  // namespace tessera
