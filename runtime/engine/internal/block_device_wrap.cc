#include "tessera/runtime/engine/internal/block_device_wrap.h"

#include <utility>

#include "tessera/base/status_macros.h"
#include "tessera/storage/flash_profile.h"
#include "tessera/storage/throttled_device.h"

namespace tessera {

absl::StatusOr<BlockDeviceWrap> BlockDeviceWrapOf(const StreamingOptions& streaming, const TestHooks* hooks) {
  const BlockDeviceWrap wrap = hooks == nullptr ? nullptr : hooks->wrap_device;
  if (streaming.flash.empty()) return wrap;
  ASSIGN_OR_RETURN(const FlashProfile flash, LoadFlashProfile(streaming.flash));
  return [flash, wrap](std::unique_ptr<BlockDevice> device) -> std::unique_ptr<BlockDevice> {
    return std::make_unique<ThrottledDevice>(wrap == nullptr ? std::move(device) : wrap(std::move(device)), flash);
  };
}

}  // namespace tessera
