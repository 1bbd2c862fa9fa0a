#include "tessera/base/internal/lock_holder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tessera/base/internal/descriptor.h"
#include "tessera/base/internal/read_to_end.h"

namespace tessera {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 20;

// Returns the contents; empty if the system does not give them.
std::string ContentsOf(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.get() < 0 ? "" : ReadToEnd(file.get(), path, /*size=*/0, kMostBytes).value_or("");
}

}  // namespace

// A line of the system's table is "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5308627 0 EOF"; one that waits has "->" behind the number.
std::optional<std::string> OtherHolderOf(int descriptor) {
  struct stat about;
  if (fstat(descriptor, &about) != 0) return std::nullopt;
  const std::string file = absl::StrFormat("%02x:%02x:%d", major(about.st_dev), minor(about.st_dev), about.st_ino);
  const std::string table = ContentsOf("/proc/locks");
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t process = 0;
    if (fields.size() < 6 || fields[1] != "FLOCK" || fields[5] != file || !absl::SimpleAtoi(fields[4], &process)) continue;
    if (process <= 0 || process == getpid()) return std::nullopt;
    const std::string command = ContentsOf(absl::StrCat("/proc/", process, "/comm"));
    const absl::string_view name = absl::StripSuffix(command, "\n");
    return name.empty() ? absl::StrCat("process ", process) : absl::StrCat("process ", process, " (", name, ")");
  }
  return std::nullopt;
}

}  // namespace tessera
