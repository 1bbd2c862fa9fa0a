#include "tessera/base/same_file.h"

#include <sys/stat.h>

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

bool LiesIn(const std::string& folder, const std::string& path) {
  const absl::StatusOr<FollowedPath> end = FollowPath(path);
  return end.ok() && end->exists && S_ISREG(end->found.st_mode) && IsSameFolder(folder, PlaceOf(end->path).folder);
}

bool LeadsInto(const std::string& folder, const std::string& path) {
  const absl::StatusOr<FollowedPath> end = FollowPath(path);
  return end.ok() && (!end->exists || S_ISREG(end->found.st_mode)) && IsSameFolder(folder, PlaceOf(end->path).folder);
}

}  // namespace tessera
