#include "tessera/base/same_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <memory>

#include "tessera/base/internal/followed_path.h"

namespace tessera {
namespace {

struct Place {
  std::string folder, name;
};

Place PlaceOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {path.substr(0, slash + 1), path.substr(slash + 1)};
}

bool IsSameFolder(const std::string& a, const std::string& b) {
  struct stat of_a, of_b;
  return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 && IsSameFile(of_a, of_b);
}

// By its number: the text of a link to an open file may lead elsewhere.
bool Holds(const std::string& folder, const struct stat& file) {
  const std::unique_ptr<DIR, int (*)(DIR*)> names(opendir(folder.c_str()), closedir);
  if (names == nullptr) return false;
  struct stat found;
  while (const dirent* const entry = readdir(names.get())) {
    if (fstatat(dirfd(names.get()), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) == 0 && IsSameFile(found, file)) return true;
  }
  return false;
}

bool LeadsToFileIn(const std::string& folder, const FollowedPath& end) {
  if (!end.exists) return IsSameFolder(folder, PlaceOf(end.path).folder);
  if (!S_ISREG(end.found.st_mode)) return false;
  return end.descriptor >= 0 || end.into_proc ? Holds(folder, end.found) : IsSameFolder(folder, PlaceOf(end.path).folder);
}

}  // namespace

bool IsSameFile(const std::string& a, const std::string& b) {
  const absl::StatusOr<FollowedPath> of_a = FollowPath(a), of_b = FollowPath(b);
  if (!of_a.ok() || !of_b.ok() || of_a->exists != of_b->exists) return false;
  if (of_a->exists) return S_ISREG(of_a->found.st_mode) && IsSameFile(of_a->found, of_b->found);
  const Place place_a = PlaceOf(of_a->path), place_b = PlaceOf(of_b->path);
  return place_a.name == place_b.name && IsSameFolder(place_a.folder, place_b.folder);
}

bool IsOpenAs(int descriptor, const std::string& path) {
  struct stat open_file;
  const absl::StatusOr<FollowedPath> end = FollowPath(path);
  if (!end.ok() || !end->exists || fstat(descriptor, &open_file) != 0) return false;
  return S_ISREG(open_file.st_mode) && IsSameFile(open_file, end->found);
}

bool IsOpenIn(int descriptor, const std::string& folder) {
  struct stat open_file;
  return fstat(descriptor, &open_file) == 0 && S_ISREG(open_file.st_mode) && Holds(folder, open_file);
}

bool LiesIn(const std::string& folder, const std::string& path) {
  const absl::StatusOr<FollowedPath> end = FollowPath(path);
  return end.ok() && end->exists && LeadsToFileIn(folder, *end);
}

bool LeadsInto(const std::string& folder, const std::string& path) {
  const absl::StatusOr<FollowedPath> end = FollowPath(path);
  return end.ok() && LeadsToFileIn(folder, *end);
}

}  // namespace tessera
