#include "tessera/storage/open_block_device.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "glog/logging.h"
#include "tessera/base/quoted.h"
#include "tessera/base/status_macros.h"
#include "tessera/base/usage_error.h"
#include "tessera/storage/internal/io_uring_device.h"
#include "tessera/storage/internal/pread_device.h"

namespace tessera {
namespace {

constexpr int kMostDepth = 4096;

constexpr absl::string_view kNames[] = {"auto", "io_uring", "pread", "buffered"};  // In the order of IoKind.

// Opens a device of one kind. FailedPrecondition: this kind is unavailable.
absl::StatusOr<OpenedDevice> OpenAs(IoKind kind, const std::shared_ptr<const RandomAccessFile>& opened_file, const OpenOptions& options) {
  DeviceFile file(opened_file);
  OpenedDevice opened = {.io = kind};
  if (kind == IoKind::kBuffered) {
    opened.device = std::make_unique<PreadDevice>(std::move(file), /*direct=*/false, options.depth);
  } else if (file.direct() < 0) {
    return absl::FailedPreconditionError(file.not_direct());
  } else if (kind == IoKind::kPread) {
    opened.device = std::make_unique<PreadDevice>(std::move(file), /*direct=*/true, options.depth);
  } else {
    if (options.probe_in_child) RETURN_IF_ERROR(ProbeIoUring());
    ASSIGN_OR_RETURN(std::unique_ptr<IoUringDevice> device,
                     IoUringDevice::Create(std::move(file), options.depth, options.buffers));
    opened.reason = device->setup();
    opened.device = std::move(device);
  }
  return opened;
}

// Android's filter kills an app that asks for io_uring and reports a crash, even if a child asked. So on Android io_uring must be requested
// by name.
#ifdef __ANDROID__
constexpr bool kProbesOnAuto = false;
#else
constexpr bool kProbesOnAuto = true;
#endif

std::vector<IoKind> Candidates(const OpenOptions& options) {
  if (options.io != IoKind::kAuto) return {options.io};
  std::vector<IoKind> kinds = {IoKind::kPread, IoKind::kBuffered};
  if (kProbesOnAuto && options.probe_in_child) kinds.insert(kinds.begin(), IoKind::kIoUring);
  return kinds;
}

}  // namespace

absl::StatusOr<IoKind> ParseIoKind(absl::string_view name) {
  const auto* const found = absl::c_find(kNames, name);
  if (found == std::end(kNames)) {
    return WrongUsage("io", Quoted(name), absl::StrCat("one of ", absl::StrJoin(kNames, ", ")));
  }
  return static_cast<IoKind>(found - std::begin(kNames));
}

absl::string_view IoKindName(IoKind kind) { return kNames[static_cast<int>(kind)]; }

absl::StatusOr<OpenedDevice> OpenBlockDevice(const std::shared_ptr<const RandomAccessFile>& file, const OpenOptions& options) {
  CHECK(options.depth >= 1 && options.depth <= kMostDepth) << "depth: found " << options.depth;
  std::vector<std::string> reasons;  // Why nothing better, once each.
  if (options.io == IoKind::kAuto && !options.probe_in_child) reasons.push_back("io_uring: not tried, as probe_in_child is off");
  for (const IoKind kind : Candidates(options)) {
    absl::StatusOr<OpenedDevice> opened = OpenAs(kind, file, options);
    if (opened.ok()) {
      if (!opened->reason.empty()) reasons.push_back(std::move(opened->reason));
      opened->reason = absl::StrCat(opened->device->kind(), reasons.empty() ? "" : ": ", absl::StrJoin(reasons, "; "));
      return opened;
    }
    if (!absl::IsFailedPrecondition(opened.status())) return opened.status();
    const std::string reason(opened.status().message());
    if (reasons.empty() || reasons.back() != reason) reasons.push_back(reason);
  }
  return absl::FailedPreconditionError(absl::StrCat(file->path(), ": io ", IoKindName(options.io), ": ", absl::StrJoin(reasons, "; ")));
}

}  // namespace tessera
