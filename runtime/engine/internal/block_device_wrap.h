// Wraps the device that reads a packed file: a model of slower flash, and a test's own wrapper.
//
//   ASSIGN_OR_RETURN(options.wrap_device, BlockDeviceWrapOf(streaming, hooks));   // of LayerStreamer::Options or PartLoader::Options
//
// Thread-safe (a pure function).
#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "tessera/runtime/engine/options.h"
#include "tessera/runtime/engine/test_hooks.h"
#include "tessera/storage/block_device.h"

namespace tessera {

using BlockDeviceWrap = std::function<std::unique_ptr<BlockDevice>(std::unique_ptr<BlockDevice>)>;

// Returns the wrapper for StreamingOptions::flash and TestHooks::wrap_device. Null hooks: none. A null result: the device unchanged.
// Errors: LoadFlashProfile's.
absl::StatusOr<BlockDeviceWrap> BlockDeviceWrapOf(const StreamingOptions& streaming, const TestHooks* hooks);

}  // namespace tessera
