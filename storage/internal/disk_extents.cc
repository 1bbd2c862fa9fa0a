#include "tessera/storage/internal/disk_extents.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tessera {

int64_t CountDiskExtents(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  struct fiemap map = {};
  map.fm_length = FIEMAP_MAX_OFFSET;  // Room for no extent: extents are only counted.
  const int result = ioctl(file, FS_IOC_FIEMAP, &map);
  close(file);
  return result == 0 ? int64_t{map.fm_mapped_extents} : -1;
}

}  // namespace tessera
