// The measurements that flash_probe.h keeps.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "tessera/base/cache_folder.h"
#include "tessera/base/file.h"
#include "tessera/base/status_macros.h"
#include "tessera/storage/flash_probe.h"
#include "tessera/storage/internal/flash_profile_file.h"

namespace tessera {
namespace {

constexpr int64_t kMostFileBytes = 1 << 16;

// The conditions under which a measurement is valid.
struct Key {
  dev_t device;
  FlashProfileFile::FileSystem file_system;  // A device's number may be given to another one, after a restart or for another disk.
  std::string kernel;
  std::string io;
  int64_t buffer_bytes;
};

absl::StatusOr<Key> KeyOf(const std::string& path, const FlashProbeOptions& options) {
  struct stat found;
  if (stat(path.c_str(), &found) != 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot examine"));
  struct statfs disk;
  if (statfs(path.c_str(), &disk) != 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot examine its file system"));
  FlashProfileFile::FileSystem file_system;
  uint64_t id = 0;
  static_assert(sizeof(disk.f_fsid) == sizeof(id));
  std::memcpy(&id, &disk.f_fsid, sizeof(id));
  file_system.set_id(id);
  file_system.set_bytes(static_cast<int64_t>(disk.f_blocks) * disk.f_frsize);
  file_system.set_kind(disk.f_type);
  utsname system;
  CHECK_EQ(uname(&system), 0);
  // Without the probe kAuto takes another device.
  const char* const unprobed = options.io == IoKind::kAuto && !options.probe_in_child ? "_unprobed" : "";
  return Key{found.st_dev, file_system, system.release, absl::StrCat(IoKindName(options.io), unprobed), options.buffer_bytes};
}

absl::StatusOr<std::string> CachePath(const Key& key) {
  ASSIGN_OR_RETURN(const std::string folder, CacheFolder());
  return absl::StrCat(folder, "/flash_", major(key.device), "_", minor(key.device), "_", key.io, ".textproto");
}

absl::Status Prefixed(absl::string_view prefix, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(prefix, status.message()));
}

bool Same(const FlashProfileFile::FileSystem& a, const FlashProfileFile::FileSystem& b) {
  return a.id() == b.id() && a.bytes() == b.bytes() && a.kind() == b.kind();
}

absl::StatusOr<FlashMeasurement> ReadCache(const std::string& path, const Key& key) {
  ASSIGN_OR_RETURN(const std::string text, ReadFileToString(path, kMostFileBytes));
  ASSIGN_OR_RETURN(const FlashProfileFile file, ParseFlashProfileFile(text, path));
  ASSIGN_OR_RETURN(FlashProfile profile, ProfileOf(file, path));
  const FlashProfileFile::Measured& measured = file.measured();
  if (measured.device() != key.device || !Same(measured.file_system(), key.file_system) || measured.kernel() != key.kernel ||
      measured.io() != key.io || measured.buffer_bytes() != key.buffer_bytes) {
    return absl::NotFoundError(absl::StrCat(path, ": was measured on another file system or kernel, or otherwise"));
  }
  const double sequential = measured.sequential_megabytes_per_second(), cpu = measured.cpu_seconds_per_gib();
  if (!(sequential > 0 && sequential < 1e6 && cpu >= 0 && cpu < 1e3)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": measured: found ", sequential, " MB/s at ", cpu,
                                                   " CPU seconds per GiB, expected what a disk can do"));
  }
  return FlashMeasurement{std::move(profile), measured.kind(), sequential * 1e6, cpu};
}

absl::Status WriteCache(const std::string& path, const Key& key, const FlashMeasurement& flash) {
  FlashProfileFile file;
  file.set_name(flash.profile.name);
  for (const FlashProfile::Speed& speed : flash.profile.speeds) {
    FlashProfileFile::Speed& added = *file.add_speed();
    added.set_block_bytes(speed.block_bytes);
    added.set_depth(speed.depth);
    added.set_megabytes_per_second(speed.bytes_per_second * 1e-6);
    added.set_source("measured");
  }
  FlashProfileFile::Measured& measured = *file.mutable_measured();
  measured.set_device(key.device);
  *measured.mutable_file_system() = key.file_system;
  measured.set_kernel(key.kernel);
  measured.set_io(key.io);
  measured.set_buffer_bytes(key.buffer_bytes);
  measured.set_kind(flash.kind);
  measured.set_sequential_megabytes_per_second(flash.sequential_bytes_per_second * 1e-6);
  measured.set_cpu_seconds_per_gib(flash.cpu_seconds_per_gib);
  std::error_code error;  // If there is no folder, writing says so.
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  return WriteFileAtomically(path, FlashProfileText(file));
}

}  // namespace

absl::StatusOr<FlashMeasurement> CachedFlash(const std::string& path, const FlashProbeOptions& options) {
  ASSIGN_OR_RETURN(const Key key, KeyOf(path, options));
  const absl::StatusOr<std::string> cache = CachePath(key);
  absl::StatusOr<FlashMeasurement> flash;
  if (!cache.ok()) {
    flash = MeasureFlash(path, options);
    if (flash.ok()) flash->cache = Prefixed("not kept: ", cache.status());
    return flash;
  }
  flash = ReadCache(*cache, key);
  if (flash.ok()) return flash;
  const absl::Status unread = absl::IsNotFound(flash.status()) ? absl::OkStatus() : Prefixed("measured again: ", flash.status());
  flash = MeasureFlash(path, options);
  RETURN_IF_ERROR(flash.status());
  flash->cache = unread;
  flash->cache.Update(Prefixed("not kept: ", WriteCache(*cache, key, *flash)));
  return flash;
}

}  // namespace tessera
