// Checks whether an open file was written to.
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

bool SameTime(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }
std::string Shown(const timespec& time) { return absl::StrCat(time.tv_sec, " s ", time.tv_nsec, " ns"); }

}  // namespace

absl::Status RandomAccessFile::CheckUnchanged() const {
  struct stat found;
  if (fstat(descriptor_, &found) != 0) return absl::ErrnoToStatus(errno, absl::StrCat(path_, ": cannot examine"));
  const auto changed = [&](absl::string_view what, const auto& expected, const auto& is) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, ": the file changed while it was read: ", what, ": found ", is, ", expected ", expected));
  };
  if (found.st_size != opened_.st_size) return changed("size", opened_.st_size, found.st_size);
  if (!SameTime(found.st_mtim, opened_.st_mtim)) return changed("time of writing", Shown(opened_.st_mtim), Shown(found.st_mtim));
  if (!SameTime(found.st_ctim, opened_.st_ctim)) may_have_changed_ = true;
  return absl::OkStatus();
}

}  // namespace tessera
